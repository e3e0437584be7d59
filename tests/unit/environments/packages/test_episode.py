"""A package's task is scored by the state that is left, and its tools' faults are not the policy's."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from hone.environments import tasks
from hone.environments.catalogue import ENVIRONMENTS
from hone.environments.contract import EpisodeLost, EpisodeOver, WrongParams
from hone.environments.packages.environment import PackagedWorld
from hone.environments.packages.episode import PackageEpisode
from hone.environments.packages.local_runner import LocalRunner
from hone.environments.packages.package import PackageTask
from hone.environments.packages.state_check import Mismatch, mismatches
from hone.environments.tasks import episode, from_proto, make, to_proto
from hone.environments.tools import ToolCall
from tests.unit.environments.packages.shop import INITIAL, MANIFEST, TASK, TRUTH, OneShelf, shop

FIND = ToolCall("find_order", {"email": "ada@mail.org"}).action()
CANCEL = ToolCall("cancel_order", {"order_id": "W1"}).action()
BROKEN = MANIFEST.model_copy(update={"tools": [*MANIFEST.tools, MANIFEST.tools[0].model_copy(
    update={"name": "broken", "parameters": {}, "required": []})]})


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> Iterator[OneShelf]:
    world, found = PackagedWorld(), OneShelf(shop(manifest=BROKEN))
    world.shelf = found
    monkeypatch.setitem(ENVIRONMENTS, "package", world)
    tasks._maker.cache_clear()
    yield found
    tasks._maker.cache_clear()


def started(**params: Any) -> Any:
    made = episode(make("package", {"package": "shop", **params}, 0))
    made.reset()
    return made


def said(taken: Any) -> str:
    return str(taken.observation.messages[-1]["content"]).strip()


@pytest.mark.usefixtures("shelf")
def test_the_chain_scores_one_and_nothing_scores_zero() -> None:
    made = started()
    assert made.verify() == 0.0
    found, cancelled = made.step(FIND), made.step(CANCEL)
    assert (said(found), found.effect, cancelled.effect) == ('{"order_ids": ["W1"]}', False, True)
    assert (made.verify(), made.mismatches()) == (0.0, [])
    done = made.step("It is Cancelled.")
    assert (done.done, made.verify(), done.observation.item["verified"]) == (True, 1.0, 1.0)
    with pytest.raises(EpisodeOver):
        made.step(FIND)


@pytest.mark.usefixtures("shelf")
def test_wrong_calls_and_broken_tools_change_nothing_and_say_so() -> None:
    made = started()
    for call, message, valid in (
            (ToolCall("steal", {}), "error: no tool steal; there are find_order, cancel_order, broken", False),
            (ToolCall("cancel_order", {"order": "W1"}), "error: arguments: ", False),
            (ToolCall("cancel_order", {"order_id": 7}), 'error: order_id: 7 is not of type "string"', False),
            (ToolCall("cancel_order", {"order_id": "W9"}), "error: there is no such order", True),
            (ToolCall("broken", {}), "error: the tool failed: KeyError: 'nothing'", False)):
        taken = made.step(call.action())
        assert said(taken).startswith(message)
        assert (taken.valid, taken.effect) == (valid, False)
    assert taken.observation.item["tool_failures"] == 1
    assert made.snapshot()["tables"] == INITIAL


def test_a_sandbox_that_is_away_loses_the_episode_and_no_step_of_it(shelf: OneShelf) -> None:
    made = started()
    shelf.lost = True
    with pytest.raises(EpisodeLost, match="the sandbox: it is away"):
        made.step(CANCEL)
    shelf.lost = False
    assert made.step(CANCEL).effect


@pytest.mark.usefixtures("shelf")
def test_an_episode_is_the_same_from_a_snapshot_a_fork_and_a_message() -> None:
    task = make("package", {"package": "shop"}, 5)
    assert from_proto(to_proto(task)) == task
    made, other = started(), started()
    made.step(CANCEL)
    other.restore(json.loads(json.dumps(made.snapshot())))
    forked = made.fork()
    hashes = {one.step(FIND).observation.state_hash for one in (made, other, forked)}
    assert len(hashes) == 1
    made.step("x")
    assert not forked.snapshot()["answer"]


@pytest.mark.usefixtures("shelf")
def test_what_is_not_there_is_named() -> None:
    with pytest.raises(WrongParams, match=r"params.package: found 'bank'"):
        started(package="bank")
    with pytest.raises(WrongParams, match=r"params.difficulties: found \[7\], expected some of \[1\]"):
        started(difficulties=[7])
    with pytest.raises(WrongParams, match="a process that plays packages"):
        PackagedWorld().messages(PackagedWorld.params(package="shop"), 0, None)


def test_a_generated_id_is_exempt_and_every_other_cell_counts() -> None:
    refunds = {"ref_9_9": {**TRUTH["refunds"]["ref_1_1"], "refund_id": "ref_9_9"}}
    assert mismatches(MANIFEST, {**TRUTH, "refunds": refunds}, TRUTH) == []
    [wrong] = mismatches(MANIFEST, {**TRUTH, "orders": {
        **TRUTH["orders"], "W2": {**TRUTH["orders"]["W2"], "total": 8.0}}}, TRUTH)
    assert wrong == Mismatch("orders", "W2", "total", "hard", 7.0, 8.0)
    missing, added = mismatches(MANIFEST, {**TRUTH, "refunds": {"ref": {**refunds["ref_9_9"], "amount": 1.0}}}, TRUTH)
    assert (missing.kind, added.kind) == ("missing", "added")
    assert mismatches(MANIFEST, INITIAL, TRUTH)[0].column == "status"


def test_a_task_may_offer_few_tools() -> None:
    few = PackageTask(**{**TASK.model_dump(), "tools": ["find_order"]})
    made = replace(shop(), tasks=[few])

    one = PackageEpisode(made, few, LocalRunner(), 5)
    assert [tool["function"]["name"] for tool in one.reset().tools or []] == ["find_order"]
    assert said(one.step(CANCEL)).startswith("error: no tool cancel_order")


@pytest.mark.parametrize("wrong", [
    {"tables": []}, {"tables": {"orders": 5}}, {"step": "x"}, {"step": True}, {"step": -1}, {"failures": None},
    {"answer": 5}, {"tables": {"orders": {"W1": {"email": "\ud800"}}}}])
def test_a_snapshot_of_another_form_is_refused(shelf: OneShelf, wrong: dict[str, Any]) -> None:
    one = episode(make("package", {"package": shelf.held.digest}, 0))
    with pytest.raises(ValueError, match="expected tables, counts and an answer"):
        one.restore({**one.snapshot(), **wrong})
