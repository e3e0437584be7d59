"""Services as forks of a process that has loaded their modules.

A service spends about a second of a processor on loading its modules, and six kinds of services load much the same.
`Modules` loads them once, in a thread, while PostgreSQL starts. A service is there at once then, also when it is
started again after its end, and services share the memory of what they loaded.

Others are executed as programs of their own: trainers, engines and simulation, because Python or their libraries read
variables as they start; the sandbox, because it must not have the memory of a process with secrets; and the small ones.
hone.stack.processes says which.
"""

import atexit
import gc
import importlib
import logging
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import NoReturn

import setproctitle

from hone import garbage

_log = logging.getLogger(__name__)
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGCHLD, signal.SIGUSR2)


class Modules:
    """The modules of services, loaded in a thread from the moment at which this is made."""

    def __init__(self, names: Iterable[str]) -> None:
        """`names` are those of packages with a `__main__`, such as services.reward."""
        self._names, self._loaded = list(names), dict[str, ModuleType]()
        self._thread = threading.Thread(target=self._load, name="modules", daemon=True)
        self._thread.start()

    def loaded(self) -> bool:
        """Return whether all modules are loaded that can be."""
        return not self._thread.is_alive()

    def has(self, name: str) -> bool:
        """Return whether the module of a service is loaded."""
        return name in self._loaded

    def become(self, name: str, environment: Mapping[str, str]) -> NoReturn:
        """Make this process, a new fork, the service: run its main() with these variables, and end.

        What the parent had stays where it is: its objects hold numbers of closed files, which are the service's now.
        """
        gc.freeze()
        for number in _SIGNALS:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        os.environ["SPT_NOENV"] = "1"  # the system still shows the parent's variables, by which leftovers are found
        setproctitle.setproctitle(f"{sys.executable} -m {name}")
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = [name]
        sys.modules["__main__"] = self._loaded[name]  # what multiprocessing loads in processes that it spawns
        os._exit(_run(self._loaded[name]))

    def _load(self) -> None:
        garbage.look_rarely()
        for name in self._names:
            try:
                self._loaded[name] = importlib.import_module(f"{name}.__main__")
            except Exception:  # it is executed instead, and says in its own log what is wrong
                _log.exception("%s is not loaded in advance", name)
        garbage.spare()


def _run(module: ModuleType) -> int:
    """Run a service's main(), end as Python ends, and return the status."""
    status = 0
    try:
        module.main()
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            print(end.code, file=sys.stderr)
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        status = 1
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads that are not daemons, as at a usual end
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return status
