"""A shell over the desk's files: pipelines of a few commands, in Python. Nothing of the machine is reached.

The paper's agents have the shell of a real system; these commands and their options are Hone's choice.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from shlex import quote
from typing import Any, NoReturn

from pydantic import BaseModel, Field

from hone.environments.desk import file_tools
from hone.environments.desk.file_tools import LONGEST_TEXT, DeleteFile, MoveFile, ReadFile, WriteFile
from hone.environments.desk.shell_words import Operator, Word, expanded, read, unsupported
from hone.environments.desk.store import DeskStore
from hone.environments.tools import ToolCall, ToolError, tool_call

_LONGEST_LINE = 2_000
_REDIRECTS = (">", ">>")


class Shell(BaseModel):
    """Run a line of a shell over the files: ls, find, cat, head, tail, wc, grep, sort, uniq, echo, mv, cp, rm, mkdir,
    joined by |, the last one perhaps with > FILE or >> FILE. grep finds texts as they stand, without patterns."""

    line: str = Field(min_length=1, max_length=_LONGEST_LINE, description="The line, such as: grep -l Due /inbox/*.txt")


def run(store: DeskStore, given: Shell) -> str:
    """Return the output of a line. Raises ToolError; the commands before the failed command have been carried out."""
    commands, redirect = _read(given.line)
    printed = ""
    for place, command in enumerate(commands):
        paths = list(store.objects("files"))
        name, *words = [text for word in command for text in expanded(word, paths)]
        if name not in COMMANDS:
            raise ToolError(f"{name}: there is no such command; there are {', '.join(COMMANDS)}")
        printed = COMMANDS[name](store, words, printed if place else None)
    if redirect is None:
        return printed
    mode, path = redirect
    before = _text(store, path) if mode == ">>" and _path(path) in store.objects("files") else ""
    return _write(store, path, before + printed)


def _read(line: str) -> tuple[list[list[Word]], tuple[str, str] | None]:
    """Return the commands of a line with their words, and where the last one's text goes."""
    parts, redirect = read(line), None
    match parts[-2:]:
        case [Operator(mode), Word(path, pattern)] if mode in _REDIRECTS:
            if pattern is not None:
                raise ToolError(f"{mode}: found {path[:80]}, expected one file", "wrong_arguments")
            redirect, parts = (mode, path), parts[:-2]
    commands = [list[Word]()]
    for part in parts:
        if isinstance(part, Word):
            commands[-1].append(part)
        elif part.text == "|":
            commands.append([])
        else:
            unsupported(part.text)
    if not all(commands):
        raise ToolError("a command is missing", "wrong_arguments")
    return commands, redirect


def _path(path: str) -> str:
    """Return a path from the root. Raises ToolError for one that is too long."""
    found = file_tools.absolute(path)
    if len(found) > file_tools.LONGEST_PATH:
        raise ToolError(f"a path has {len(found)} characters, expected at most {file_tools.LONGEST_PATH}")
    return found


def _write(store: DeskStore, path: str, text: str) -> str:
    if len(text) > LONGEST_TEXT:
        raise ToolError(f"a text has {len(text)} characters, expected at most {LONGEST_TEXT}")
    return file_tools.write(store, WriteFile(path=_path(path), text=text))


def _text(store: DeskStore, path: str) -> str:
    return file_tools.read(store, ReadFile(path=_path(path)))


def _options(name: str, words: Sequence[str], known: str) -> tuple[set[str], list[str]]:
    """Return single letters that begin with - and the other words. Raises ToolError for an unknown letter."""
    letters, others = set[str](), list[str]()
    for word in words:
        if len(word) > 1 and word.startswith("-") and not others:
            letters |= set(word[1:])
        else:
            others.append(word)
    if unknown := letters - set(known):
        raise ToolError(f"{name}: no option {min(unknown)}; there are {', '.join(known) or 'none'}", "wrong_arguments")
    return letters, others


