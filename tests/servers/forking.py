"""Services of tests as forks of a process that has loaded their modules, as the supervisor of a stack starts them.

Loading its modules costs a service one or two seconds of a processor, and tests start a hundred. `start` takes what
subprocess.Popen takes. It forks what a supervisor would fork (hone.stack.processes.forked), with hone.stack.forks, and
executes anything else. Engines and ranks of a trainer are forked too, of a process of their own, since the others are
to load no torch: what their libraries read as they start is the same in all tests.

The forking process is `python -m tests.servers.forking SOCKET`. Each message names a module, its variables and its
folder; with it come the files that are to be the child's output and errors, and a pipe. The answer is the child's pid.
When the child ends, its status is written into the pipe. The process ends with the one that started it, and so do its
children.
"""

import atexit
import io
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import IO, Any

from hone import crashpoints
from hone.stack import processes
from hone.stack.forks import Modules

_LONGEST = 2**20
_KNOWN = {"env", "stdout", "stderr", "start_new_session"}
_EARLY = ("PYTHON", "LD_", "OMP_", "MKL_", "GRPC_")
_OF_TORCH = {"services.inference", "tests.integration.learner.ranked"}
_TORCH = {"OMP_NUM_THREADS": "1", "MKL_CBWR": "AUTO,STRICT"}
_lock = threading.Lock()


class Fork(subprocess.Popen[bytes]):
    """A child of the forking process. What one does with a child of one's own works here too, except to write to it."""

    _child_created = False  # nothing is left to be reaped when this is collected

    def __init__(self, command: Sequence[str], pid: int, status: int) -> None:
        self.args, self.pid, self.returncode = list(command), pid, None  # type: ignore[assignment]
        self.stdin = self.stdout = self.stderr = None
        self._status = io.FileIO(status)
        self._waits = threading.Lock()

    def poll(self) -> int | None:
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        found = self._ended(timeout)
        if found is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return found

    def _ended(self, timeout: float | None) -> int | None:
        """Return the exit status, None if there is none after so many seconds."""
        with self._waits:
            if self.returncode is None and _readable(self._status, timeout):
                self.returncode = int(self._status.read(16) or -signal.SIGKILL)
                self._status.close()
            return self.returncode


def _readable(file: IO[bytes], timeout: float | None) -> bool:
    with selectors.PollSelector() as selector:
        selector.register(file, selectors.EVENT_READ)
        return bool(selector.select(timeout))


class _Forking:
    """A forking process, which is started when the first of its services is."""

    def __init__(self, early: Mapping[str, str]) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen([sys.executable, "-m", __name__, str(theirs.fileno())],
                                             pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
                                             env={**os.environ, **early})
        atexit.register(self._end)

    def fork(self, message: Mapping[str, Any], files: Sequence[int]) -> int:
        socket.send_fds(self._control, [json.dumps(message).encode()], files)
        answer = self._control.recv(64)
        if not answer:
            raise RuntimeError(f"the forking process ended with {self._process.wait()}")
        return int(answer)

    def _end(self) -> None:
        self._control.close()
        self._process.wait(60)


def start(command: Sequence[str], **options: Any) -> "subprocess.Popen[bytes]":
    """Start a program with nothing to read and these options of subprocess.Popen: in a fork if a supervisor would."""
    module, environment = _forked(command), dict(options.get("env") or os.environ)
    early = _TORCH if module in _OF_TORCH else {}
    if (module is None or not options.keys() <= _KNOWN or environment.get("HONE_ENGINE") == "vllm"
            or _early({**early, **environment}) != _early({**os.environ, **early})):
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, **options)
    environment = {**early, **environment}
    message = {"module": module, "environment": environment, "folder": os.getcwd(),
               "session": options.get("start_new_session", False)}
    status, theirs = os.pipe()
    with open(os.devnull, "ab") as nothing, open(theirs, "wb"):
        output = _number(options.get("stdout"), 1, nothing)
        errors = options.get("stderr")
        files = [output, output if errors == subprocess.STDOUT else _number(errors, 2, nothing), theirs]
        with _lock:
            pid = _forking(*early.items()).fork(message, files)
    return Fork(command, pid, status)


def _early(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that Python and libraries read as they are loaded."""
    return {name: value for name, value in environment.items() if name.startswith(_EARLY)}


def _number(file: int | IO[bytes] | None, usual: int, nothing: IO[bytes]) -> int:
    if file is None:
        return usual
    if isinstance(file, int):
        return nothing.fileno() if file == subprocess.DEVNULL else file
    return file.fileno()


@cache
def _forking(*early: tuple[str, str]) -> _Forking:
    return _Forking(dict(early))


def _forked(command: Sequence[str]) -> str | None:
    """Return the module of a command that may run in a fork."""
    python, option, module = command if len(command) == 3 else ("", "", "")
    of_torch = (python, option) == (sys.executable, "-m") and module in _OF_TORCH
    return module if of_torch else processes.forked(command)


class _Children:
    """What the forking process does: it forks on demand, and reports who ended."""

    def __init__(self, control: socket.socket) -> None:
        self._control, self._selector = control, selectors.DefaultSelector()
        self._modules: dict[str, Modules] = {}
        self._running: dict[int, int] = {}  # the pipe of each child, by its pid
        self._selector.register(control, selectors.EVENT_READ, self._asked)
        self.open = True

    def serve(self) -> None:
        """Work until the process that started this one is gone."""
        while self.open:
            for key, _ in self._selector.select():
                work: Callable[[], None] = key.data
                work()
        for pid in self._running:
            os.kill(pid, signal.SIGKILL)

    def _asked(self) -> None:
        data, files, _, _ = socket.recv_fds(self._control, _LONGEST, 3)
        if not data:
            self.open = False
            return
        message = json.loads(data)
        modules = self._loaded(message["module"])
        pid = os.fork()
        if pid == 0:
            _become(modules, message, files)
        os.close(files[0])
        os.close(files[1])
        self._running[pid], watched = files[2], os.pidfd_open(pid)
        self._selector.register(watched, selectors.EVENT_READ, lambda: self._ended(pid, watched))
        self._control.send(str(pid).encode())

    def _loaded(self, module: str) -> Modules:
        if module not in self._modules:
            self._modules[module] = Modules([module])
        while not self._modules[module].loaded():
            time.sleep(0.01)
        return self._modules[module]

    def _ended(self, pid: int, watched: int) -> None:
        self._selector.unregister(watched)
        os.close(watched)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        with suppress(BrokenPipeError), io.FileIO(self._running.pop(pid), "w") as pipe:  # nobody may wait for it
            pipe.write(str(status).encode())


def _become(modules: Modules, message: Mapping[str, Any], files: Sequence[int]) -> None:
    os.dup2(files[0], 1)
    os.dup2(files[1], 2)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    if message["session"]:
        os.setsid()
    os.chdir(message["folder"])
    crashpoints._DIRECTORY = message["environment"].get("HONE_CRASH_DIR")  # read when the module was loaded
    if not modules.has(message["module"]):  # its own log says what is wrong
        os.execve(sys.executable, [sys.executable, "-m", message["module"]], message["environment"])
    modules.become(message["module"], message["environment"])


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever pressed Ctrl-C has the tests end, and this process with them
    _Children(socket.socket(fileno=int(sys.argv[1]))).serve()
