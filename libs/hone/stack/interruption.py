"""The interruption of a command: by Ctrl-C, by a supervisor, or because the terminal is gone."""

import signal
import threading
import time

_asked = threading.Event()


def stop_once() -> None:
    """Raise KeyboardInterrupt at the first stop signal. Later signals do not interrupt the stopping.

    A signal that this process was started to ignore, as by nohup, stays ignored.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda *_: _interrupt())


def rest(seconds: float) -> None:
    """Sleep. Raise KeyboardInterrupt if a stop signal has come.

    The signal has raised it already, but Python drops an exception that is raised while an object is finalized.
    """
    if not _asked.is_set():
        time.sleep(seconds)
    if _asked.is_set():
        raise KeyboardInterrupt


def _interrupt() -> None:
    if not _asked.is_set():
        _asked.set()
        raise KeyboardInterrupt
