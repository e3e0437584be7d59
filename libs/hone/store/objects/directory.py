"""Objects as files of a directory."""

import math
import os
import shutil
import tempfile
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hone.store.objects.contract import (
    Content,
    ObjectMissing,
    StoreAway,
    StoreFull,
    Unfinished,
    no_space,
    pieces,
    room_in,
)

_UNFINISHED = ".unfinished/"
RESERVE_BYTES = 64 * 2**20
"""What is left on the disk when no more objects are stored: the database beside them needs room to say so."""


class Directory:
    """Objects as files below `root`; a slash in a key is a folder. A rename makes an object visible as a whole.

    An object is on the disk before it is visible: a row that names it survives a power cut, so the object has to.
    """

    def __init__(self, root: str | Path) -> None:
        self._root = Path(root).resolve()
        self._unfinished = self._root / _UNFINISHED
        self._unfinished.mkdir(parents=True, exist_ok=True)

    def put(self, key: str, content: Content) -> None:
        path = self._path(key)
        if isinstance(content, Path):
            content.stat()  # if it cannot be read, the error is the caller's and not StoreAway
        with self._writing(key):
            path.parent.mkdir(parents=True, exist_ok=True)
            written = self._write(content)
            os.replace(written, path)
            _sync_folder(path.parent)

    def get(self, key: str) -> bytes:
        path = self._path(key)
        with _translated(key):
            try:
                return path.read_bytes()
            except (FileNotFoundError, IsADirectoryError):
                raise ObjectMissing(key) from None

    def read(self, key: str) -> Iterator[bytes]:
        path = self._path(key)
        if not path.is_file():
            raise ObjectMissing(key)
        return pieces(path)

    def list(self, prefix: str, after: str = "") -> Iterator[str]:
        with _translated(prefix):
            yield from _keys(self._root, "", prefix, after)

    def list_sizes(self, prefix: str, after: str = "") -> Iterator[tuple[str, int]]:
        for key in self.list(prefix, after):
            with _translated(key):
                yield key, _size(self._path(key))

    def delete(self, keys: Iterable[str]) -> None:
        for key in keys:
            with _translated(key):
                self._path(key).unlink(missing_ok=True)

    def read_range(self, key: str, begin: int, length: int) -> bytes:
        path = self._path(key)
        if not path.is_file():
            raise ObjectMissing(key)
        with _translated(key), path.open("rb") as file:
            file.seek(begin)
            return file.read(length)

    def begin(self, key: str, part_bytes: int, sha256: str) -> Unfinished:  # noqa: ARG002 - S3 keeps it beside the object
        self._path(key)
        with self._writing(key):
            handle, name = tempfile.mkstemp(dir=self._unfinished)
            os.close(handle)
        return Unfinished(key, Path(name).name, part_bytes)

    def put_part(self, unfinished: Unfinished, number: int, content: bytes) -> str:
        """Write the part at its place in the file, so that finishing copies nothing."""
        with self._writing(unfinished.key):
            try:
                handle = os.open(self._begun(unfinished), os.O_WRONLY)
            except FileNotFoundError:
                raise ObjectMissing(unfinished.key) from None
            with os.fdopen(handle, "wb") as file:
                file.seek((number - 1) * unfinished.part_bytes)
                file.write(content)
                file.flush()
                os.fsync(handle)
        return str(number)

    def finish(self, unfinished: Unfinished, tags: Sequence[str]) -> None:  # noqa: ARG002 - S3 asks for them
        path = self._path(unfinished.key)
        with _translated(unfinished.key):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.replace(self._begun(unfinished), path)
            except FileNotFoundError:
                if not path.is_file():
                    raise ObjectMissing(unfinished.key) from None
            _sync_folder(path.parent)

    def abandon(self, unfinished: Unfinished) -> None:
        with _translated(unfinished.key):
            self._begun(unfinished).unlink(missing_ok=True)

    def free_bytes(self) -> int | None:
        with _translated(str(self._root)):
            return max(0, shutil.disk_usage(self._root).free - RESERVE_BYTES)

    def discard_unfinished(self, age_s: float, spared: Collection[str] = ()) -> int:
        begun = time.time() - age_s
        with _translated(_UNFINISHED):
            old = [path for path in self._unfinished.iterdir() if path.name not in spared and _modified(path) < begun]
            for path in old:
                path.unlink(missing_ok=True)
        return len(old)

    @contextmanager
    def _writing(self, key: str) -> Iterator[None]:
        """Raise StoreFull if the disk has no room, before or during the write; StoreAway if it is gone or broken."""
        with _translated(key):
            if shutil.disk_usage(self._root).free < RESERVE_BYTES:
                raise StoreFull(no_space(self._root))
            with room_in(self._root):
                yield

    def _write(self, content: Content) -> str:
        """Write the content to a file that is no object yet, and return the file's name."""
        handle, name = tempfile.mkstemp(dir=self._unfinished)
        try:
            with os.fdopen(handle, "wb") as file:
                file.writelines([content] if isinstance(content, bytes) else pieces(content))
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            os.unlink(name)
            raise
        return name

    def _begun(self, unfinished: Unfinished) -> Path:
        return self._unfinished / Path(unfinished.id).name

    def _path(self, key: str) -> Path:
        path = (self._root / key).resolve()
        if not path.is_relative_to(self._root) or path == self._root:
            raise ValueError(f"object key {key!r} leaves the store")
        return path


def _keys(folder: Path, above: str, prefix: str, after: str) -> Iterator[str]:
    """Yield keys in the order of their text. Folders that cannot have such a key are not opened."""
    for name in sorted(f"{entry.name}/" if entry.is_dir() else entry.name for entry in os.scandir(folder)):
        key = above + name
        if key == _UNFINISHED:
            continue
        if name.endswith("/"):
            if _may_hold(key, prefix, after):
                yield from _keys(folder / name, key, prefix, after)
        elif key.startswith(prefix) and key > after:
            yield key


def _may_hold(folder: str, prefix: str, after: str) -> bool:
    return (folder.startswith(prefix) or prefix.startswith(folder)) and (folder > after or after.startswith(folder))


@contextmanager
def _translated(key: str) -> Iterator[None]:
    """Raise StoreAway for a disk that is gone or broken, since it may be back later."""
    try:
        yield
    except (ObjectMissing, StoreAway):
        raise
    except OSError as error:
        raise StoreAway(f"{key}: {error}") from error


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return math.inf  # it has become an object


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
