"""Tools over files: texts by their path. A directory is there while a file is below it."""

import posixpath
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, Field

from hone.environments.desk.store import DeskStore
from hone.environments.hashing import canonical
from hone.environments.tools import ToolError

LONGEST_PATH = 300
Path = Annotated[str, Field(min_length=1, max_length=LONGEST_PATH)]
LONGEST_TEXT = 20_000
"""Characters of a text that a tool takes."""
_MOST_FOUND = 50


class ListFiles(BaseModel):
    """List the paths of all files below a directory."""

    directory: Path = Field("/", description="The directory, such as /inbox.")


class ReadFile(BaseModel):
    """Read a file's text."""

    path: Path = Field(description="Path of the file.")


class SearchFiles(BaseModel):
    """List files whose path or text contains some words, whatever their case."""

    words: str = Field(min_length=1, max_length=300, description="The words, found one after the other as they stand.")


class WriteFile(BaseModel):
    """Write a text into a file, in place of what it held."""

    path: Path = Field(description="Path of the file.")
    text: str = Field(max_length=LONGEST_TEXT, description="The whole text.")


class MoveFile(BaseModel):
    """Move or rename a file. Nothing may be at the new path."""

    path: Path = Field(description="Path of the file.")
    to: Path = Field(description="Its new path.")


class DeleteFile(BaseModel):
    """Delete a file."""

    path: Path = Field(description="Path of the file.")


def _list(store: DeskStore, given: ListFiles) -> str:
    inside = absolute(given.directory).rstrip("/") + "/"
    found = sorted(path for path in store.objects("files") if path.startswith(inside))
    if not found:
        raise ToolError(f"there is no directory {given.directory}")
    return canonical(found)


def read(store: DeskStore, given: ReadFile) -> str:
    """Return a file's text. Raises ToolError."""
    text: str = store.object("files", absolute(given.path))["text"]
    return text


def _search(store: DeskStore, given: SearchFiles) -> str:
    words = given.words.casefold()
    found = [path for path, file in sorted(store.objects("files").items())
             if words in path.casefold() or words in file["text"].casefold()]
    return canonical(found[:_MOST_FOUND])


def write(store: DeskStore, given: WriteFile) -> str:
    """Write a text into a file. Raises ToolError where none can be."""
    path = absolute(given.path)
    _writable(store, path)
    _no_directory(store, path)
    store.write("files", path, text=given.text, modified=store.now)
    return f"wrote {path}"


def move(store: DeskStore, given: MoveFile) -> str:
    """Give a file a new path. Raises ToolError."""
    path, target = absolute(given.path), absolute(given.to)
    file = store.object("files", path)
    _writable(store, path)
    if target in store.objects("files"):
        raise ToolError(f"something is at {target} already")
    _no_directory(store, target)
    store.remove("files", path)
    store.write("files", target, **{**file, "modified": store.now})
    return f"moved {path} to {target}"


def delete(store: DeskStore, given: DeleteFile) -> str:
    """Delete a file. Raises ToolError."""
    path = absolute(given.path)
    store.object("files", path)
    _writable(store, path)
    store.remove("files", path)
    return f"deleted {path}"


def _writable(store: DeskStore, path: str) -> None:
    if store.objects("files").get(path, {}).get("locked"):
        raise ToolError(f"no permission to change {path}")


def _no_directory(store: DeskStore, path: str) -> None:
    """Raise ToolError where no file can be: at a directory, or below a file."""
    if path == "/" or any(one.startswith(f"{path}/") for one in store.objects("files")):
        raise ToolError(f"{path} is a directory")
    if above := [one for one in store.objects("files") if path.startswith(f"{one}/")]:
        raise ToolError(f"{above[0]} is a file")


def absolute(text: str) -> str:
    """Return a path from the root, without . and .., whatever its writer left out."""
    return posixpath.normpath(f"/{text.strip().lstrip('/')}")


TOOLS: Mapping[str, tuple[type[BaseModel], Callable[[DeskStore, Any], str]]] = {
    "list_files": (ListFiles, _list), "read_file": (ReadFile, read), "search_files": (SearchFiles, _search),
    "write_file": (WriteFile, write), "move_file": (MoveFile, move), "delete_file": (DeleteFile, delete)}
