"""The advantages that the gateway computes again are the trainer's, bit for bit."""

import asyncio
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hone.algorithms.slots import SLOTS
from hone.store.objects.directory import Directory
from hone.trajectory import parts
from hone.trajectory.packing import pack
from hone.trajectory.plan import StepPlan
from hone.trajectory.records import Trajectory
from services.gateway import advantages
from services.gateway.advantages import SampleAdvantages, of_sample
from services.learner.trainer.reference_pass import BeforeUpdate
from services.learner.trainer.step_weights import compute_step_weights
from tests.unit.trajectory.samples import call, plan, random_episodes, trajectory, with_proposals

PART = "runs/run_1/parts/{}.parquet"
KNOWN = ["none", "grpo", "dr_grpo", "rloo", "reinforce", "reinforce_pp", "reinforce_pp_baseline", "gdpo", "gigpo",
         "step_pooled", "hian", "dual_track", "rdpo"]
TRACKS = {"dual_track": ", the sum of its tracks full + 0.25 schema"}


def stored(tmp_path: Path, made: StepPlan, samples: list[Trajectory]) -> tuple[Directory, StepPlan]:
    """Return a store with a part for each group, and the plan that names them."""
    objects = Directory(str(tmp_path))
    for group in made.groups:
        own = [one for one in samples if one.group_id == group.group_id]
        objects.put(PART.format(group.group_id), parts.encode(own))
    groups = [one.model_copy(update={"parts": [PART.format(one.group_id)]}) for one in made.groups]
    return objects, made.model_copy(update={"groups": groups, "parts": [PART.format(one.group_id) for one in groups]})


def episodes(name: str, **params: Any) -> tuple[StepPlan, list[Trajectory]]:
    """Return a step of episodes, one of them masked, one with a call of another role, and tokens that do not train."""
    algorithm = {"advantage": {"name": name, "params": params}}
    made, samples = random_episodes(seed=5, algorithm=algorithm)
    made = with_proposals(made) if name == "dual_track" else made
    masked = made.groups[1].model_copy(update={"rewards": [None, *made.groups[1].rewards[1:]]})
    made = made.model_copy(update={"groups": [made.groups[0], masked, *made.groups[2:]]})
    first = samples[0]
    other = replace(call([1], [2, 3]), index=len(first.calls), role="judge", train_mask=[True, True])
    opening = replace(first.calls[0], train_mask=[False, *first.calls[0].train_mask[1:]])
    return made, [replace(first, calls=[opening, *first.calls[1:], other]), *samples[1:]]


@pytest.mark.parametrize("name", KNOWN)
def test_every_token_has_what_the_trainer_gave_it(tmp_path: Path, name: str) -> None:
    made, samples = episodes(name)
    objects, made = stored(tmp_path, made, samples)
    batch = pack(made, samples)
    terms = compute_step_weights(batch, made, BeforeUpdate(), {}).terms
    weight = {"schema": 0.25}
    trained = np.sum([weight.get(one.name, 1.0) * one.advantage.numpy() for one in terms], axis=0)
    assert made.groups[1].rewards[0] is None
    assert (made.groups[1].request_no, 0) not in batch.keys
    for (group, index), first, tokens in zip(batch.keys, batch.offsets, batch.tokens, strict=True):
        found = of_sample(objects, made, group, index)
        assert found.note == f"by {name}{TRACKS.get(name, '')}"
        rounding = 0.0 if len(terms) == 1 else 1e-6  # the sum of tracks; each by itself is a float32
        np.testing.assert_allclose(np.array(found.tokens, np.float32), trained[first:first + tokens], rounding)


def test_a_token_has_its_own_where_it_stands_in_its_call(tmp_path: Path) -> None:
    made, samples = episodes("step_pooled")
    objects, made = stored(tmp_path, made, samples)
    found = of_sample(objects, made, 0, 0)
    calls = list(found.of_calls([asdict(one) for one in samples[0].calls]))
    known = [[one is not None for one in own] for own in calls]
    assert known == [one.train_mask if one.role == "policy" else [False] * 2 for one in samples[0].calls]
    assert [one for own in calls for one in own if one is not None] == found.tokens
    assert any(of_sample(objects, made, one.group_id, one.index).whole is None for one in samples[4:])


@pytest.mark.parametrize(("name", "rewards", "index", "expected"), [
    ("dr_grpo", [1.0, 0.0, 0.5], 0, 0.5), ("dr_grpo", [1.0, None, 0.0], 2, -0.5), ("rloo", [1.0, 0.0], 0, 1.0),
    ("grpo", [1.0, 1.0], 0, 0.0), ("none", [0.0], 0, 1.0),
])
def test_what_is_compared_within_a_group_reads_its_parts_alone(
    tmp_path: Path, name: str, rewards: list[float | None], index: int, expected: float,
) -> None:
    objects, made = answers(tmp_path, {1: rewards, 2: [1.0, 0.0]}, name)
    objects.delete([PART.format(2)])
    found = of_sample(objects, made, 1, index)
    assert (found.whole, found.tokens, found.note) == (expected, [expected] * 2, f"by {name}")


