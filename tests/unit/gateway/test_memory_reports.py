"""The diagnosis of what is remembered is made of stored samples, and shown as lines and as a page."""

from pathlib import Path
from typing import Any

import pytest

from hone.cli import memory as lines
from hone.client.memory import MemoryReport
from hone.resolution import resolve
from hone.store import objects
from hone.trajectory import parts
from services.console.pages.memory import page
from services.gateway import memory_reports
from tests.support.gateway.memories import LIFE, LIVED, sample

SPEC = resolve({"name": "who", "model": {"base": "toy"}, "steps": 2, "task": LIFE, "eval": {"sources": [
    {"name": "dictionary", **LIFE}, {"name": "window", **LIFE, "harness": {
        "name": "remembering", "params": {"memory": "window"}}},
    {"name": "digits", "environment": "sort_digits"}]}})


def row(group: int, source: str, score: float | None = 1.0, part: str = "part") -> dict[str, Any]:
    return {"group_id": group, "index": 0, "step": 2, "source": source, "task_hash": f"task {group}", "score": score,
            "part": part}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> MemoryReport:
    store = objects.connect(f"file://{tmp_path_factory.mktemp('objects')}")
    store.put("part", parts.encode([sample(1, *LIVED), sample(2, *LIVED[:1]), sample(3), sample(4)]))
    rows = [row(1, "dictionary"), row(2, "dictionary"), row(3, "dictionary", None), row(4, "window"),
            row(5, "window", part="deleted")]
    return memory_reports.make(store, "run_1", SPEC, "sampled", rows)


def test_samples_are_read_by_source_with_the_memory_of_its_harness(found: MemoryReport) -> None:
    dictionary, window = found.sources
    assert (found.step, found.truncated) == (2, True), "an object was deleted"
    assert [(one.source, one.memory, one.recorded) for one in found.sources] == [
        ("dictionary", "awi", False), ("window", "window", False)]
    assert (dictionary.masked, dictionary.cut, window.cut, window.whole, window.periods) == (1, 1, 1, None, [])
    assert dictionary.whole is not None
    assert (dictionary.whole.samples, dictionary.whole.questions) == (2, 6)
    assert dictionary.whole.failures == {"write": 2, "read": 0, "utilization": 0}
    assert dictionary.whole.accuracy.value == (0.75 + 0.5) / 2
    assert [(one.period, one.samples, one.accuracy.value) for one in dictionary.periods] == [(0, 2, 0.5), (1, 1, 1.0)]


def test_it_is_shown_in_the_terminal_and_in_the_console(
    found: MemoryReport, capsys: pytest.CaptureFixture[str],
) -> None:
    dictionary, _ = found.sources
    first, *_ = lines.lines(dictionary)
    assert first[:4] == ["all", "2", "2", "0.500"]
    assert "1 samples have no score and no part in this" in list(lines.below(dictionary))
    lines.show(found)
    assert "dictionary, memory awi" in capsys.readouterr().out
    shown = str(page("run_1", found))
    for text in ("window, memory window", "Failed by write", "of 6 questions", "Masked", "Cut", "No answers",
                 "Incomplete"):
        assert text in shown, text


def test_no_samples_make_an_empty_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = memory_reports.make(objects.connect(f"file://{tmp_path}"), "run_1", SPEC, "greedy", [])
    assert (made.step, made.sources, made.series) == (None, [], "greedy")
    lines.show(made)
    assert "changing_user" in capsys.readouterr().out
    assert "No memory asked" in str(page("run_1", made))
