"""Requests of a call, checked at the border, and the answers to them."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hone.api import sandbox_pb2
from hone.rpc.errors import InvalidField
from hone.sandbox.program import MEBI, MOST_SOURCE_BYTES, Ended, Limits

MOST = Limits(wall_s=600.0, call_s=600.0, cpu_s=600.0, memory_bytes=4096 * MEBI, output_bytes=16 * MEBI,
              file_bytes=1024 * MEBI, processes=64)
"""The largest limits that may be asked for; the service's settings may allow less memory."""
INPUT_BYTES = 64 * MEBI
"""Most bytes of stdin, files and arguments together."""
FILES, CALLS = 256, 10_000
_PATH_BYTES = 200
_LEAST = {"memory_bytes": 16 * MEBI, "file_bytes": 4096, "output_bytes": 1024}


@dataclass(frozen=True)
class Asked:
    """A program that was checked."""

    function: str
    files: Mapping[str, bytes]
    source: bytes
    stdin: bytes
    calls: list[bytes]
    chosen: Limits

    @property
    def parts(self) -> list[bytes]:
        """The parts of the message to a keeper."""
        return [self.source, self.stdin, *self.files.values(), *self.calls]

    def limits(self, base_bytes: int) -> dict[str, Any]:
        """Return the limits for a keeper with an address space of `base_bytes`."""
        return {"wall_s": self.chosen.wall_s, "call_s": self.chosen.call_s or 0.0, "cpu_s": self.chosen.cpu_s,
                "space_bytes": base_bytes + self.chosen.memory_bytes, "output_bytes": self.chosen.output_bytes,
                "file_bytes": self.chosen.file_bytes, "processes": self.chosen.processes, "others": 4096}


@dataclass(frozen=True)
class Done:
    """A keeper's answer: its header, and stdout, stderr and the text of each call."""

    header: Mapping[str, Any]
    parts: list[bytes]

    @property
    def status(self) -> Ended:
        return Ended(self.header["status"])


def failed(why: str) -> Done:
    """Return the answer for a sandbox that failed."""
    return Done({"status": Ended.INFRA_ERROR, "detail": why}, [])


def read(request: sandbox_pb2.RunRequest, memory_bytes: int) -> Asked:
    """Return the program of a request; a program may have `memory_bytes` at most. Raises InvalidField."""
    _expect_few("source", len(request.source.encode()), MOST_SOURCE_BYTES, "bytes")
    _expect_few("files", len(request.files), FILES, "files")
    _expect_few("calls_json", len(request.calls_json), CALLS, "calls")
    if request.function and not request.function.isidentifier():
        raise InvalidField("function", request.function[:200], "the name of a function")
    if request.calls_json and not request.function:
        raise InvalidField("function", "nothing", "the function that is called")
    for path in request.files:
        _expect_below(path)
    calls = [_call(place, text) for place, text in enumerate(request.calls_json)]
    if not 0 <= request.wait_s <= MOST.wall_s:
        raise InvalidField("wait_s", request.wait_s, f"seconds, at most {MOST.wall_s:g}")
    size = len(request.stdin) + sum(map(len, request.files.values())) + sum(map(len, calls))
    _expect_few("stdin, files and calls_json", size, INPUT_BYTES, "bytes")
    return Asked(request.function, dict(request.files), request.source.encode(), request.stdin, calls,
                 _limits(request.limits, memory_bytes))


def answer(done: Done) -> sandbox_pb2.RunResponse:
    """Return the answer to a request."""
    header, (stdout, stderr, *texts) = done.header, done.parts or [b"", b""]
    return sandbox_pb2.RunResponse(
        status=f"RUN_STATUS_{done.status.name}", detail=header.get("detail") or "", stdout=stdout, stderr=stderr,
        outcomes=[_outcome(kind, text) for kind, text in zip(header.get("kinds", ""), texts, strict=True)],
        wall_ms=header.get("wall_ms", 0.0), cpu_ms=header.get("cpu_ms", 0.0), exit_code=header.get("exit_code"))


def _outcome(kind: str, text: bytes) -> sandbox_pb2.CallOutcome:
    """Return the outcome of a call. A program can write any text: what is no JSON is an error of its own."""
    said = text.decode(errors="replace")
    if kind != "V":
        return sandbox_pb2.CallOutcome(error=said)
    try:
        json.loads(said)
    except (ValueError, RecursionError) as error:
        return sandbox_pb2.CallOutcome(error=f"it returned what is no JSON: {error}")
    return sandbox_pb2.CallOutcome(value_json=said)


def _call(place: int, text: str) -> bytes:
    field = f"calls_json[{place}]"
    try:
        arguments = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidField(field, text[:200], f"a JSON array ({error})") from error
    if not isinstance(arguments, list):
        raise InvalidField(field, text[:200], "a JSON array of arguments")
    return text.encode()


def _expect_below(path: str) -> None:
    """Raise InvalidField unless a path is one below the program's directory."""
    usual = path and "\0" not in path and path == os.path.normpath(path) and not path.startswith(("/", ".."))
    if not usual or path == "." or len(path.encode()) > _PATH_BYTES:
        raise InvalidField("files", path[:_PATH_BYTES], "a path below the program's directory, such as data/rows.csv, "
                           f"of {_PATH_BYTES} bytes at most")


def _expect_few(field: str, found: int, most: int, unit: str) -> None:
    if found > most:
        raise InvalidField(field, f"{found} {unit}", f"at most {most}")


def _limits(asked: sandbox_pb2.RunLimits, memory_bytes: int) -> Limits:
    usual = Limits()
    chosen: dict[str, Any] = {}
    for descriptor in asked.DESCRIPTOR.fields:
        name, found = descriptor.name, getattr(asked, descriptor.name)
        most = memory_bytes if name == "memory_bytes" else getattr(MOST, name)
        least = _LEAST.get(name, 0)
        if found and not least <= found <= most:
            raise InvalidField(f"limits.{name}", found, f"a number from {least} to {most}")
        default = getattr(usual, name)
        chosen[name] = found or (default if default is None else min(default, most))
    return Limits(**chosen)
