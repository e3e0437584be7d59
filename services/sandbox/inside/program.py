"""The program's side: one child of the keeper gives up its rights, and then runs what it was sent.

It answers on a descriptor of its own, each answer behind a number that nobody else knows: nothing that a program
prints looks like an answer. Standard library only.
"""

import atexit
import io
import json
import linecache
import os
import random
import resource
import struct
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NamedTuple, NoReturn

FILE = "program.py"
"""The source's name in tracebacks."""
ANSWER = struct.Struct("!16scI")
"""Before each answer: the run's number, the answer's kind, and its bytes."""
BEGUN, VALUE, RAISED, FINISHED, FAILED, REFUSED, MEMORY = b"B", b"V", b"X", b"F", b"E", b"R", b"M"
"""BEGUN: the source ran and calls start; VALUE, RAISED: of one call; the others end the run."""
_LONGEST_ERROR = 4000
_OPEN_FILES = 64


class Request(NamedTuple):
    """Request of the service."""

    limits: dict[str, Any]  # wall_s, call_s, cpu_s, space_bytes, output_bytes, file_bytes, processes
    function: str
    source: bytes
    stdin: bytes
    files: list[tuple[str, bytes]]
    calls: list[bytes]


class Answers:
    """Writes the answers of a run."""

    def __init__(self, descriptor: int, number: bytes) -> None:
        self._descriptor, self._number, self._owner = descriptor, number, os.getpid()

    def send(self, kind: bytes, text: str = "") -> None:
        """Write an answer. A process that the program forked ends here: its parent goes on."""
        if os.getpid() != self._owner:
            os._exit(0)
        body = text.encode(errors="backslashreplace")
        left = memoryview(ANSWER.pack(self._number, kind, len(body)) + body)
        while left:
            left = left[os.write(self._descriptor, left):]


def run(request: Request, answers: Answers, confine: Callable[[], None]) -> NoReturn:
    """Give up all rights, run the program, and end the process."""
    try:
        confine()
        _write(request.files)
        resource.setrlimit(resource.RLIMIT_AS, (request.limits["space_bytes"],) * 2)
        _run(request, answers)
    except MemoryError:
        answers.send(MEMORY)
    finally:
        os._exit(1)


def limit(limits: dict[str, Any], processes: int) -> None:
    """Have the kernel limit this process and those that it starts, but for its memory."""
    seconds = max(1, -int(-limits["cpu_s"] // 1))
    for name, most in ((resource.RLIMIT_CPU, seconds), (resource.RLIMIT_NOFILE, _OPEN_FILES),
                       (resource.RLIMIT_FSIZE, limits["file_bytes"]), (resource.RLIMIT_CORE, 0),
                       (resource.RLIMIT_MEMLOCK, 0), (resource.RLIMIT_NPROC, processes)):
        resource.setrlimit(name, (most, most))


def _write(files: Sequence[tuple[str, bytes]]) -> None:
    for path, content in files:
        if folder := os.path.dirname(path):
            os.makedirs(folder, exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)


def _run(request: Request, answers: Answers) -> None:
    main = ModuleType("__main__")
    sys.modules["__main__"], sys.argv = main, [FILE]
    random.seed(0)  # Python seeds it anew in each child
    try:
        text = request.source.decode()
        linecache.cache[FILE] = (len(text), None, text.splitlines(keepends=True), FILE)
        code = compile(text, FILE, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, OverflowError) as error:
        return answers.send(REFUSED, f"the source does not compile: {_short(error)}")
    if request.function:
        return _call_all(code, main, request, answers)
    return _run_script(code, main, answers)


def _run_script(code: Any, main: ModuleType, answers: Answers) -> None:
    try:
        exec(code, main.__dict__)
        exit_code = 0
    except SystemExit as end:
        exit_code = _exit_code(end)
    except MemoryError:
        raise
    except BaseException as error:  # the program's own, whatever it is
        text = _short(error)
        print(text, file=sys.stderr)
        _flush()
        return answers.send(FAILED, text)
    for thread in threading.enumerate():
        if not thread.daemon and thread is not threading.current_thread():
            thread.join()
    atexit._run_exitfuncs()
    _flush()
    answers.send(FINISHED, str(exit_code))
    os._exit(exit_code)


def _call_all(code: Any, main: ModuleType, request: Request, answers: Answers) -> None:
    main.__name__ = FILE.removesuffix(".py")  # a guarded script part of a source with a function does not run
    try:
        exec(code, main.__dict__)
    except MemoryError:
        raise
    except BaseException as error:
        return answers.send(FAILED, _short(error))
    function = main.__dict__.get(request.function)
    if not callable(function):
        return answers.send(REFUSED, f"the source has no function {request.function!r}")
    answers.send(BEGUN)
    for call in request.calls:
        answers.send(*_called(function, json.loads(call)))
    _flush()
    answers.send(FINISHED, "0")
    os._exit(0)


def _called(function: Callable[..., Any], arguments: list[Any]) -> tuple[bytes, str]:
    try:
        value = function(*arguments)
    except MemoryError:
        raise
    except BaseException as error:
        return RAISED, _short(error)
    try:
        return VALUE, json.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        return RAISED, f"it returned {type(value).__name__}, expected a JSON value: {_short(error)}"


def _short(error: BaseException) -> str:
    """Return the program's part of a traceback, or what could be found of it."""
    try:
        inner = error.__traceback__
        while inner is not None and inner.tb_frame.f_code.co_filename != FILE:
            inner = inner.tb_next
        return "".join(traceback.format_exception(type(error), error, inner)).strip()[-_LONGEST_ERROR:]
    except BaseException:  # a program's error may have methods of its own
        return type(error).__name__


def _exit_code(end: SystemExit) -> int:
    if end.code is None or isinstance(end.code, int):
        return int(end.code or 0) & 0xFF
    print(end.code, file=sys.stderr)
    return 1


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):  # the program closed or replaced it
            continue


def take_streams(descriptors: Sequence[int], answers: int) -> int:
    """Make descriptors standard input, output and error; keep `answers` as well, and close all others.

    Return the descriptor that `answers` has from now on.
    """
    place = os.dup2(answers, os.dup(answers) + 16, inheritable=False)
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
    kept = os.dup2(place, 3, inheritable=False)
    os.closerange(4, 65536)
    sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False), encoding="utf-8", errors="surrogateescape")
    return kept
