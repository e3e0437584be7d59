"""Episodes of a domain: the user follows the scenario, calls are repeated each time, the reward is tau2-bench's."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from hone.environments import tasks
from hone.environments.catalogue import ENVIRONMENTS
from hone.environments.contract import EpisodeFailed, EpisodeLost, EpisodeOver, WrongParams
from hone.environments.tasks import episode, make
from hone.environments.tau2 import program
from hone.environments.tau2.environment import Tau2World
from hone.environments.tools import ToolCall
from tests.unit.environments.tau2.kiosk import KioskShelf, kiosk

FIND = ToolCall("find_machine", {"serial": "M200"}).action()
RENEW = ToolCall("renew", {"serial": "M200"}).action()


@pytest.fixture(autouse=True)
def shelf(monkeypatch: pytest.MonkeyPatch) -> Iterator[KioskShelf]:
    world, found = Tau2World(), KioskShelf()
    world.shelf = found
    monkeypatch.setitem(ENVIRONMENTS, "tau2", world)
    tasks._maker.cache_clear()
    yield found
    tasks._maker.cache_clear()


def started(task: str, **params: Any) -> Any:
    made = episode(make("tau2", {"domain": "kiosk", "tasks": [task], **params}, 0))
    made.reset()
    return made


def said(taken: Any) -> str:
    return str(taken.observation.messages[-1]["content"]).strip()


def test_the_gold_actions_and_what_has_to_be_said_score_one() -> None:
    made = started("renew")
    assert said(made.step("Which serial number?")) == "The serial number of my machine is M200. I do not know that."
    looked, renewed = made.step(FIND), made.step(RENEW)
    assert said(looked) == ('{"serial": "M200", "owner": "Ben Cole", "active": false, "opened": false, "months": 0}')
    assert (looked.effect, renewed.effect, made.verify()) == (False, True, 0.0)
    done = made.step("It is renewed, for 49.50.")
    assert (done.done, done.observation.item["verified"], made.verify()) == (True, 1.0, 1.0)
    with pytest.raises(EpisodeOver):
        made.step(FIND)


def test_another_change_or_an_unsaid_amount_scores_zero_and_so_do_turns_that_are_used_up() -> None:
    made = started("renew", texts=1)
    made.step(ToolCall("renew", {"serial": "M200", "months": 6}).action())
    left = made.step("49.50")
    assert (left.done, made.parts()["db"], made.verify()) == (True, 0.0, 0.0)
    made = started("renew", turns=2)
    made.step(RENEW)
    late = made.step("Hello?")
    assert (late.done, late.observation.item["reason"], made.parts()["db"]) == (True, "max_turns", 1.0)
    assert made.verify() == 0.0


def test_the_user_does_on_its_side_what_the_agent_names() -> None:
    made = started("descale")
    assert said(made.step("Please read the display: read display.")) == "The display shows: descale"
    done = made.step("Then run descaling.")
    assert said(done).startswith("It hums. ")
    assert (done.done, made.verify()) == (True, 1.0)


def test_who_was_handed_over_leaves_and_a_history_goes_on() -> None:
    made = started("handed_over")
    made.step(ToolCall("transfer_to_human_agents", {"summary": "other words"}).action())
    assert (made.step("A person calls you.").done, made.verify()) == (True, 1.0)
    made = episode(make("tau2", {"domain": "kiosk", "tasks": ["continued"]}, 0))
    seen = made.reset()
    assert [one["role"] for one in seen.messages] == ["system", "user", "assistant", "tool", "assistant", "user"]
    made.step(ToolCall("renew", {"serial": "M100", "months": 6}).action())
    assert (made.step("Done.").done, made.verify()) == (True, 1.0)


def test_failed_calls_are_said_and_end_the_episode_when_they_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "LIMITS", replace(program.LIMITS, wall_s=4.0))
    made = started("renew", errors=4)
    for call, message, valid in (
            (ToolCall("find_machine", {"serial": "M900"}), "Error: Machine M900 not found", True),
            (ToolCall("steal", {}), "Error: Tool 'steal' not found.", False),
            (ToolCall("wait_for_ever", {}), "Error: the tool failed: time_limit", True),
            (ToolCall(None, {"text": "{"}), "Error: this is no tool call that could be read", False)):
        taken = made.step(call.action())
        assert said(taken).startswith(message)
        assert (taken.valid, taken.effect) == (valid, False)
    assert (taken.done, taken.observation.item["reason"]) == (True, "errors")


def test_tools_that_answer_otherwise_when_they_are_repeated_fail_the_sample() -> None:
    made = started("renew")
    made.step(ToolCall("clock", {}).action())
    with pytest.raises(EpisodeFailed, match="the tools answered otherwise when the calls were repeated"):
        made.step(FIND)


def test_a_sandbox_that_is_away_loses_the_episode_and_no_call_of_it(shelf: KioskShelf) -> None:
    made = started("renew")
    made.step(FIND)
    kept, fork = json.loads(json.dumps(made.snapshot())), made.fork()
    shelf.lost = True
    with pytest.raises(EpisodeLost, match="the sandbox: it is away"):
        made.step(RENEW)
    shelf.lost = False
    made.restore(kept)
    assert made.state_hash() == fork.state_hash()
    made.step(RENEW)
    fork.step(RENEW)
    assert made.state_hash() == fork.state_hash()


def test_a_model_plays_the_user_with_the_scenario_its_tools_and_the_marks_of_the_end() -> None:
    made = episode(make("tau2", {"domain": "kiosk", "tasks": ["descale"], "words": "model"}, 0))
    ask = made.reset().ask
    assert ask is not None
    assert ask.role == "user"
    assert "Only say what the display really shows." in ask.messages[0]["content"]
    assert "run_descaling" in ask.messages[0]["content"]
    assert said(made.step("No coffee!")) == "No coffee!"
    made.step("Please descale it.")
    asked = made.step('<tool_call>{"name": "run_descaling", "arguments": {"minutes": 20}}</tool_call>').observation.ask
    assert asked is not None
    assert asked.messages[-1]["content"] == "[your tool] It hums."
    done = made.step("It works. ###STOP###")
    assert (said(done), done.done, made.verify()) == ("It works.", True, 1.0)


def test_a_model_that_says_nothing_is_asked_again_and_then_fails_the_sample() -> None:
    made = started("renew", words="model", most_retries=1)
    assert made.step(" ").observation.ask is not None
    with pytest.raises(EpisodeFailed, match="said nothing 2 times"):
        made.step("")


@pytest.mark.parametrize(("params", "message"), [
    ({"split": "dev"}, "params.split: found 'dev', expected one of train, test"),
    ({"tasks": ["gone"]}, "params.tasks: found 'gone', expected ids of tasks of kiosk"),
    ({"tasks": ["renew"], "split": "test"}, "params.tasks: found 'renew', expected a task of the split test"),
    ({"tasks": ["kind"]}, "params.tasks: found 'kind', expected params.judge, a grader"),
    ({"tasks": ["broken"]}, "params.tasks: found 'broken', expected params.unproven: true, because its gold actions")])
def test_tasks_that_cannot_be_played_are_refused_by_name(params: dict[str, Any], message: str) -> None:
    with pytest.raises(WrongParams) as wrong:
        make("tau2", {"domain": "kiosk", **params}, 0)
    assert message in str(wrong.value)


def test_a_stream_leaves_out_what_cannot_be_played_and_a_judge_reads_the_conversation() -> None:
    hashes = {make("tau2", {"domain": "kiosk"}, seed).content_hash for seed in range(20)}
    assert len(hashes) == len(kiosk().tasks) - 2
    judge = {"type": "string_check", "input": "{{item.conversation}}", "operation": "like", "reference": "kind"}
    made = started("kind", judge=judge, texts=1)
    taken = made.step("You are kind.")
    assert taken.observation.grader == {"type": "multi", "graders": {"own": {"type": "environment"}, "judge": judge},
                                        "calculate_output": "own * judge"}
    assert "agent: You are kind." in taken.observation.item["conversation"]
    assert (taken.observation.item["nl_assertions"], made.verify()) == ("The agent is kind.", 1.0)
