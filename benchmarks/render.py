"""Writes the published tables from the raw results: `python -m benchmarks.render [--check] [PAGE ...]`.

A table stands between `<!-- bench:NAME -->` and `<!-- /bench:NAME -->`, where NAME is a key of
benchmarks.tables.TABLES; nothing else of the file changes. With --check nothing is written, and the exit status is 1
where a table is not what the results say.
"""

import argparse
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.results import RESULTS, load
from benchmarks.tables import TABLES

PAGES = (Path("docs/measured/benchmarks.md"), Path("docs/algorithms.md"))
"""Where tables stand."""

_BLOCK = re.compile(
    r"(?P<open><!-- bench:(?P<name>[\w-]+) -->\n).*?(?P<close><!-- /bench:(?P=name) -->)", re.DOTALL)
_MARK = re.compile(r"<!-- /?bench:")


class WrongMark(ValueError):
    """A mark names no table, or stands without its other half."""


def render(text: str, results: Mapping[str, dict[str, Any]]) -> str:
    """Return `text` with every marked block written anew; one whose results are missing says so. Raises WrongMark."""
    blocks = list(_BLOCK.finditer(text))
    if len(_MARK.findall(text)) != 2 * len(blocks):
        raise WrongMark("some <!-- bench:NAME --> has no <!-- /bench:NAME -->, or they are crossed")
    return _BLOCK.sub(lambda block: f"{block['open']}{table(block['name'], results)}\n{block['close']}", text)


def table(name: str, results: Mapping[str, dict[str, Any]]) -> str:
    """Return one table as Markdown. Raises WrongMark when there is none of this name."""
    if name not in TABLES:
        raise WrongMark(f"table: found {name!r}, expected one of {', '.join(TABLES)}")
    wanted = TABLES[name]
    found = [results[file] for file in wanted.results if file in results]
    if not found:
        return f"Not measured yet: `{wanted.command}`"
    return "\n\n".join([wanted.write(found), *(_source(result) for result in found)])


def stored(directory: Path = RESULTS) -> dict[str, dict[str, Any]]:
    """Return every result by the name of its file. Raises ValueError for one that is no JSON."""
    return {path.stem: load(path) for path in sorted(directory.glob("*.json"))}


def _source(result: Mapping[str, Any]) -> str:
    machine = result["machine"]
    libraries = ", ".join(f"{name} {version}" for name, version in machine["libraries"].items() if name != "hone-rl")
    return (f"`{result['command']}`, {result['date']}: {machine['cores']} cores of {machine['cpu']}, "
            f"{machine['memory_gib']} GiB; {libraries}.")


def main() -> None:
    """Render the pages, or check them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("pages", type=Path, nargs="*", default=PAGES)
    args = parser.parse_args()
    results = stored()
    stale = [page for page in args.pages if not _rendered(page, results, write=not args.check)]
    if args.check and stale:
        sys.exit(f"{', '.join(map(str, stale))}: tables are not what benchmarks/results says; run "
                 "python -m benchmarks.render")


def _rendered(page: Path, results: Mapping[str, dict[str, Any]], *, write: bool) -> bool:
    """Return whether a page's tables are what the results say; `write` makes them so."""
    before = page.read_text()
    after = render(before, results)
    if write and after != before:
        page.write_text(after)
    return after == before


if __name__ == "__main__":
    main()
