"""Uploaded files on their way to the object store: streamed into a directory that is gone afterwards."""

import tempfile
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path, PurePosixPath

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile

from hone.spec.problems import Invalid, Problem, found

_CHUNK_BYTES = 2**20
_LONGEST_NAME = 255  # bytes, of Linux's file systems


@asynccontextmanager
async def received(files: Iterable[UploadFile]) -> AsyncIterator[Path]:
    """Write each file under its own last name into a fresh directory. Raises Invalid when two share one."""
    with tempfile.TemporaryDirectory(prefix="hone-upload-") as name:
        directory = Path(name)
        for file in files:
            target = directory / _name(file)
            if target.exists():
                raise Invalid([Problem("files", f"two files called {target.name}", "different names")])
            await run_in_threadpool(_copy, file, target)
        yield directory


def _name(file: UploadFile) -> str:
    name = PurePosixPath((file.filename or "").replace("\\", "/")).name
    if not name or name in {".", ".."} or "\0" in name or len(name.encode(errors="replace")) > _LONGEST_NAME:
        raise Invalid([Problem("files", f"a file called {found(file.filename)}", "a file name")])
    return name


def _copy(file: UploadFile, target: Path) -> None:
    with target.open("wb") as sink:
        while chunk := file.file.read(_CHUNK_BYTES):
            sink.write(chunk)
