"""A keeper: a warm interpreter behind walls. It forks a child for each program, and ends all that this one started.

The service starts it with one argument, a JSON object {level, control, binds, links, path, preload}, with {bubblewrap,
command} for that level, and sends it programs over the socket `control`.

Standard library only: what it loads is in the memory of each program.
"""

import fcntl
import gc
import importlib
import json
import os
import selectors
import socket
import sys
import time
from typing import Any, NoReturn

from services.sandbox.inside import frames, program, system
from services.sandbox.inside.collecting import Collected, Collector
from services.sandbox.inside.program import Answers, Request
from services.sandbox.inside.walls import Bare, Parted, Walls, become_root_of_own_users, part

NAMES = ("json", "math", "re", "random", "itertools", "functools", "collections", "heapq", "bisect", "string", "typing",
         "datetime", "decimal", "fractions", "statistics", "copy", "dataclasses", "traceback", "linecache", "ast")
"""Modules that most programs use, loaded before the first one."""


def main(text: str) -> None:
    """Get behind walls, say so, and run programs until the service closes the socket."""
    given = json.loads(text)
    control = socket.socket(fileno=given["control"])
    system.die_with_parent()
    try:
        walls = _walls(given)
    except OSError as error:
        sys.exit(str(error))
    sys.path[:] = given["path"]
    for name in (*NAMES, *given["preload"]):
        importlib.import_module(name)
    _start_equal()
    control.sendall(frames.pack({"ready": True}))
    while (message := frames.receive(control)) is not None:
        control.sendall(_answer(_run(_request(*message), walls, control)))


def _walls(given: dict[str, Any]) -> Walls:
    if given["level"] == "namespaces":
        return Parted(part(given["binds"], given["links"]))
    if given["level"] == "bubblewrap":
        if "separate" not in given:
            _enter_bubblewrap(given)
        return Parted(given["separate"])
    return Bare(limited=given["level"] == "limits")


def _enter_bubblewrap(given: dict[str, Any]) -> NoReturn:
    """Become root of users of our own, and start again within bubblewrap's walls. Raises OSError."""
    separate = become_root_of_own_users()
    again = json.dumps({**given, "separate": separate})
    os.set_inheritable(given["control"], True)
    os.execv(given["bubblewrap"][0], [*given["bubblewrap"], *given["command"], again])


def _start_equal() -> None:
    """Give each program the same random numbers of numpy, if it is there, and share the memory of what is loaded."""
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(0)
    gc.collect()
    gc.freeze()


def _request(header: dict[str, Any], parts: list[bytes]) -> Request:
    source, stdin, *others = parts
    paths = header["files"]
    return Request(header["limits"], header["function"], source, stdin,
                   list(zip(paths, others[:len(paths)], strict=True)), others[len(paths):])


def _run(request: Request, walls: Walls, control: socket.socket) -> Collected:
    number = os.urandom(16)
    walls.open(request.limits)
    stdin = _sealed(request.stdin)
    pipes = [os.pipe() for _ in range(3)]
    began = time.monotonic()
    pid = walls.fork()
    if not pid:
        descriptor = program.take_streams([stdin, pipes[0][1], pipes[1][1]], pipes[2][1])
        program.run(request, Answers(descriptor, number), lambda: walls.enter(request.limits))
    for descriptor in (stdin, *(end for _, end in pipes)):
        os.close(descriptor)
    with selectors.DefaultSelector() as selector:
        collector = Collector(request, number, began, selector)
        found = collector.collect(pid, [end for end, _ in pipes], control)
    walls.close(pid)
    return found


def _sealed(content: bytes) -> int:
    """Return a file in memory that nobody can change."""
    descriptor = os.memfd_create("stdin", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK)
    return descriptor


def _answer(found: Collected) -> bytes:
    header = {"status": found.status, "detail": found.detail, "exit_code": found.exit_code, "wall_ms": found.wall_ms,
              "cpu_ms": found.cpu_ms, "kinds": "".join(kind.decode() for kind, _ in found.calls)}
    return frames.pack(header, [found.stdout, found.stderr, *(body for _, body in found.calls)])


if __name__ == "__main__":
    main(sys.argv[1])
