"""Rollouts that run ahead of training: they keep to their bound and teach, and one that never ends is given up."""

import secrets
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from tests.acceptance import invariants, toy
from tests.acceptance.havoc import Havoc
from tests.acceptance.scene import Scene
from tests.acceptance.stacks import PLAIN

STEPS, PROMPTS, BOUND = 40, 16, 3
SLOW = {"type": "slowed", "grader": {"type": "exact"}, "seconds": 0.2}


@pytest.fixture(scope="module")
def scene(plain: Scene, bases: Callable[..., Path]) -> Scene:
    plain.client.upload_model("ahead-base", bases(steps=90, careless=0.5))
    return plain


def states(scene: Scene, run_id: str) -> dict[tuple[str, str | None], int]:
    """Count training groups by state and reason."""
    found = scene.rows("SELECT state, reason, count(*) AS groups FROM groups WHERE run_id = %s AND purpose = 'train' "
                       "GROUP BY 1, 2", run_id)
    return {(row["state"], row["reason"]): row["groups"] for row in found}


def values(scene: Scene, run_id: str, name: str) -> list[float]:
    return [value for _, value in scene.client.metrics(run_id).series[name]]


def test_rollouts_run_ahead_within_their_bound_and_teach(scene: Scene) -> None:
    prompts = 2 * PROMPTS
    changes: dict[str, Any] = {"max_staleness": BOUND, "batch": {"prompts": prompts, "samples": 8}}
    changes |= {"grader": {**SLOW, "seconds": 0.02}, "eval": {"prompts": 64, "every": STEPS}}
    run = scene.client.create_run(toy.spec("ahead", "ahead-base", STEPS, **changes))
    scene.finished(run.id)
    stalest = values(scene, run.id, "staleness/max")
    assert len(stalest) == STEPS
    assert 1 <= max(stalest) <= BOUND
    assert states(scene, run.id) == {("used", None): STEPS * prompts}
    rewards = values(scene, run.id, "reward/mean")
    assert fmean(rewards[-10:]) >= fmean(rewards[:10]) + 0.15
    for name in ("trainer/idle_s", "engine/idle_s", "correction/weight_mean"):
        assert values(scene, run.id, name)


def test_trained_groups_are_as_stale_as_the_metric_says(scene: Scene) -> None:
    run = scene.client.create_run(toy.spec("stale", "ahead-base", 12, grader=SLOW, max_staleness=BOUND, eval=None))
    scene.finished(run.id)
    rows = scene.rows(
        "SELECT s.n, max(s.n - 1 - g.oldest) AS stalest FROM steps s JOIN groups g ON g.id = ANY (s.group_ids) "
        "WHERE s.run_id = %s GROUP BY s.n ORDER BY s.n", run.id)
    assert [row["stalest"] for row in rows] == values(scene, run.id, "staleness/max")


def test_a_group_that_never_ends_is_waited_for_then_expires_and_training_goes_on(scene: Scene) -> None:
    grader = {**SLOW, "straggler_every": 40, "straggler_seconds": 3600}
    run = scene.client.create_run(toy.spec(
        "stragglers", "ahead-base", 20, grader=grader, max_staleness=1, group_deadline_s=4, eval=None))
    scene.finished(run.id)
    expired = states(scene, run.id)["dropped", "expired"]
    assert expired > 0
    assert states(scene, run.id)["used", None] == 20 * PROMPTS
    messages = [event.message for event in scene.client.events(run.id).data if event.kind == "expired"]
    assert "not ready within the deadline: waiting for reward: no answer yet" in messages[0]
    assert values(scene, run.id, "groups/expired")[-1] <= expired
    assert longest_pause(scene, run.id) > 2.0, "the step before the bound waited for it"


@pytest.mark.parametrize(("kills", "steps"), [(2, 80), pytest.param(8, 200, marks=pytest.mark.soak)])
def test_kills_lose_and_double_nothing(scene: Scene, kills: int, steps: int) -> None:
    run = scene.client.create_run(toy.spec("killed", "ahead-base", steps, grader=SLOW, max_staleness=BOUND, eval=None))
    havoc = Havoc(scene, run.id, steps, PLAIN.settings["lease_s"])
    seed = secrets.randbelow(2**31)
    print(f"\nseed {seed}: {havoc.random_kills(seed, kills)}, recovered in {havoc.summary()}")
    scene.finished(run.id)
    invariants.check(scene, run.id, steps, PROMPTS)
    assert max(values(scene, run.id, "staleness/max")) <= BOUND


def longest_pause(scene: Scene, run_id: str) -> float:
    commits = scene.rows("SELECT committed_at FROM steps WHERE run_id = %s ORDER BY n", run_id)
    return max((after["committed_at"] - before["committed_at"]).total_seconds() for before, after in pairwise(commits))
