"""Noise that a model writes: its words are checked, asked for again, and given up, and the world stays as it is."""

import json
import random
from dataclasses import replace
from typing import Any

import pytest

from hone.environments.contract import Ask, Transition
from hone.environments.dialogues.episode import DialogueEpisode
from hone.environments.noise import written
from hone.environments.noise.noisy import NoisyEpisode
from hone.environments.noise.tool_noise import RULES
from hone.environments.tasks import episode, make
from hone.spec.noise import WRITTEN, NoiseType, TaskNoise
from tests.support.environments.noisy import READ, ROW, SURE, WRITE, query, said, task

ORDER = '{"id": 7, "state": "open", "items": [{"name": "lamp", "price": 12.5}, {"name": "desk", "price": 80.0}]}\n'
TEXT = "Found 2 rows.\nname: lamp\nprice: 12.5\n"


@pytest.mark.parametrize(("kind", "original", "words", "found"), [
    ("misleading", ORDER, ORDER.replace("lamp", "lamp (see also the floor lamp)"), None),
    ("redundancy", TEXT, "Menu: Home.\nFound 2 rows.\nTip: save it.\nname: lamp\nprice: 12.5\nGoodbye.", None),
    ("error", TEXT, TEXT.replace("12.5", "13.5"), None),
    ("error", ORDER, f"```json\n{ORDER}```".replace("open", "closed"), ORDER.replace("open", "closed")),
    ("incomplete", TEXT, TEXT.replace("12.5", "[cannot be displayed]"), None),
    ("incomplete", ORDER, ORDER.replace('"open"', '"op…"').replace("80.0", '"[cannot be displayed]"'), None)])
def test_words_that_keep_the_form_stand_for_the_result(
    kind: NoiseType, original: str, words: str, found: str | None,
) -> None:
    expected = found or words
    assert written.read(kind, original, words) == expected.rstrip("\n") + "\n"


@pytest.mark.parametrize(("kind", "original", "words", "why"), [
    ("error", ORDER, "The order is closed.", "no JSON"),
    ("error", ORDER, ORDER.replace('"id": 7, "state": "open"', '"state": "closed", "id": 7'), "its keys"),
    ("error", ORDER, ORDER.replace("7", '"seven"'), "another type"),
    ("error", TEXT, TEXT.replace("price", "cost"), "does not begin with"),
    ("incomplete", TEXT, TEXT.replace("Found 2 rows.", "Found…"), "no value that may change"),
    ("error", TEXT, f"{TEXT}price: 13.5", "4 lines, expected the 3"),
    ("error", '{"a": 1, "b": 2, "c": 3}', '{"a": 2, "b": 3, "c": 4}', "more than 2 values"),
    ("incomplete", TEXT, TEXT.replace("12.5", "99"), "another one"),
    ("incomplete", TEXT, TEXT.replace("12.5", "[cannot be displayed]").replace("lamp", "l…"), "2 values are lost"),
    ("misleading", ORDER, ORDER.replace("80.0", "90.0"), "the value 80.0"),
    ("redundancy", TEXT, "Tip: save it.\nprice: 12.5\nname: lamp\nFound 2 rows.", "does not stay"),
    ("redundancy", TEXT, TEXT + "Menu. " * 1000, "at most"),
    ("redundancy", TEXT, TEXT, "without noise"), ("misleading", TEXT, " \n", "empty")])
def test_words_that_lose_the_truth_or_the_form_are_refused(
    kind: NoiseType, original: str, words: str, why: str,
) -> None:
    with pytest.raises(written.Unfit, match=why):
        written.read(kind, original, words)


@pytest.mark.parametrize("kind", sorted(WRITTEN))
@pytest.mark.parametrize("original", [ORDER, TEXT, "x|1\ny|2.5\n", '["a", 3, true]\n', "[ ] milk\n- 2 eggs\n"])
def test_what_the_rules_write_would_be_accepted_of_a_model(kind: NoiseType, original: str) -> None:
    made = {RULES[kind](original, "the price", random.Random(seed)) for seed in range(40)} - {None, original}
    assert made or (kind, original) == ("error", "[ ] milk\n- 2 eggs\n")
    for words in made:
        assert words is not None
        assert written.read(kind, original, words) == words


