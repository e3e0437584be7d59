"""Objects as files of a directory."""

import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from hone.store.objects import ObjectMissing


class Directory:
    """Objects below `root`; a key's slashes are folders. Writing renames, so that readers see whole objects only."""

    def __init__(self, root: str | Path) -> None:
        self._root = Path(root).resolve()
        self._root.mkdir(parents=True, exist_ok=True)

    def put(self, key: str, data: bytes) -> None:
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".tmp-", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(name, path)

    def get(self, key: str) -> bytes:
        try:
            return self._path(key).read_bytes()
        except (FileNotFoundError, IsADirectoryError):
            raise ObjectMissing(key) from None

    def list(self, prefix: str) -> Iterator[str]:
        below = self._root / prefix.rpartition("/")[0]
        names = (path.relative_to(self._root).as_posix() for path in below.rglob("*") if path.is_file())
        return iter(sorted(name for name in names if name.startswith(prefix) and "/.tmp-" not in f"/{name}"))

    def delete(self, keys: Iterable[str]) -> None:
        for key in keys:
            self._path(key).unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        path = (self._root / key).resolve()
        if not path.is_relative_to(self._root) or path == self._root:
            raise ValueError(f"object key {key!r} leaves the store")
        return path
