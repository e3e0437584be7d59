"""Lives by a model: wrong answers are named and mended, what a checker misses is rewritten, and rows are played."""

import copy
from collections.abc import Mapping
from typing import Any

import pytest

from hone.environments.changing_user import ChangingUserEpisode
from hone.environments.contract import Row, WrongParams
from hone.environments.synthesis.author import UnreadAnswer
from hone.environments.synthesis.hints import NoWorld
from hone.environments.tasks import episode, make
from hone.environments.written_lives.authored import REFINEMENTS
from hone.remembering.lives import faults
from hone.remembering.written import WrittenLife, life_of
from tests.support.environments.authored import lives, made
from tests.unit.environments.written_lives import keeper


def played(row: Row, **params: Any) -> ChangingUserEpisode:
    one = episode(make("changing_user", params, 0, row))
    assert isinstance(one, ChangingUserEpisode)
    return one


def test_a_written_life_keeps_the_rules_and_is_played_word_for_word() -> None:
    first, second = made(wanted=2)
    assert (first["life"]["person"]["name"], second["life"]["person"]["name"]) == ("Ada Berg", "Bo Lund")
    written = WrittenLife.model_validate(first["life"])
    life = life_of(written)
    assert faults(life, written.sizes) == []
    assert first["prompt"] == life.periods[0].sessions[0].opener
    one = played(first, life={"rounds": 1})
    said, heard = one.reset().messages, list[str]()
    while True:
        heard += [message["content"] for message in said if message.get("name") == "opener"]
        probes = [message for message in said if message.get("name") in ("question", "diagnosis")]
        state = life.states[min(one._now.exam.period, 2)]
        taken = [one.step(oracle(probe["content"], state)) for probe in probes] or [one.step("Noted.")]
        said = taken[-1].observation.messages
        if taken[-1].done:
            break
    sessions = [session for period in life.periods for session in period.sessions]
    assert heard == [f"[{session.time}] {session.opener}\n" for session in sessions]
    assert not any(value in session.opener for session, value in zip(sessions, life.states[0].values(), strict=False))
    components = taken[-1].observation.item["components"]
    assert (one.verify(), components["memory_score"], components["known"]) == (1.0, 1.0, 1.0)
    assert "known/helper" not in components


def oracle(probe: str, state: Mapping[str, str]) -> str:
    """Answer with what fits the state: the option that implies it, or the value."""
    lines = [line.partition(". ")[2] for line in probe.splitlines() if line[:1].isdigit()]
    false = [implied for (name, value), implied in keeper.IMPLIES.items() if state[name] != value]
    fits = [number for number, line in enumerate(lines, 1) if line in state.values() or (
        line.startswith("This is for you") and not any(one in line for one in false))]
    return f'{{"answer": {fits[0]}}}'


def test_a_talk_of_a_written_life_is_recorded_too() -> None:
    [row] = made()
    rounds = sum(len(one) for one in played(row).world.rounds)
    one = played({**row, "replies": ["Noted."] * rounds})
    assert one.reset().messages[1]["content"].endswith(f"{row['prompt']}\n")
    assert one.world.replies is not None


WRONG: dict[str, tuple[str, Any, str]] = {
    "uneven": ("Write user", {**keeper.USER, "questions": keeper.USER["questions"][:1]},
               "questions: expected 2 different ones, found 1"),
    "unmapped": ("Merge variables", {**keeper.MERGED, "mapping": [{"dwelling": "living_place"},
                                                                  keeper.MERGED["mapping"][1]]},
                 "mapping.0: helper is missing; schema.helper: no question needs it"),
    "several lists": ("Merge variables", {**keeper.MERGED, "schema": {**keeper.SCHEMA, "temper": ["calm", "Calm"]}},
                      "schema.temper: expected 2 different values, found calm, Calm"),
    "illegal at first": ("at first?", {"state": {"living_place": "the moon", "helper": "nobody"}},
                         "state: temper is missing; state.living_place: 'the moon' is none of a village, a city"),
    "illegal": ("months later", {"changes": {"living_place": "the moon", "temper": "wild"}},
                "changes.living_place: 'the moon' is none of a village, a city"),
    "unchanged": ("months later", {"changes": {"temper": "calm", "age": "42"}},
                  "changes.temper: it is 'calm' already, expected another value; changes: 'age' is no variable"),
    "too few": ("months later", {"changes": {}}, "changes: expected 1 to 3 variables, found 0"),
    "uncovered": ("Write the evenings", {"sessions": [
        {"exposes": ["helper", "age"], "event": "Today I had nobody.", "opener": "Well?"}]},
        "sessions: living_place is exposed by none; sessions: temper is exposed by none; sessions: age did not change; "
        "sessions.0.event: it says 'nobody', expected words that imply it"),
    "too few answers": ("Write the advice", {"answers": ["Buy."]}, "answers: expected 3 different ones, found 1"),
    "form": ("Write the advice", {"answers": [7]}, "answers.0: expected a valid string"),
}


