"""Three sources together and one after the other: the specs, and the page that is made of their matrices."""

from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.through_services import transfer, trios, worlds
from hone.environments import streams
from hone.environments.tasks import episode
from hone.harnesses.tool_loop import ToolLoopParams, actions
from hone.resolution import resolve, sources
from hone.resolution.stages import stages
from hone.spec.run import RunSpec
from services.gateway import matrices


def ordered(name: str) -> dict[str, RunSpec]:
    arms = trios.TRIOS[name].arms()
    return {arm: resolve({**spec, "name": arm, "model": {"base": "b"}}) for arm, spec in arms.items()}


@pytest.mark.parametrize("name", trios.TRIOS)
def test_arms_have_equal_steps_and_are_evaluated_on_every_source(name: str) -> None:
    arms, trio = ordered(name), trios.TRIOS[name]
    assert {spec.steps for spec in arms.values()} == {trio.steps}
    for spec in arms.values():
        assert [one.name for one in sources.held_out(spec)] == list(trio.sources)
    for order in trio.orders:
        assert [stage.name for stage in stages(arms[", ".join(order)])] == list(order)
    assert len(stages(arms["joint"])) == 1
    assert resolve({**trio.teaching(), "model": {"base": "b"}}).steps == trio.taught["steps"]


@pytest.mark.parametrize(("shown", "tasks"), [
    (worlds.asked, worlds.SQL), (worlds.played, worlds.GAME), (worlds.added, worlds.SUMS)])
def test_a_teacher_who_never_errs_solves_every_task(shown: Callable[..., Any], tasks: dict[str, Any]) -> None:
    rows, drawn = list(shown(6, careless=0.0)), streams.draw(tasks["environment"], tasks["params"], "train", 0, 0, 6)
    for row, task in zip(rows, drawn, strict=True):
        world = episode(task)
        asked = world.reset()
        assert row["prompt"] == asked.messages[0]["content"]
        for said in row["completion"].split("<eos>"):
            command = said.rpartition("\n")[2]
            [action] = actions(ToolLoopParams.model_validate(worlds.SYNTAX), command, asked.tools or []) or [command]
            world.step(action)
        graded = world.verify()
        assert graded == 1 or row["completion"] == asked.item.get("answer")
    assert "query: SELECT " in worlds.policy({"shown": rows})["symbols"]


def test_the_page_shows_each_arm_with_what_its_stages_trained() -> None:
    arms = {}
    for arm, spec in ordered("sorting").items():
        rows = [{"step": step, "source": name, "tasks": ["a", "b"], "scores": [0.25, 0.25 + step / 90]}
                for step in matrices.steps(spec) for name in ("four", "five", "even")]
        found = matrices.make("run_1", spec, "sampled", rows)
        arms[arm] = {"spec": {}, "raw": [{"seed": 0, "matrix": found.model_dump(mode="json")}]}
    kept = {"date": "2026-01-01", "command": "python -m x", "machine": {"cores": 2, "cpu": "a CPU"}, "arms": arms}
    page = transfer.page({"sorting": kept})
    assert "| joint | 0.500 (0.500 to 0.500) |" in page
    assert "| four | 0.333* | 0.333 | 0.333 | (+0.083 +0.000…+0.167) |" in page
    assert "Backward transfer (+0.125 +0.000…+0.250)" in page
    assert "### even, five, four" in page
    assert "Not measured yet." in page
