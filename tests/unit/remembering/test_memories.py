"""Memories of models: what is shown, when something is written, and that probes change nothing."""

import json
from collections.abc import Sequence

import pytest

from hone.remembering.examination import examined
from hone.remembering.generator import life
from hone.remembering.lives import Sizes
from hone.remembering.memories import Awe, Buffering, EvolvingAwi, MemoryKind, RememberingModel, context, memory
from hone.remembering.phrases import PHRASES, pairs, plain_options
from hone.remembering.scores import PeriodResult, report
from hone.remembering.talks import Message
from hone.remembering.writings import Edits, read_edits, read_entries, read_section
from tests.support.remembering.edits import edits

SIZES = Sizes(variables=6, questions=4, periods=4, changes=2)
PLAIN = PHRASES["plain"]


def reader(kind: str, said: list[Message]) -> str:
    """A model that writes down the pairs which it reads, and answers by the last ones."""
    text = "\n".join(one["content"] for one in said)
    if kind == "evolve":
        return json.dumps({"remember": "names and values"})
    if kind == "write":
        known, _, heard = text.partition("Messages:")
        return edits(known, pairs(heard)) if "Facts:" in known else json.dumps(pairs(heard))
    names, options = plain_options(said[-1]["content"])
    values = tuple(pairs(text).get(name, "") for name in names)
    return str(options.index(values) + 1) if values in options else "0"


def lived(kind: MemoryKind, most: int | None, seed: int) -> Sequence[PeriodResult]:
    one = RememberingModel(memory(kind, Buffering(), most), reader)
    return examined(one, life(SIZES, seed, PLAIN), PLAIN, seed, 1, 2, upper=None).results


@pytest.mark.parametrize("kind", ["native", "rag", "awe", "awi", "awi-evolve"])
def test_memories_that_keep_everything_answer_everything(kind: MemoryKind) -> None:
    assert report(lived(kind, None, 1)).memory_score == 1.0


@pytest.mark.parametrize("kind", ["awi", "awe"])
def test_what_a_model_writes_beats_a_window_of_two_messages(kind: MemoryKind) -> None:
    written = report([result for seed in range(5) for result in lived(kind, None, seed)])
    window = report([result for seed in range(5) for result in lived("window", 2, seed)])
    assert written.memory_score == 1.0
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


def test_a_store_of_facts_is_edited_when_messages_leave_and_shows_those_that_are_similar() -> None:
    one = Awe(Buffering(flush=2, keep=4), 2)
    talk = ["[2026-03-30 19:05] I live in Rome", "ok", "I have a cat", "ok", "and?", "ok"]
    for number, said in enumerate(talk):
        assert not one.due
        one.hear({"role": "assistant" if number % 2 else "user", "content": said})
    assert one.due, "six messages, f + ns of the paper"
    [asked] = one.writing()
    assert "I live in Rome" in asked["content"]
    assert "cat" not in asked["content"], "what stays is not written yet"
    assert one.written('{"add": ["lives in Rome", "likes tea"]}') == {
        "1": [None, "lives in Rome"], "2": [None, "likes tea"]}
    assert [said["content"] for said in one.recent()] == talk[2:]
    one.hear({"role": "user", "content": "[2026-06-30 20:00] now I live in Oslo"})
    one.hear({"role": "assistant", "content": "ok"})
    assert "1: [2026-03-30 19:05] lives in Rome" in one.writing()[0]["content"]
    assert one.written('{"update": {"1": "lives in Oslo", "9": "x"}, "delete": [2, 8]}') == {
        "1": ["lives in Rome", "lives in Oslo"], "2": ["likes tea", None]}
    one.written("+ has a cat\n+ plays chess")
    assert one.known("who has a cat, and who lives where?").splitlines() == [
        "[2026-06-30 20:00] lives in Oslo", "[2026-06-30 20:00] has a cat"], "the most similar ones, oldest first"


def test_facts_that_the_model_did_not_see_are_not_edited() -> None:
    one = Awe(Buffering(1, 0), 1)
    one.written('{"add": ["has a cat", "lives in Rome"]}')
    one.hear({"role": "user", "content": "I moved from Rome"})
    assert "has a cat" not in one.writing()[0]["content"]
    assert one.written('{"delete": [1, 2]}') == {"2": ["lives in Rome", None]}


