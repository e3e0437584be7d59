"""Tasksets of the real `verifiers` 0.4 as environments: its chat loop with tools, and an agent that is a program."""

import json
import os
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from hone.environments.contract import EpisodeFailed, EpisodeLost, WrongParams
from hone.environments.foreign import verifiers_session
from hone.environments.foreign.places import Place
from tests.integration.verifiers.conftest import PATH, Begun, said, script

pytestmark = pytest.mark.timeout(1200)  # the first test installs the packages
ORDERS = ["die", "go on", "stall", "forget", "picture", "hang", "crowd"]
NULL = {"agent": {"harness": {"id": "null"}}}
LOCAL = {"agent": {"runtime": {"type": "subprocess"}}}


@pytest.fixture(scope="module", autouse=True)
def current(interpreters: Mapping[str, str], places: dict[str, Place]) -> None:
    odd = Place(protocol="verifiers", python=interpreters["current"], package="odd_agents", arguments=LOCAL,
                timeout_s=50, variables={**PATH, "ORDERS": ",".join(ORDERS)})
    places.update(odd=odd, impatient=odd.model_copy(update={"timeout_s": 3.0}),
                  sums=odd.model_copy(update={"package": "agent_sums", "arguments": NULL}))


def test_a_taskset_is_played_by_the_packages_chat_loop_with_its_tools_and_scored_by_its_rewards(begun: Begun) -> None:
    one, seen = begun("verifiers", "sums", seed=4, most=1.5)
    assert seen.messages == [{"role": "system", "content": "Be brief.\n"}, {"role": "user", "content": "2 and 2?\n"}]
    assert [tool["function"]["name"] for tool in seen.tools] == ["calculator_add"]
    call = json.dumps({"tool": "calculator_add", "arguments": {"a": 2, "b": 2}})
    assert one.step(call).observation.messages == [{"role": "tool", "content": "4\n"}]
    with closing(one.fork()) as other:
        ends = [one.step("It is surely 4"), other.step("It is surely 4")]
    assert [(end.done, end.observation.item["metrics"]) for end in ends] == [
        (True, {"turns": 2.0, "right": 1.0, "brief": 0.0})] * 2
    assert one.verify() == pytest.approx(1 / 1.5)
    wrong, _ = begun("verifiers", "sums", most=1.5)
    wrong.step("5")
    assert wrong.verify() == pytest.approx(0.5 / 1.5)
    for text, words in (("RAISE", "TaskError: task SumTask scoring: RuntimeError: the reward's own defect"),
                        ("NAN 2", "reward: found nan")):
        with pytest.raises(EpisodeFailed, match=words):
            begun("verifiers", "sums", most=1.5)[0].step(text)


def test_an_agent_that_is_a_program_takes_turns_and_what_it_does_wrong_is_no_reward(begun: Begun) -> None:
    one, seen = begun("verifiers", "odd", ORDERS.index("go on"))
    assert (seen.messages, seen.tools) == ([{"role": "user", "content": "go on\n"}], None)
    assert said(one.step("yes")) == ["and?"]
    assert (one.step("no").done, one.verify()) == (True, 1.0)
    for order, words in (("die", "HarnessError: .* exited 1: the agent's own defect"), ("picture", "no text"),
                         ("forget", "do not continue the conversation")):
        with pytest.raises(EpisodeFailed, match=words):
            begun("verifiers", "odd", ORDERS.index(order))[0].step("yes")
    with pytest.raises(WrongParams, match=r"requires image 'python:3\.11', but the subprocess runtime"):
        begun("verifiers", "odd", len(ORDERS))
    with ThreadPoolExecutor(7) as at_once:
        shown = list(at_once.map(lambda _: begun("verifiers", "odd", ORDERS.index("crowd"))[1].messages, range(7)))
    starting = [int(messages[0]["content"]) for messages in shown]
    assert max(starting) <= 4, "of a group few start at a time, and all begin"


def test_an_agent_that_stalls_costs_its_own_episode_and_a_program_that_hangs_all_of_them(
    begun: Begun, monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(verifiers_session, "_ALIVE_S", 2.0)
    beside, _ = begun("verifiers", "odd")
    stalls, seen = begun("verifiers", "impatient", ORDERS.index("stall"))
    with pytest.raises(EpisodeFailed, match="no answer within 3 s"):
        stalls.step("yes")
    assert ended(seen.messages), "the program that stalled is killed"
    assert said(beside.step("yes")) == ["and?"]
    _, open_still = begun("verifiers", "odd", ORDERS.index("stall"))
    with pytest.raises(EpisodeFailed, match="no answer within 3 s"):
        begun("verifiers", "impatient", ORDERS.index("hang"))[0].step("yes")
    with pytest.raises(EpisodeLost):
        beside.step("no")
    assert ended(open_still.messages), "agents end with the program, whatever session they are in"


def ended(messages: list[dict[str, str]]) -> bool:
    """Return whether the process that an agent names ends."""
    pid, until = messages[0]["content"].split()[-1], time.monotonic() + 120
    while os.path.exists(f"/proc/{pid}") and time.monotonic() < until:
        time.sleep(0.05)
    return not os.path.exists(f"/proc/{pid}")


CASES = [("agent_sums", NULL, "3"), ("agent_sums", {**NULL, "select": {"limit": 2}}, "2"),
         ("endless", {**NULL, "select": {"limit": 9}}, "9"), ("endless", NULL, "arguments.select.limit"),
         ("agent_sums", {}, "the harness bash, which gives its model a shell"),
         ("odd_agents", {}, "arguments.agent.runtime.type"), ("no_such", NULL, "taskset 'no_such' not found"),
         ("agent_sums", {"agent": {"turns": 3}}, "agent.turns"),
         ("agent_sums", {"id": "user-sim"}, "one agent of assistant, user"),
         ("agent_sums", {"id": "user-sim", "assistant": NULL["agent"], "user": {
             "model": "m", "client": {"type": "eval", "base_url": "http://127.0.0.1:9/v1"}}}, "3")]


def test_what_cannot_be_played_is_refused_with_the_argument(interpreters: Mapping[str, str]) -> None:
    cases = json.dumps([[package, arguments] for package, arguments, _ in CASES])
    found = json.loads(script(interpreters["current"], "loads_tasksets", cases))
    for (package, arguments, words), came in zip(CASES, found, strict=True):
        assert words in came, (package, arguments, came)
