"""Noise around real environments: the world stays as it is, and an episode can be cut, forked and made again."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from hone.environments.contract import Task, Transition, WrongParams
from hone.environments.noise.noisy import NoisyEpisode, noisy
from hone.environments.tasks import episode, from_proto, make, to_proto
from hone.environments.tools import ToolCall
from hone.spec.noise import USERS, TaskNoise
from tests.support.environments.noisy import READ, ROW, SURE, WRITE, query, said, task


def started(kind: str, **terms: Any) -> NoisyEpisode:
    made = episode(task(kind, **terms))
    assert isinstance(made, NoisyEpisode)
    made.reset()
    return made


def test_a_call_that_fails_is_not_carried_out_and_a_repeated_one_is_once() -> None:
    made = started("failure", most=1)
    before = made.inner.state_hash()
    failed = query(made, WRITE)
    assert made.inner.state_hash() == before
    assert (failed.valid, failed.effect, failed.done) == (True, False, False)
    assert failed.injection == {"type": "failure", "step": 1, "tool": "query", "original": None, "executed": False,
                                "injected": said(failed).strip()}
    assert query(made, WRITE).effect
    assert said(query(made, "SELECT count(*) FROM t")).strip() == "3"


@pytest.mark.parametrize("kind", ["incomplete", "error", "redundancy", "misleading"])
def test_a_changed_result_is_kept_with_its_original(kind: str) -> None:
    made, clean = started(kind, most=1), episode(make("sqlite", {"turns": 8}, 5, ROW))
    clean.reset()
    taken, truth = query(made, READ), query(clean, READ)
    assert said(taken) != said(truth)
    assert taken.injection is not None
    assert (taken.injection["original"], taken.injection["injected"]) == (said(truth), said(taken))
    assert made.inner.state_hash() == clean.state_hash()
    assert query(made, READ).injection is None, "the budget is used up"


@pytest.mark.parametrize("kind", ["incomplete", "error"])
def test_what_was_done_does_not_look_undone(kind: str) -> None:
    assert query(started(kind), WRITE).injection is None


def test_errors_final_answers_and_empty_results_stay() -> None:
    made = started("misleading")
    for sql in ("SELECT nothing FROM nowhere", "SELECT a FROM t WHERE a > 9"):
        assert query(made, sql).injection is None
    answered = made.step("3")
    assert (answered.done, answered.injection, made.verify()) == (True, None, 1.0)


def test_a_repaired_tool_works_and_the_world_does_not_see_the_repair() -> None:
    made = started("failure", most_of_tool=-1)
    offered = made.reset().tools or []
    assert [tool["function"]["name"] for tool in offered] == ["query", "repair"]
    query(made, READ)
    before = made.inner.state_hash()
    unknown = made.step(ToolCall("repair", {"tool": "nothing"}).action())
    assert (unknown.valid, said(unknown)) == (False, "error: no tool 'nothing'; there are query\n")
    repaired = made.step(ToolCall("repair", {"tool": "query"}).action())
    assert (repaired.valid, made.inner.state_hash()) == (True, before)
    assert query(made, READ).injection is None


def test_without_noise_nothing_differs() -> None:
    made, clean = started("failure", intensity=0), episode(make("sqlite", {"turns": 8}, 5, ROW))
    assert made.reset() == clean.reset()
    for sql in (READ, WRITE, READ):
        assert query(made, sql) == query(clean, sql)
    assert made.state_hash() == clean.state_hash()


@pytest.mark.parametrize("kind", ["failure", "incomplete", "error", "redundancy", "misleading"])
def test_a_noisy_episode_is_the_same_from_a_message_a_snapshot_and_a_fork(kind: str) -> None:
    asked = task(kind, prob=0.6, most=-1, most_of_tool=-1)
    sent = from_proto(to_proto(asked))
    assert (sent, sent.content_hash) == (asked, make("sqlite", {"turns": 8}, 5, ROW).content_hash)
    made = episode(sent)
    made.reset()
    whole = _several(made, range(6))
    for cut in range(1, 5):
        made, other = episode(asked), episode(asked)
        made.reset()
        _several(made, range(cut))
        snapshot = json.loads(json.dumps(made.snapshot()))
        other.restore(snapshot)
        forked = made.fork()
        for one in (made, other, forked):
            assert _several(one, range(cut, 6)) == whole[cut:]
            assert one.state_hash() == whole[-1].observation.state_hash


def _several(made: Any, steps: Sequence[int]) -> list[Transition]:
    return [query(made, WRITE if step == 2 else READ) for step in steps]


def test_the_answers_of_a_world_without_tools_are_results_too() -> None:
    made = episode(task("failure", "phase_lock", None, most=1))
    opening = made.reset()
    failed = made.step((opening.admissible or [""])[0])
    assert failed.injection is not None
    assert failed.observation.messages[0]["role"] == "user"
    assert failed.observation.turns_left == opening.turns_left, "a call that failed takes no turn"
    assert made.step((opening.admissible or [""])[0]).valid


def test_an_episode_of_one_answer_and_one_without_turns_for_another_try_are_refused() -> None:
    with pytest.raises(WrongParams, match="noise: found 'error', expected a task of several turns"):
        noisy(episode(make("sort_digits", {}, 1)), TaskNoise(type="error")).reset()
    with pytest.raises(WrongParams, match=r"noise.most: found 4, expected less than the 3 turns"):
        noisy(episode(make("sqlite", {"turns": 3}, 5, ROW)), TaskNoise(type="error", intensity=3)).reset()
    message = to_proto(task("error"))
    message.noise_json = '{"type": "loud"}'
    with pytest.raises(WrongParams, match=r"noise.type: found 'loud'"):
        from_proto(message)


CALLER = {"goal": {"text": "I want to cancel my order.", "hears": ["cancelled"]}, "knowledge": [
    {"name": "name", "value": "Ada Berg", "reveal": "opening", "says": "I am {value}."},
    {"name": "order", "value": "W1234", "asked": ["order number"], "form": "W9999"}]}


def called(kind: str, words: str = "scripted", **terms: Any) -> NoisyEpisode:
    made = make("dialogue", {"domain": "talk", "words": words}, 3, CALLER)
    noise = TaskNoise.model_validate({"type": kind, **SURE, **terms}).model_dump()
    one = episode(Task(**{**made.__dict__, "noise": noise}))
    assert isinstance(one, NoisyEpisode)
    one.reset()
    return one


@pytest.mark.parametrize("kind", sorted(USERS))
def test_a_users_words_are_changed_and_its_state_is_not(kind: str) -> None:
    made, clean = called(kind), called(kind, intensity=0)
    taken, truth = (one.step("What is your order number?") for one in (made, clean))
    assert taken.injection is not None
    assert (taken.injection["tool"], taken.injection["original"]) == ("user", said(truth))
    assert said(taken) != said(truth)
    same = made.inner.state_hash() == clean.inner.state_hash()
    assert same == (kind != "user_ambiguity"), "what was vague counts as not said"
    assert ("W1234" in said(taken)) == (kind != "user_ambiguity")
    assert (made.step("It is cancelled.").done, made.verify()) == (True, 1.0)


def test_a_vague_user_says_it_when_it_is_asked_again_once_its_quota_is_used_up() -> None:
    made = called("user_ambiguity", most=1)
    assert "W1234" not in said(made.step("What is your order number?"))
    assert "W1234" in said(made.step("What is your order number?"))


def test_a_model_that_speaks_for_a_user_gets_a_guideline_and_its_words_stay() -> None:
    made, clean = called("user_topic_shift", "model"), called("user_topic_shift", "model", intensity=0)
    asked, plain = (one.step("What is your order number?").observation.ask for one in (made, clean))
    assert asked is not None
    assert plain is not None
    assert asked.messages[0]["content"].startswith(plain.messages[0]["content"])
    assert "Leave the topic up to 6 times" in asked.messages[0]["content"]
    assert asked.messages[1:] == plain.messages[1:]
    taken = made.step("It is W1234.")
    assert (said(taken), taken.injection) == ("It is W1234.\n", None)