def test_what_to_remember_is_rewritten_after_each_period_but_the_last_and_stays_in_the_memory() -> None:
    heard, kept = list[str](), memory("awi-evolve", Buffering())

    def speak(kind: str, said: list[Message]) -> str:
        if kind == "evolve":
            heard.append(said[0]["content"])
        if kind == "write":
            assert (f"What to remember:\nsection {len(heard)}\n" in said[0]["content"]) == bool(heard)
        return json.dumps({"remember": f"section {len(heard)}"}) if kind == "evolve" else reader(kind, said)

    made = life(SIZES, 3, PLAIN)
    examined(RememberingModel(kept, speak, "complete", ["answers", "states"]), made, PLAIN, 3, 1, 2)
    assert isinstance(kept, EvolvingAwi)
    assert (len(heard), kept.remember) == (SIZES.periods, f"section {SIZES.periods}")
    first = json.loads(heard[0].partition("Feedback:\n")[2].rpartition("\n\nAnswer")[0])
    assert first["states"] == dict(made.states[0])
    assert [one["question"] for one in first["questions"]] == [one.text for one in made.questions]
    assert [int(one["answer"]) for one in first["questions"]] == [one["right"] for one in first["questions"]]
    assert all("=" in one["memories"] and "1:" in one["options"] for one in first["questions"])
    kept.reset()
    assert "Personal details" in kept.remember


def test_feedback_of_questions_alone_says_nothing_of_answers() -> None:
    heard, kept = list[str](), memory("awi-evolve", Buffering())

    def speak(kind: str, said: list[Message]) -> str:
        heard.extend(said[0]["content"] for _ in range(kind == "evolve"))
        return "" if kind == "evolve" else reader(kind, said)

    examined(RememberingModel(kept, speak, "questions"), life(SIZES, 3, PLAIN), PLAIN, 3, 1, 2)
    assert all({*one} == {"question"} for one in json.loads(heard[0].partition("Feedback:\n")[2].rpartition(
        "\n\nAnswer")[0])["questions"])
    assert isinstance(kept, EvolvingAwi)
    assert "Personal details" in kept.remember, "an empty section changes nothing"


def test_rag_shows_what_is_similar_in_the_order_in_which_it_was_said() -> None:
    one = memory("rag", Buffering(1, 0), 2)
    for text in ("my city is Rome", "I like tea", "now my city is Oslo"):
        one.hear({"role": "user", "content": text})
    [known] = context(one, "which city?")
    assert known["content"].splitlines()[1:] == ["user: my city is Rome", "user: now my city is Oslo"]


@pytest.mark.parametrize("kind", ["native", "window", "rag", "awe", "awi", "awi-evolve"])
def test_a_saved_memory_leads_back(kind: MemoryKind) -> None:
    one, other = (memory(kind, Buffering(1, 1), 3) for _ in range(2))
    for number in range(5):
        one.hear({"role": "user", "content": f"[2026-01-0{number + 1} 20:00] a={number}"})
    if one.due:
        one.written("+ a=1" if kind == "awe" else "a=1")
    if isinstance(one, EvolvingAwi):
        one.evolved("letters")
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


@pytest.mark.parametrize(("text", "edits"), [
    ('so: {"add": ["x", 3], "update": {"2": "y", "3": ["z"]}, "delete": [1, "4"]}',
     Edits(("x",), {"2": "y"}, frozenset({"1", "4"}))),
    ("+ x\n2: y\n- 1\nnothing", Edits(("x",), {"2": "y"}, frozenset({"1"}))), ("+\n2:", Edits()), ("{}", Edits()),
    ('{"add": "x", "update": [], "delete": 1}', Edits()),
])
def test_edits_are_json_or_lines(text: str, edits: Edits) -> None:
    assert read_edits(text) == edits


@pytest.mark.parametrize(("text", "section"), [
    ('{"remember": "names"}', "names"), ('{"remember": ["names", "jobs"]}', "names\njobs"), ("names", "names"),
    ('{"other": 1}', "")])
def test_a_section_is_json_or_text(text: str, section: str) -> None:
    assert read_section(text) == section
