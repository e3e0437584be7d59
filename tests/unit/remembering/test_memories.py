"""Memories of models: what is shown, when something is written, and that probes change nothing."""

import json
from collections.abc import Sequence

import pytest

from hone.remembering.examination import examined
from hone.remembering.generator import life
from hone.remembering.lives import Sizes
from hone.remembering.memories import Buffering, MemoryKind, RememberingModel, context, memory, read_entries
from hone.remembering.phrases import PHRASES, pairs, plain_options
from hone.remembering.scores import PeriodResult, report
from hone.remembering.talks import Message

SIZES = Sizes(variables=6, questions=4, periods=4, changes=2)
PLAIN = PHRASES["plain"]


def reader(kind: str, said: list[Message]) -> str:
    """A model that writes down the pairs which it reads, and answers by the last ones."""
    text = "\n".join(one["content"] for one in said)
    if kind == "write":
        return json.dumps(pairs(text.partition("Messages:")[2]))
    names, options = plain_options(said[-1]["content"])
    values = tuple(pairs(text).get(name, "") for name in names)
    return str(options.index(values) + 1) if values in options else "0"


def lived(kind: MemoryKind, most: int | None, seed: int) -> Sequence[PeriodResult]:
    one = RememberingModel(memory(kind, Buffering(), most), reader)
    return examined(one, life(SIZES, seed, PLAIN), PLAIN, seed, 1, 2, upper=None).results


@pytest.mark.parametrize("kind", ["native", "rag", "awi"])
def test_memories_that_keep_everything_answer_everything(kind: MemoryKind) -> None:
    assert report(lived(kind, None, 1)).memory_score == 1.0


def test_awi_beats_a_window_of_two_messages() -> None:
    awi = report([result for seed in range(5) for result in lived("awi", None, seed)])
    window = report([result for seed in range(5) for result in lived("window", 2, seed)])
    assert awi.memory_score == 1.0
    assert window.accuracy < 0.6
    assert window.read + window.write > 0.4


def test_a_dictionary_is_written_when_the_buffer_is_full() -> None:
    one = memory("awi", Buffering(flush=2, keep=1))
    for number, said in enumerate(["[2026-03-30 19:05] city=Rome", "I see.", "and?"]):
        assert not one.due
        one.hear({"role": "assistant" if number == 1 else "user", "content": said})
    assert one.due
    assert "user: [2026-03-30 19:05] city=Rome\nassistant: I see." in one.writing()[0]["content"]
    assert one.written('{"city": "Rome", "age": 40, "none": null}') == {"city": [None, "Rome"], "age": [None, "40"]}
    shown = context(one, "where?", "Be kind.")
    assert shown[0]["content"].startswith("Be kind.\n\nWhat you know")
    assert shown[0]["content"].endswith("[2026-03-30 19:05] city=Rome\n[2026-03-30 19:05] age=40\n")
    assert [message["content"] for message in shown[1:]] == ["and?"]
    assert one.written("city=Oslo") == {"city": ["Rome", "Oslo"]}


def test_a_full_dictionary_loses_what_was_written_first() -> None:
    one = memory("awi", Buffering(0, 1), 2)
    one.written("a=1 b=2")
    assert one.written("a=3 c=4") == {"b": ["2", None], "a": ["1", "3"], "c": [None, "4"]}


def test_rag_shows_what_is_similar_in_the_order_in_which_it_was_said() -> None:
    one = memory("rag", Buffering(1, 0), 2)
    for text in ("my city is Rome", "I like tea", "now my city is Oslo"):
        one.hear({"role": "user", "content": text})
    [known] = context(one, "which city?")
    assert known["content"].splitlines()[1:] == ["user: my city is Rome", "user: now my city is Oslo"]


@pytest.mark.parametrize("kind", ["native", "window", "rag", "awi"])
def test_a_saved_memory_leads_back(kind: MemoryKind) -> None:
    one, other = (memory(kind, Buffering(1, 1), 3) for _ in range(2))
    for number in range(5):
        one.hear({"role": "user", "content": f"[2026-01-0{number + 1} 20:00] a={number}"})
    if one.due:
        one.written("a=1")
    other.load(one.save())
    assert (other.save(), context(other, "a?")) == (one.save(), context(one, "a?"))
    one.reset()
    assert context(one, "a?") == []


@pytest.mark.parametrize(("text", "entries"), [
    ('so: {"a": "x", "b": 2}', {"a": "x", "b": "2"}), ("a=x b=2", {"a": "x", "b": "2"}), ("nothing", {}),
    ('{"a": ["x"]}', {}), ("{a=x}", {"a": "x"}),
])
def test_entries_are_json_or_pairs(text: str, entries: dict[str, str]) -> None:
    assert read_entries(text) == entries
