"""Prints the test files that a change can reach: python -m checks.changed BASE

A test file is reached if it was changed since BASE, or a module that it imports directly or through other modules, or a
file that such a module names in a string (`schema.sql`). Catalogues load their members by name: a changed member (a
grader, an environment, …) reaches the tests that hold its name as a string, and no other test.

Acceptance tests start every process. The command prints those whose own modules or named members changed. For any other
change of a process it prints one acceptance test, which trains a model through all services, and says how many it
leaves out.
"""

import re
import subprocess
import sys
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from checks.reachable import ROOT, Source, sources

PACKAGES = {"hone": "libs", "services": ".", "tests": ".", "benchmarks": ".", "checks": ".", "scripts": "."}
LOOP = "tests/acceptance/test_backends.py"
"""The acceptance test of `make loop`."""
_EVERYTHING = {"pyproject.toml", "Makefile", ".ci/run", "scripts/test.sh", "tests/distribution.py"}
_ACCEPTANCE = "tests/acceptance/"
_WORD = re.compile(r"[\w./-]+")


@dataclass(frozen=True)
class Choice:
    """Test files that a change reaches, and the acceptance files that it may reach through a process."""

    files: list[str]
    left_out: list[str]


@dataclass(frozen=True)
class Tree:
    """The modules of a checkout by their dotted names, the words in their strings, and the catalogues' members."""

    modules: Mapping[str, Source]
    words: Mapping[str, frozenset[str]]
    paths: Mapping[str, str]
    members: Collection[tuple[str, str]]  # name, and the module that has the member

    @cached_property
    def tests(self) -> dict[str, str]:
        """The module of each test file, by its path."""
        return {path: name for name, path in self.paths.items() if Path(path).name.startswith("test_")}

    def reached(self, name: str) -> set[str]:
        """Return the modules that a module imports, directly or through others, with the packages around them."""
        found, waiting = set[str](), {name, *_conftests(name)}
        while waiting:
            each = waiting.pop()
            if each in self.modules and each not in found:
                found.add(each)
                waiting |= {*self.modules[each].imports, *_packages(each)}
        return found

    def users(self, file: str) -> set[str]:
        """Return the modules that name a file that is no module: a query (`runs.`), another file, or its first folder.

        Only tests and checks read a file that lies outside the packages.
        """
        path = Path(file)
        if path.parts[0] not in ("libs", "services"):
            names, readers = {path.name, path.parts[0]}, ("tests.", "checks.")
            return {module for module, words in self.words.items() if module.startswith(readers) and names & words}
        query = f"{path.stem}." if path.suffix == ".sql" else path.name
        return {module for module, words in self.words.items() if any(word.startswith(query) for word in words)}


def read(root: Path = ROOT) -> Tree:
    """Read a checkout. Raises SyntaxError."""
    modules = sources(root, PACKAGES)
    paths = {name: path for name in modules if (path := _path(root, name))}
    words = {name: frozenset(_words(modules[name].strings)) for name in paths}
    return Tree(modules, words, paths, _members(root))


def chosen(tree: Tree, changed: Iterable[str]) -> Choice:
    """Return the tests that a change of these files reaches. Files are relative to the checkout."""
    changed = list(changed)
    if any(file in _EVERYTHING for file in changed):
        return Choice(sorted(tree.tests), [])
    names = {path: name for name, path in tree.paths.items()}
    modules = {names[file] for file in changed if file in names}
    modules |= {user for file in changed if file not in names for user in tree.users(file)}
    named = {member for member, module in tree.members if module in modules}
    files = [path for path, name in tree.tests.items() if _concerns(tree, path, name, modules, named)]
    return _with_loop(tree, sorted(files), modules)


def _concerns(tree: Tree, path: str, name: str, modules: set[str], named: set[str]) -> bool:
    reached = tree.reached(name)
    if path.startswith(_ACCEPTANCE):
        reached = {each for each in reached if each.startswith("tests.")}
    return bool(reached & modules) or any(named & tree.words[each] for each in reached if each.startswith("tests."))


def _with_loop(tree: Tree, files: list[str], modules: set[str]) -> Choice:
    """Add the loop, and say which acceptance files are left out, where a module of the processes changed."""
    if not any(module.partition(".")[0] in ("hone", "services") for module in modules):
        return Choice(files, [])
    left = sorted(path for path in tree.tests if path.startswith(_ACCEPTANCE) and path not in {*files, LOOP})
    return Choice(sorted({*files, LOOP}), left)


def _conftests(name: str) -> Iterator[str]:
    return (f"{package}.conftest" for package in _packages(name))


def _packages(name: str) -> Iterator[str]:
    parts = name.split(".")
    return (".".join(parts[:length]) for length in range(1, len(parts)))


def _path(root: Path, name: str) -> str:
    base = Path(PACKAGES[name.partition(".")[0]]) / name.replace(".", "/")
    candidates = (base.with_suffix(".py") if "." in name else base / "__init__.py", base / "__init__.py")
    return next((str(each) for each in candidates if (root / each).is_file()), "")


def _words(strings: Iterable[str]) -> Iterator[str]:
    """Yield the words of strings and the parts of paths among them."""
    for word in (word for text in strings for word in _WORD.findall(text)):
        yield from (word, *(word.split("/") if "/" in word else ()))


def _members(root: Path) -> list[tuple[str, str]]:
    """Return the name of each member, of a method without its slot, and its module."""
    groups = tomllib.loads((root / "pyproject.toml").read_text())["project"].get("entry-points", {})
    return [(name.rpartition(".")[2], place.partition(":")[0]) for group in groups.values()
            for name, place in group.items()]


def _changed(base: str) -> list[str]:
    def git(*words: str) -> list[str]:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()

    common = git("merge-base", base, "HEAD")[0]
    return sorted({*git("diff", "--name-only", common), *git("ls-files", "--others", "--exclude-standard")})


def main() -> int:
    changed = _changed(sys.argv[1])
    choice = chosen(read(), changed)
    print("\n".join(choice.files))
    print(f"{len(changed)} changed files reach {len(choice.files)} test files. Left out: {len(choice.left_out)} "
          "acceptance files that start a changed process (make acceptance runs them)", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
