"""Which tests run in the same process, and in which order, when two run at a time (pytest -n 2 --dist loadscope).

Tests that share a slow start form a unit, which one process runs as a whole. The longest units begin first, by the
seconds that tests/durations.json has of each file, so that no process is idle at the end. Each run writes the seconds
that it saw to .cache/durations.json; `make durations` keeps these.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

KEPT = Path(__file__).with_name("durations.json")
SEEN = KEPT.parent.parent / ".cache" / "durations.json"
TWINS = ("test_backends", "test_fences", "test_kills")
"""Acceptance tests of the twin stacks (tests.acceptance.stacks)."""
OWN = ("test_backup", "test_cluster", "test_contract", "test_demo", "test_impostors", "test_mutations",
       "test_oracle", "test_ranks", "test_traces", "test_upgrade")
"""Acceptance tests that start stacks of their own, or none. All others share the plain stack."""
PLAIN_UNITS = 2
"""The plain stack is started by at most this many processes."""
TOGETHER = ("tests/integration/foreign", "tests/integration/inference")
"""Folders whose files share a stack or a process."""
UNKNOWN_S = 5.0
"""Expected of a file that no run has timed yet."""


class ByUnit(LoadScopeScheduling):
    """Keeps the tests of a unit together."""

    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid)


def unit(nodeid: str) -> str:
    """Return the name of the unit of a test: a file, a folder, or the stack that several files share."""
    file = nodeid.partition("::")[0]
    if _on_servers(nodeid):
        return "servers"
    if file.startswith("tests/acceptance/"):
        return _of_acceptance(file)
    return next((folder for folder in TOGETHER if file.startswith(folder)), file)


def in_order(items: list[pytest.Item]) -> None:
    """Sort tests by their units, the longest unit first. Tests of a unit keep their order."""
    seconds = _unit_seconds({(unit(item.nodeid), item.nodeid.partition("::")[0]) for item in items})
    items.sort(key=lambda item: (-seconds[unit(item.nodeid)], unit(item.nodeid)))


def keep() -> None:
    """Take the seconds that the last run saw into tests/durations.json. Files that are gone are dropped."""
    merged = {**_read(KEPT), **_read(SEEN)}
    present = {file: seconds for file, seconds in sorted(merged.items()) if (KEPT.parent.parent / file).exists()}
    KEPT.write_text(json.dumps(present, indent=1) + "\n")


def note(seconds: Mapping[str, float]) -> None:
    """Write the seconds of each file that a run saw, beside those of earlier runs."""
    SEEN.parent.mkdir(exist_ok=True)
    rounded = {file: round(spent, 1) for file, spent in seconds.items()}
    SEEN.write_text(json.dumps({**_read(SEEN), **rounded}, indent=1) + "\n")


def _of_acceptance(file: str) -> str:
    name = Path(file).stem
    if name in TWINS:
        return "twins"
    return file if name in OWN else f"plain-{_plain_halves().get(file, 0)}"


@cache
def _plain_halves() -> dict[str, int]:
    """Return the unit of each acceptance file on the plain stack, so that the units take equally long."""
    spent, halves = [0.0] * PLAIN_UNITS, {}
    files = [f"tests/acceptance/{path.name}" for path in KEPT.with_name("acceptance").glob("test_*.py")
             if path.stem not in (*TWINS, *OWN)]
    for file in sorted(files, key=lambda file: (-_seconds(file), file)):
        halves[file] = spent.index(min(spent))
        spent[halves[file]] += _seconds(file)
    return halves


def _unit_seconds(pairs: Iterable[tuple[str, str]]) -> dict[str, float]:
    sums: dict[str, float] = defaultdict(float)
    for name, file in pairs:
        sums[name] += _seconds(file)
    return sums


def _seconds(file: str) -> float:
    return _kept().get(file, UNKNOWN_S)


@cache
def _kept() -> dict[str, float]:
    return _read(KEPT)


def _read(path: Path) -> dict[str, float]:
    return json.loads(path.read_text()) if path.exists() else {}


def _on_servers(nodeid: str) -> bool:
    return re.search(r"[\[-]servers(-\d+)?\]$", nodeid) is not None


if __name__ == "__main__":
    keep()
