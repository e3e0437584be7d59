"""The changing user: what it says and when, what probes show, and talks of others."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from hone.environments.changing_user import ChangingUserEpisode
from hone.environments.contract import EpisodeFailed, EpisodeOver, Transition, WrongParams
from hone.environments.tasks import episode, make
from hone.remembering.phrases import pairs, plain_options
from hone.resolution import resolve

PAGE = (Path(__file__).parents[3] / "docs" / "memory.md").read_text()
SIZES = {"variables": 3, "values": 2, "questions": 2, "required": 1, "periods": 2, "changes": 1, "options": 2}


def user(seed: int = 0, item: dict[str, Any] | None = None, **params: Any) -> ChangingUserEpisode:
    one = episode(make("changing_user", {"life": SIZES, "words": "plain", **params}, seed, item))
    assert isinstance(one, ChangingUserEpisode)
    return one


def lived(one: ChangingUserEpisode, known: dict[str, str] | None = None) -> tuple[list[str], list[Transition]]:
    """Play a whole life; `known` holds what an exact reader knows. Return the names of messages, and the steps."""
    said, names, steps, held = one.reset().messages, list[str](), list[Transition](), known if known is not None else {}
    while True:
        names += [str(message.get("name", message["role"])) for message in said]
        probes = [message for message in said if message.get("name") in ("question", "diagnosis", "upper")]
        for message in said:
            held.update(pairs(message["content"]) if message.get("name") != "result" else {})
        for action in [_answer(probe["content"], held) for probe in probes] or ["ok"]:
            steps.append(one.step(action))
        said = steps[-1].observation.messages
        if steps[-1].done:
            return [*names, *(str(message.get("name")) for message in said)], steps


def _answer(text: str, held: dict[str, str]) -> str:
    names, options = plain_options(text)
    values = tuple(held.get(name, "") for name in names)
    return str(options.index(values) + 1) if values in options else "0"


def test_an_exact_reader_scores_1_and_sees_each_part_of_a_period_in_its_turn() -> None:
    one = user()
    names, steps = lived(one)
    assert one.verify() == 1.0
    item = steps[-1].observation.item
    assert (item["components"]["memory_score"], item["components"]["known"]) == (1.0, 1.0)
    assert names.count("result") == 3
    assert names.count("question") == 6
    assert names.count("diagnosis") == 9
    assert names[names.index("question"):names.index("result")] == ["question"] * 2 + ["diagnosis"] * 3
    assert [step.observation.turns_left for step in steps] == [*range(len(steps) - 1, -1, -1)]
    assert all(step.valid for step in steps)
    with pytest.raises(EpisodeOver):
        one.step("1")


def test_who_says_nothing_useful_fails_by_writing() -> None:
    one = user()
    said = one.reset()
    while not (taken := one.step("x")).done:
        said = taken.observation
    found = taken.observation.item["components"]
    assert found["known"] == 0.0
    assert found["json_errors"] == 3 * 5
    assert found["accuracy"] + found["write"] == pytest.approx(1.0)
    assert said.item["verified"] is not None


def test_upper_bounds_are_asked_once_for_each_question_and_state() -> None:
    one = user(measure_upper=True)
    names, steps = lived(one)
    world = one.world
    golden = {(place, question.golden(state)) for place, question in enumerate(world.life.questions)
              for state in world.life.states}
    assert names.count("upper") == len(golden)
    assert steps[-1].observation.turns_left == 0
    assert steps[-1].observation.item["components"]["upper"] == 1.0


def test_the_clock_and_english_are_in_the_openers() -> None:
    said = user(words="english").reset().messages
    assert said[0]["role"] == "system"
    assert said[1]["content"].startswith("[2026-03-")


def test_without_results_nothing_is_sent_of_them() -> None:
    names, _ = lived(user(results=False))
    assert "result" not in names
    assert "None" not in names


def test_a_recorded_talk_is_shown_and_only_probes_are_answered() -> None:
    count = sum(len(one) for one in user().world.rounds)
    row = {"prompt": "-", "replies": [f"reply {number}" for number in range(count)], "user_seed": 0}
    one = user(5, row)
    names, steps = lived(one)
    assert one.verify() == 1.0
    assert names.count("assistant") == count
    assert len(steps) == 3 * 5
    assert steps[-1].observation.item["off_policy"] is True
    assert one.world.hash == user().world.hash


@pytest.mark.parametrize(("item", "field"), [
    ({"replies": ["x"]}, "item.replies"), ({"replies": "x"}, "item.replies"),
    ({"replies": [], "user_seed": "7"}, "item.user_seed"),
])
def test_a_wrong_row_is_refused(item: dict[str, Any], field: str) -> None:
    with pytest.raises(WrongParams) as wrong:
        user(0, {"prompt": "-", **item})
    assert wrong.value.field == field


def test_a_snapshot_leads_back_in_the_middle_of_probes() -> None:
    one, other = user(), user()
    seen = one.reset()
    while not any(message.get("name") == "question" for message in seen.messages):
        seen = one.step("ok").observation
    one.step("1")
    other.restore(json.loads(json.dumps(one.snapshot())))
    branch = one.fork()
    assert branch.step("2") == one.step("2") == other.step("2")
    branch.step("1")
    assert branch.state_hash() != one.state_hash()


def test_sizes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(WrongParams, match="expected at most the 3 variables"):
        user(life={**SIZES, "changes": 4})


def test_the_spec_of_the_documentation_is_a_run() -> None:
    raw = yaml.safe_load(PAGE.partition("```yaml\n")[2].partition("```")[0])
    spec = resolve({"name": "memory", "model": {"base": "toy"}, "steps": 1, **raw})
    assert spec.harness is not None
    assert (spec.harness.name, spec.harness.params["memory"]) == ("remembering", "awi")


def test_the_code_of_the_documentation_examines_an_assistant() -> None:
    code = PAGE.partition("```python\n")[2].partition("```")[0].replace("periods=4", "periods=1")
    names: dict[str, Any] = {"speak": lambda kind, _: "city=Rome" if kind == "write" else '{"answer": 1}'}
    exec(code, names)  # the page's own
    assert len(names["found"].results) == 2
    assert b'"city": ["Rome", "2026-' in names["found"].snapshots[-1]


SPOKEN: dict[str, Any] = {"words": "english", "speech": "model", "most_retries": 1}


def truth(one: ChangingUserEpisode, session: int = 0) -> str:
    """Say what a session of the first period exposes."""
    period = one.world.life.periods[0]
    return " and ".join(f"{name} {period.changes[name][1]}" for name in period.sessions[session].exposes)


def test_a_model_finds_the_words_of_the_user_and_is_held_to_its_life() -> None:
    one = user(**SPOKEN)
    seen = one.reset()
    assert [message["role"] for message in seen.messages] == ["system"]
    assert seen.ask is not None
    [head, greeting] = seen.ask.messages
    values = [value for options in one.world.life.schema.values() for value in options]
    shown = [value for value in values if value in head["content"]]
    assert sorted(shown) == sorted(truth(one).replace(" and ", " ").split()[1::2]), "no value that it may not say"
    assert (seen.ask.role, greeting["role"]) == ("user", "user")
    wrong = one.step(f"Now it is {truth(one)}. And {next(value for value in values if value not in shown)}.")
    assert (wrong.valid, wrong.observation.messages, wrong.observation.turns_left) == (False, [], seen.turns_left)
    assert wrong.observation.ask is not None
    assert "which is a value of" in wrong.observation.ask.messages[0]["content"]
    other = one.fork()
    other.restore(one.snapshot())
    assert other.state_hash() == one.state_hash()
    with pytest.raises(EpisodeFailed, match="contradicted the user 2 times: it does not say the"):
        other.step("Good evening!")
    said = one.step(f"Help me: {truth(one)}.").observation
    [opener] = said.messages
    assert opener["name"] == "opener"
    assert opener["content"].endswith(f"] Help me: {truth(one)}.\n")
    assert (said.ask, said.turns_left) == (None, seen.turns_left)


def test_a_life_in_a_models_words_is_lived_to_its_end() -> None:
    one = user(life={**SIZES, "first_rounds": 2}, **SPOKEN)
    seen, later = one.reset(), 0
    while True:
        if seen.ask is not None:
            turn, state = one._turn(), one.world.life.states[one._now.exam.period]
            words = "Go on." if turn.later else " ".join(state[name] for name in turn.session.exposes)
            later += turn.later
            if turn.later:
                assert [message["role"] for message in seen.ask.messages] == ["system", "user", "assistant", "user"]
            taken = one.step(words)
        else:
            heard = [message for message in seen.messages if message.get("name", "user") != "result"]
            taken = [one.step("1") for message in heard if message["role"] == "user"][-1]
        seen = taken.observation
        if taken.done:
            break
    assert later
    assert seen.turns_left == 0
    assert len(seen.item["periods"]) == 3


def test_a_recorded_talk_has_no_words_to_find() -> None:
    with pytest.raises(WrongParams, match="because the row brings a talk"):
        user(item={"prompt": "-", "replies": []}, **SPOKEN)