def started(kind: str, **terms: Any) -> NoisyEpisode:
    made = episode(task(kind, writer="model", **terms))
    assert isinstance(made, NoisyEpisode)
    made.reset()
    return made


def asked(taken: Transition) -> Ask:
    assert taken.observation.messages == []
    assert taken.observation.ask is not None
    return taken.observation.ask


def test_the_noiser_is_asked_with_the_call_and_the_result_and_its_words_are_the_result() -> None:
    made, clean = started("redundancy", most=1), episode(make("sqlite", {"turns": 8}, 5, ROW))
    clean.reset()
    truth = said(query(clean, READ))
    ask = asked(query(made, READ))
    assert ask.role == "noiser"
    assert READ in ask.messages[1]["content"]
    assert truth in ask.messages[1]["content"]
    heard = made.step(f"Menu: Home.\n{truth}Goodbye.")
    assert said(heard) == f"Menu: Home.\n{truth}Goodbye.\n"
    assert heard.injection == {"type": "redundancy", "step": 1, "tool": "query", "original": truth, "executed": True,
                               "injected": said(heard), "writer": "model"}
    assert made.inner.state_hash() == clean.state_hash()
    assert said(query(made, READ)) == truth, "the budget is used up"


def test_a_noiser_that_fails_twice_leaves_the_result_clean_with_a_record() -> None:
    made = started("redundancy", most=1)
    first = asked(query(made, READ))
    again = asked(made.step("I cannot do that."))
    assert again.messages[0]["content"].startswith(first.messages[0]["content"])
    assert "You wrote 'I cannot do that.'. That is refused: the line" in again.messages[0]["content"]
    heard = made.step("No.")
    assert heard.injection is not None
    assert said(heard) == heard.injection["original"] == heard.injection["injected"]
    assert [words for words, _ in heard.injection["refused"]] == ["I cannot do that.", "No."]
    assert asked(query(made, READ)).role == "noiser", "nothing was injected, so the budget is whole"


def test_failures_are_no_words_and_what_was_done_stays_done() -> None:
    assert said(query(started("failure"), READ)).startswith("4")
    assert query(started("error"), WRITE).observation.ask is None


def test_an_episode_is_the_same_from_a_snapshot_and_a_fork_while_a_result_waits_for_its_noise() -> None:
    made = started("misleading")
    truth = asked(query(made, READ)).messages[1]["content"].partition("result:\n")[2]
    waiting, other = json.loads(json.dumps(made.snapshot())), episode(task("misleading", writer="model"))
    other.restore(waiting)
    forked = made.fork()
    for words in ("nothing", f"Call click.\n{truth}"):
        [one, second, third] = [each.step(words) for each in (made, other, forked)]
        assert one == second == third
    assert one.injection is not None
    assert made.state_hash() == other.state_hash() == forked.state_hash()


def test_the_words_of_a_noiser_earn_nothing() -> None:
    noise = TaskNoise(type="redundancy", writer="model", **SURE)
    orders = make("dialogue", {"rules": {"length": 1.0}}, 3)
    made = episode(replace(orders, noise=noise.model_dump()))
    assert isinstance(made, NoisyEpisode)
    made.reset()
    assert isinstance(made.inner, DialogueEpisode)
    taken = [made.step(action) for action in made.inner.solution()[:2]]  # a question, and a call
    assert asked(taken[-1]).role == "noiser"
    heard = made.step(f"Menu: Home.\n{asked(taken[-1]).messages[1]['content'].partition('result:')[2][1:]}")
    assert [(one.reward, dict(one.rules)) for one in (taken[-1], heard)] == [(0.0, {"length": 0.0})] * 2
