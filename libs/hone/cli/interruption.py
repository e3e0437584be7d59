"""Being asked to stop: by Ctrl-C, by a supervisor, or because the terminal went away."""

import signal
import threading


def stop_once() -> None:
    """Raise KeyboardInterrupt at the first signal that asks to stop; later ones do not interrupt the stopping.

    A signal that whoever started this process chose to ignore, as nohup does, stays ignored.
    """
    asked = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda *_: _interrupt(asked))


def _interrupt(asked: threading.Event) -> None:
    if not asked.is_set():
        asked.set()
        raise KeyboardInterrupt
