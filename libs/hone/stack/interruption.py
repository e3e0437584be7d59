"""Being asked to stop: by Ctrl-C, by a supervisor, or because the terminal went away."""

import signal
import threading
import time

_asked = threading.Event()


def stop_once() -> None:
    """Raise KeyboardInterrupt at the first signal that asks to stop; later ones do not interrupt the stopping.

    A signal that whoever started this process chose to ignore, as nohup does, stays ignored.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda *_: _interrupt())


def rest(seconds: float) -> None:
    """Sleep; raise KeyboardInterrupt if this process was asked to stop and still came here.

    Python drops an exception that is raised while an object is finalized, and signals come there as anywhere.
    """
    if not _asked.is_set():
        time.sleep(seconds)
    if _asked.is_set():
        raise KeyboardInterrupt


def _interrupt() -> None:
    if not _asked.is_set():
        _asked.set()
        raise KeyboardInterrupt
