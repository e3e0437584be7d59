"""Files in the object store, read like those of a local directory: only the bytes that are asked for are fetched."""

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any, Literal

from hone.store.objects import PIECE_BYTES, Objects


@dataclass(frozen=True)
class FileStat:
    """The length of a file, in bytes."""

    st_size: int


class StoredFolder:
    """The files of an upload, with the part of pathlib.Path's interface that the checks of a model use."""

    def __init__(self, objects: Objects, files: Mapping[str, tuple[str, int]]) -> None:
        """`files` maps names to object keys and lengths in bytes."""
        self._objects, self._files = objects, files

    def iterdir(self) -> Iterator["StoredFile"]:
        return (self / name for name in self._files)

    def __truediv__(self, name: str) -> "StoredFile":
        key, size = self._files.get(name, ("", -1))
        return StoredFile(self._objects, name, key, size)


class StoredFile:
    """One file of the folder, present or not."""

    def __init__(self, objects: Objects, name: str, key: str, size: int) -> None:
        self._objects, self.name, self._key, self._size = objects, name, key, size

    def is_file(self) -> bool:
        return self._size >= 0

    exists = is_file

    def stat(self) -> FileStat:
        """Return the file's length. Raises FileNotFoundError."""
        self._expect()
        return FileStat(self._size)

    def open(self, mode: Literal["rb"] = "rb") -> IO[bytes]:  # noqa: ARG002 - as of Path
        """Open the file for reading and seeking. Raises FileNotFoundError."""
        self._expect()
        return io.BufferedReader(_Ranges(self._objects, self._key, self._size), PIECE_BYTES)

    def read_bytes(self) -> bytes:
        with self.open() as file:
            return file.read()

    def read_text(self, encoding: str = "utf-8") -> str:
        return self.read_bytes().decode(encoding)

    def _expect(self) -> None:
        if self._size < 0:
            raise FileNotFoundError(2, "No such file", self.name)


class _Ranges(io.RawIOBase):
    """A stored object as a file that is read in ranges."""

    def __init__(self, objects: Objects, key: str, size: int) -> None:
        self._objects, self._key, self._size, self._at = objects, key, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        wanted = max(0, min(len(buffer), self._size - self._at))
        data = self._objects.read_range(self._key, self._at, wanted) if wanted else b""
        buffer[:len(data)] = data
        self._at += len(data)
        return len(data)