def test_what_compares_the_batch_says_when_a_part_is_gone(tmp_path: Path) -> None:
    objects, made = answers(tmp_path, {1: [1.0, 0.0], 2: [1.0, 0.0]}, "reinforce_pp")
    assert of_sample(objects, made, 1, 0).tokens
    objects.delete([PART.format(2)])
    assert of_sample(objects, made, 1, 0) == SampleAdvantages(
        None, f"reinforce_pp compares with samples that are not stored any more: {PART.format(2)}")


def test_a_group_of_one_is_compared_with_its_baseline(tmp_path: Path) -> None:
    objects, made = answers(tmp_path, {1: [1.0]}, "rloo")
    made = made.model_copy(update={"groups": [made.groups[0].model_copy(update={"baseline": 0.25})]})
    assert asyncio.run(advantages.read(objects, made, 1, 0)).whole == 0.75


@pytest.mark.parametrize(("name", "params", "reason"), [
    ("gae", {}, "gae reads the critic's values, which"), ("opd", {}, "opd reads the policy's log-probs before the"),
    ("reinforce_pp", {"beta": 0.1}, "reinforce_pp reads the reference's log-probs, which"),
    ("reinforce", {"baseline": "running_mean"}, "reinforce reads state of earlier steps"),
])
def test_what_only_the_trainer_knew_is_named(tmp_path: Path, name: str, params: dict[str, Any], reason: str) -> None:
    objects, made = answers(tmp_path, {1: [1.0, 0.0]}, "grpo", n=2)
    slots = {**made.slots, "advantage": {"name": name, "params": params}}
    found = of_sample(objects, made.model_copy(update={"slots": slots}), 1, 0)
    assert found.tokens is None
    assert found.note.startswith(reason)
    assert [*found.of_calls([{"role": "policy", "train_mask": [True]}])] == [[]]


@pytest.mark.parametrize("name", KNOWN)
def test_what_depends_on_earlier_steps_says_that_it_remembers(name: str) -> None:
    made, samples = episodes(name)
    states: dict[str, Any] = {}
    first = compute_step_weights(pack(made, samples), made, BeforeUpdate(), states).terms
    before = made.model_copy(update={"groups": [one.model_copy(update={"components": [
        {part: paid * (9 if part == "fmt" else 1) for part, paid in own.items()} for own in one.components]})
        for one in made.groups]})
    compute_step_weights(pack(before, samples), before, BeforeUpdate(), states)
    again = compute_step_weights(pack(made, samples), made, BeforeUpdate(), states).terms
    same = all(bool((one.advantage == two.advantage).all()) for one, two in zip(first, again, strict=True))
    params = SLOTS["advantage"][name].model_validate(made.slots["advantage"]["params"])
    assert same is not params.remembers()


def test_samples_without_one_say_why(tmp_path: Path) -> None:
    objects, made = answers(tmp_path, {1: [1.0, None, 0.0]}, "dr_grpo")
    assert of_sample(objects, made, 1, 1) == SampleAdvantages(None, "the sample was masked")
    dropping = made.model_copy(update={"slots": {**made.slots, "truncated": "drop"}})
    assert "cut off" in of_sample(objects, dropping, 1, 2).note
    unknown = made.model_copy(update={"slots": {**made.slots, "advantage": {"name": "older", "params": {}}}})
    assert of_sample(objects, unknown, 1, 0).note == "this release has no estimator older"


def test_a_step_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    objects, made = answers(tmp_path, {1: [1.0, 0.0], 2: [1.0, 0.0]}, "reinforce_pp")
    monkeypatch.setattr(advantages, "MOST_BYTES", parts.unpacked_bytes(objects.get(PART.format(1))) + 1)
    found = of_sample(objects, made, 1, 0)
    assert found.tokens is None
    assert "more than 0 MiB" in found.note


def test_the_advantage_is_that_of_the_estimator_before_the_modulation(tmp_path: Path) -> None:
    objects, made = answers(tmp_path, {1: [1.0, 0.0]}, "dr_grpo")
    changed = made.model_copy(update={"slots": {**made.slots, "modulation": {"name": "dynamo", "params": {}}}})
    assert of_sample(objects, changed, 1, 0).note == "by dr_grpo, before dynamo changed it"


def answers(
    tmp_path: Path, rewards: dict[int, list[float | None]], name: str, **changes: Any,
) -> tuple[Directory, StepPlan]:
    """Return a stored step of answers of two tokens; the last sample of each group was cut off."""
    made = plan(rewards, {"advantage": {"name": name}}, **changes)
    samples = [trajectory(group, index, call([1], [2, 3], finish_reason="length" if index + 1 == len(own) else "stop"))
               for group, own in rewards.items() for index in range(len(own))]
    return stored(tmp_path, made, samples)