@pytest.mark.parametrize("kind", [*WRONG, "garbage"])
def test_a_wrong_answer_is_named_and_written_anew(kind: str) -> None:
    about, wrong, complaint = WRONG.get(kind, ("months later", None, "expected a JSON object"))
    heard = list[str]()

    def errs_once(question: str) -> Mapping[str, Any]:
        if about not in question or heard:
            return keeper.answer(question)
        heard.append(question)
        if wrong is None:
            raise UnreadAnswer("expected a JSON object")
        return dict(wrong)

    writing = lives(errs_once)
    assert len(writing.made(keeper.HINT, 1)) == 1
    [found] = [one for complaints in writing.trail.refusals.values() for one in complaints]
    assert found.startswith(complaint)
    assert writing.as_json() == {"lives": [{"number": 0, "corrections": 1, "refinements": 0}]}


def test_what_a_checker_does_not_understand_is_rewritten() -> None:
    def vague(question: str) -> Mapping[str, Any]:
        found = copy.deepcopy(keeper.answer(question))
        if "Write the evenings" in question:
            found["sessions"][0]["opener"] = "What should I read tonight?"
        if "Write the advice" in question:
            found["answers"][1] = "Read a book."
        return found

    writing = lives(vague)
    [row] = writing.made(keeper.HINT, 1)
    assert row["prompt"] != "What should I read tonight?"
    refused = writing.trail.refusals
    assert refused["life 0: opener 0 of period 0"] == ["living_place: 'unknown', expected 'a village'"]
    assert refused["life 0: answer 1 of question 0"][0].startswith("it is for state 1, {'living_place': ")
    assert writing.trails[0].refinements == 5
    assert writing.trails[0].corrections == 0


@pytest.mark.parametrize(("about", "says", "why"), [
    ("Write it anew", {"text": "Good evening."},
     f"{REFINEMENTS + 1} complaints: opener 0 of period 0: living_place: 'unknown', expected 'a village'"),
    ("months later", {"changes": {"living_place": "the moon"}},
     "5 complaints: changes of period 1: changes.living_place: 'the moon' is none of a village, a city"),
    ("What is true of this user?", {"values": {}}, "5 complaints: check of opener 0 of period 0: values: "),
])
def test_a_user_that_comes_to_nothing_is_discarded_with_the_reason(about: str, says: Row, why: str) -> None:
    def hopeless(question: str) -> Mapping[str, Any]:
        if "Write the evenings" in question and "anew" in about:
            return {"sessions": [{**one, "opener": "Good evening."} for one in keeper.answer(question)["sessions"]]}
        return says if about in question else keeper.answer(question)

    writing = lives(hopeless, hopeless)
    count, _, reason = why.partition(" complaints: ")
    with pytest.raises(NoWorld, match="no life was accepted") as failed:
        writing.made(keeper.HINT, 1)
    assert failed.value.tried[0].startswith(f"2 times: {reason}")
    assert [one.kept for one in writing.trail.tasks] == [False, False]
    assert {len(complaints) for complaints in writing.trail.refusals.values()} == {int(count)}


@pytest.mark.parametrize(("at", "value", "field"), [
    (("schema", "helper"), ["nobody"], "item.life.schema.helper"), (("person", "age"), "old", "item.life.person.age"),
    (("periods", 1, "changes", "temper"), "calm", "item.life.periods.1.changes.temper"),
    (("periods", 0, "sessions", 1, "exposes"), ["helper", "temper"], "item.life.periods.0.sessions"),
    (("periods", 0, "sessions", 0, "opener"), " ", "item.life.periods.0.sessions.0.opener"),
    (("questions", 1, "options", 0), ["a city", "?"], "item.life.questions.1.options"),
    (("questions", 1, "needs"), ["age"], "item.life.questions.1.needs"),
    (("questions", 0, "answers"), ["a", "b"], "item.life.questions.0.answers"), ((), 7, "item.life"),
])
def test_a_bad_row_is_refused_by_its_field(at: tuple[Any, ...], value: Any, field: str) -> None:
    row = copy.deepcopy(made()[0])
    inner: Any = row
    for key in ("life", *at)[:-1]:
        inner = inner[key]
    inner[("life", *at)[-1]] = value
    with pytest.raises(WrongParams) as wrong:
        played(row)
    assert wrong.value.field == field


def test_the_words_of_a_written_life_are_its_own() -> None:
    [row] = made()
    for params in ({"words": "plain"}, {"speech": "model"}):
        with pytest.raises(WrongParams, match="because the row brings"):
            played(row, **params)