def _below(store: DeskStore, directory: str) -> list[str]:
    inside = _path(directory).rstrip("/") + "/"
    found = sorted(path for path in store.objects("files") if path.startswith(inside))
    return found or _fail(f"there is no directory {directory}")


def _fail(message: str) -> NoReturn:
    raise ToolError(message)


def _input(store: DeskStore, name: str, words: Sequence[str], piped: str | None) -> str:
    if not words and piped is None:
        raise ToolError(f"{name}: expected a file", "wrong_arguments")
    return piped or "" if not words else "".join(_ended(_text(store, path)) for path in words)


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def _printed(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _ls(store: DeskStore, words: Sequence[str], _piped: str | None) -> str:
    _, given = _options("ls", words, "la1")
    names = list[str]()
    for word in given or ["/"]:
        inside = _path(word).rstrip("/") + "/"
        if _path(word) in store.objects("files"):
            names.append(_path(word))
        else:
            names += [head + rest for head, rest in (
                (path.removeprefix(inside).split("/")[0], "/" * ("/" in path.removeprefix(inside)))
                for path in _below(store, word))]
    return _printed(list(dict.fromkeys(names)))


def _find(store: DeskStore, words: Sequence[str], _piped: str | None) -> str:
    where, *test = words or ["/"]
    if test and (len(test) != 2 or test[0] != "-name"):
        raise ToolError("find: expected DIRECTORY, perhaps with -name PATTERN", "wrong_arguments")
    return _printed([path for path in _below(store, where)
                     if not test or fnmatchcase(path.rsplit("/", 1)[1], test[1])])


def _cat(store: DeskStore, words: Sequence[str], piped: str | None) -> str:
    return _input(store, "cat", words, piped)


def _part(name: str) -> Callable[[DeskStore, Sequence[str], str | None], str]:
    def part(store: DeskStore, words: Sequence[str], piped: str | None) -> str:
        given, count = list(words), "10"
        if given[:1] == ["-n"] and len(given) > 1:
            count, given = given[1], given[2:]
        elif given and given[0][:1] == "-":
            count, given = given[0][1:], given[1:]
        if not count.isdecimal() or len(count) > 6:
            raise ToolError(f"{name}: found {count[:20]}, expected a number of lines", "wrong_arguments")
        lines = _input(store, name, given, piped).splitlines()
        return _printed(lines[:int(count)] if name == "head" else lines[max(0, len(lines) - int(count)):])
    return part


def _wc(store: DeskStore, words: Sequence[str], piped: str | None) -> str:
    letters, given = _options("wc", words, "lwc")
    text = _input(store, "wc", given, piped)
    counts = {"l": len(text.splitlines()), "w": len(text.split()), "c": len(text)}
    return " ".join(str(counts[one]) for one in counts if one in letters or not letters) + "\n"


def _grep(store: DeskStore, words: Sequence[str], piped: str | None) -> str:
    letters, given = _options("grep", words, "icvlrn")
    if not given or (len(given) == 1 and piped is None):
        raise ToolError("grep: expected a text and a file", "wrong_arguments")
    wanted, *paths = given
    files = [path for word in paths for path in (_below(store, word) if "r" in letters else [_path(word)])]
    found = [(path, [(place, line) for place, line in enumerate(text.splitlines(), 1)
                     if _said(wanted, line, "i" in letters) != ("v" in letters)])
             for path, text in ([(path, _text(store, path)) for path in files] if paths else [("", piped or "")])]
    if "l" in letters:
        return _printed([path for path, lines in found if lines])
    if "c" in letters:
        return _printed([f"{path}:{len(lines)}" if len(files) > 1 else str(len(lines)) for path, lines in found])
    return _printed([(f"{path}:" if len(files) > 1 else "") + (f"{place}:" if "n" in letters else "") + line
                     for path, lines in found for place, line in lines])


def _said(wanted: str, line: str, any_case: bool) -> bool:
    return wanted.casefold() in line.casefold() if any_case else wanted in line


def _sort(store: DeskStore, words: Sequence[str], piped: str | None) -> str:
    letters, given = _options("sort", words, "ru")
    lines = _input(store, "sort", given, piped).splitlines()
    return _printed(sorted(set(lines) if "u" in letters else lines, reverse="r" in letters))


def _uniq(store: DeskStore, words: Sequence[str], piped: str | None) -> str:
    letters, given = _options("uniq", words, "c")
    runs = list[tuple[str, int]]()
    for line in _input(store, "uniq", given, piped).splitlines():
        runs[-1:] = [(line, runs[-1][1] + 1)] if runs and runs[-1][0] == line else [*runs[-1:], (line, 1)]
    return _printed([f"{count} {line}" if "c" in letters else line for line, count in runs])


def _echo(_store: DeskStore, words: Sequence[str], _piped: str | None) -> str:
    return " ".join(words) + "\n"


def _mv(store: DeskStore, words: Sequence[str], _piped: str | None) -> str:
    for path, target in _pairs(store, "mv", words):
        file_tools.move(store, MoveFile(path=path, to=target))
    return ""


def _cp(store: DeskStore, words: Sequence[str], _piped: str | None) -> str:
    for path, target in _pairs(store, "cp", words):
        _write(store, target, _text(store, path))
    return ""


def _pairs(store: DeskStore, name: str, words: Sequence[str]) -> list[tuple[str, str]]:
    """Return each file with its new path: below a directory where the last word is one."""
    if len(words) < 2:
        raise ToolError(f"{name}: expected files and where they go", "wrong_arguments")
    *given, last = words
    paths, target = [*map(_path, given)], _path(last)
    into = last.endswith("/") or any(path.startswith(f"{target}/") for path in store.objects("files"))
    if len(paths) > 1 and not into:
        raise ToolError(f"{name}: several files go into a directory, whose name ends with /", "wrong_arguments")
    return [(path, _path(f"{target}/{path.rsplit('/', 1)[1]}") if into else target) for path in paths]


def _rm(store: DeskStore, words: Sequence[str], _piped: str | None) -> str:
    _, given = _options("rm", words, "f")
    if not given:
        raise ToolError("rm: expected a file", "wrong_arguments")
    for path in map(_path, given):
        file_tools.delete(store, DeleteFile(path=path))
    return ""


def _mkdir(_store: DeskStore, _words: Sequence[str], _piped: str | None) -> str:
    return ""  # a directory is there while a file is below it


COMMANDS: Mapping[str, Callable[[DeskStore, Sequence[str], str | None], str]] = {
    "ls": _ls, "find": _find, "cat": _cat, "head": _part("head"), "tail": _part("tail"), "wc": _wc, "grep": _grep,
    "sort": _sort, "uniq": _uniq, "echo": _echo, "mv": _mv, "cp": _cp, "rm": _rm, "mkdir": _mkdir}
TOOLS: Mapping[str, tuple[type[BaseModel], Callable[[DeskStore, Any], str]]] = {"shell": (Shell, run)}
LINES: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "move_file": lambda given: f"mv {quote(given['path'])} {quote(given['to'])}",
    "delete_file": lambda given: f"rm {quote(given['path'])}",
    "write_file": lambda given: f"echo {quote(given['text'])} > {quote(given['path'])}"}
"""The line that does what a tool of files does, by the tool's name; a text gets the end of its last line."""


def spelled(actions: Sequence[str], offered: Collection[str]) -> list[str]:
    """Return calls; those of tools of files that are not offered as lines of the shell, if that is."""
    return [_spelled(one, offered) for one in actions] if "shell" in offered else [*actions]


def _spelled(action: str, offered: Collection[str]) -> str:
    """Return a call as one of the shell where its own tool is not offered and a line can say the same."""
    made = tool_call(action)
    if made is None or made.tool is None or made.tool in offered or made.tool not in LINES:
        return action
    line = LINES[made.tool](made.arguments)
    return action if len(line) > _LONGEST_LINE else ToolCall("shell", {"line": line}).action()
