"""How the tests of each part ended, and the seconds of each file, as a run's terminal has seen them."""

from collections import Counter, defaultdict
from typing import Any

from tests import distribution

_SHOWN = ("passed", "failed", "error", "skipped")


def report(terminal: Any) -> None:
    """Print one line for each part of the tests (unit, integration, …), and note the files' seconds.

    `terminal` is pytest's terminal reporter: its `stats` hold every report by the outcome.
    """
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    seconds: dict[str, float] = defaultdict(float)
    for outcome, reports in terminal.stats.items():
        for each in reports:
            if hasattr(each, "duration"):
                file = each.nodeid.partition("::")[0]
                seconds[file] += each.duration
                counts[_part(file)][outcome] += outcome in _SHOWN
    for part, found in sorted(counts.items()):
        terminal.write_line(f"{part}: " + ", ".join(f"{found[word]} {word}" for word in _SHOWN if found[word]))
    distribution.note(seconds)


def _part(file: str) -> str:
    return file.removeprefix("tests/").partition("/")[0]
