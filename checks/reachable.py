"""Refuses modules that no process reaches.

`python -m checks.reachable` follows imports from the processes' entry points: every `__main__` module of a service, the
command `hone`, and every module that can be run by itself (`if __name__ == "__main__"`). A module whose dotted name
stands in a string, as in `import_module` or `python -m`, counts as imported, and so does the module of a catalogue's
member in pyproject.toml. The command prints each unreachable module with its lines, and ends with 1 if there is one.
Generated code (`hone.api`) is left out.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import resolve_name
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_GENERATED = "hone.api"
_COMMANDS = {"hone.cli.main"}
_PACKAGES = {"hone": "libs", "services": "."}
_TARGET = re.compile(r"((?:hone|services)(?:\.\w+)+):\w+")
"""The place of a command, `module:attribute`: an import at the time when the command is called."""
_DOTTED = re.compile(r"(?:hone|services)(?:\.\w+)+")


@dataclass(frozen=True)
class Source:
    """One module: its length, the dotted names that it imports, its strings, and whether it can be run.

    A module in a string `module:attribute` counts among the imports.
    """

    lines: int
    imports: frozenset[str]
    strings: frozenset[str]
    runs: bool

    @property
    def names(self) -> frozenset[str]:
        """The modules that it imports, and those that its strings name."""
        return self.imports.union(*map(_DOTTED.findall, self.strings))


def sources(root: Path = ROOT, packages: Mapping[str, str] = _PACKAGES) -> dict[str, Source]:
    """Return every module of the packages by its dotted name. `packages` has the folder that each lies in.

    Raises SyntaxError.
    """
    return {_name(path.relative_to(root / base)): _read(path, _name(path.parent.relative_to(root / base)))
            for package, base in packages.items() for path in (root / base / package).rglob("*.py")}


def members(root: Path = ROOT) -> frozenset[str]:
    """Return the modules of Hone's own catalogue members, which a process imports when a spec names them."""
    groups = tomllib.loads((root / "pyproject.toml").read_text())["project"].get("entry-points", {})
    return frozenset(target.partition(":")[0] for table in groups.values() for target in table.values())


def unreachable(found: Mapping[str, Source], named: Collection[str] = ()) -> dict[str, int]:
    """Return the lines of each module that no entry point reaches, by its name; packages without code are left out.

    `named` are modules that processes import by name.
    """
    reached = _reached(found, named)
    return {name: source.lines for name, source in sorted(found.items())
            if name not in reached and source.lines and not name.startswith(_GENERATED)}


def _name(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def _read(path: Path, package: str) -> Source:
    text = path.read_text()
    tree = ast.parse(text, str(path))
    runs = path.name == "__main__.py" or any(isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)
                                             for node in tree.body)
    imports, strings, documentation = set[str](), dict[int, str](), set[int]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.update(_imported(node, package))
        elif isinstance(node, ast.Expr):
            documentation.add(id(node.value))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            strings[id(node)] = node.value
    kept = frozenset(value for key, value in strings.items() if key not in documentation)
    loaded = {match[1] for value in kept if (match := _TARGET.fullmatch(value))}
    return Source(len(text.splitlines()), frozenset(imports | loaded), kept, runs)


def _imported(node: ast.Import | ast.ImportFrom, package: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    else:
        module = resolve_name("." * node.level + (node.module or ""), package)
        yield module
        yield from (f"{module}.{alias.name}" for alias in node.names)


def _reached(found: Mapping[str, Source], named: Collection[str]) -> set[str]:
    reached = set[str]()
    waiting = {name for name, source in found.items() if source.runs or name in _COMMANDS or name in named}
    while waiting:
        name = waiting.pop()
        if name in found and name not in reached:
            reached.add(name)
            waiting |= {*found[name].names, *_packages(name)}
    return reached


def _packages(name: str) -> Iterable[str]:
    parts = name.split(".")
    return (".".join(parts[:length]) for length in range(1, len(parts)))


def main() -> int:
    lost = unreachable(sources(), members())
    for name, lines in lost.items():
        print(f"{name}: found no process that reaches its {lines} lines, expected one, or the module deleted",
              file=sys.stderr)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
