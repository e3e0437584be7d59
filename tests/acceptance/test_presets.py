"""Every preset that Hone offers trains through all services, and its steps read the rewards as they were graded."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hone.algorithms.presets import PRESETS, unmet
from hone.client.errors import Refused
from hone.models.checkpoint import Checkpoint
from hone.models.policy import Policy
from hone.store import objects
from hone.trajectory import parts
from hone.trajectory.microbatches import cut
from hone.trajectory.packing import sequences
from hone.trajectory.records import Call
from tests.acceptance import toy
from tests.acceptance.scene import Scene

STEPS, DIGITS = 2, 3
PARTS: dict[str, Any] = {"type": "weighted", "parts": {
    "right": {"grader": {"type": "exact"}, "weight": 3.0},
    "even": {"grader": {"type": "character_share", "wanted": "02468", "among": "0123456789"}}}}
TEACHER = {"roles": {"teacher": {"model": "teacher"}}}
HINT = {"contexts": {"privileged": [{"text": "{{ item.answer }}"}, {"text": "=", "match": "s1"}]}}
OTHER_MODELS: dict[str, dict[str, Any]] = {
    "opd": TEACHER, "aopd": {"roles": {"teacher": {"model": "teacher", "top_k": 4}}}, "scope": TEACHER,
    "sdar": HINT, "rlsd": HINT}
"""Fields of the presets that read log-probs of another model or context."""
GRADED: dict[str, dict[str, Any]] = {preset: {
    "grader": None, "task": {"environment": "sort_turns", "params": {
        "digits": DIGITS, "rules": {"length": 0.5, "compliance": 1.0, "repetition": 0.5, "right": 1.0}}}}
    for preset in ("hian", "duca")}
"""Fields of the presets that read the rewards of turn rules."""
NAMED: dict[str, dict[str, Any]] = {"trust_sql": {
    "harness": {"name": "chat", "params": {"spans": [
        {"name": ("schema", "explore")[digit % 2], "start": str(digit), "end": "=", "weight": 0.5}
        for digit in range(10)]}},
    "grader": {"type": "weighted", "parts": {"exec": PARTS["parts"]["right"], "fmt": PARTS["parts"]["even"],
                                             "schema": PARTS["parts"]["even"]}}},
    "heavyskill": {
        "harness": {"name": "heavy", "params": {"attempts": 2, "deliberations": 2, "block": "{text},",
                                                "prompt": "{attempts}{question}", "merge": False}},
        "grader": {"type": "each_call", "kinds": ["attempt", "deliberate"],
                   "grader": PARTS["parts"]["even"]["grader"]}},
    "skill1": {  # the toy's lessons are digits, and each skill is a candidate
        "task": {"environment": "sort_turns", "params": {"digits": 2, "slack": 6}}, "sampling": {"max_tokens": 1},
        "harness": {"name": "library", "params": {
            "least": 0.0, "syntax": "plain", "shortest": 1, "query": "{task}", "rerank": "{skills}{task}",
            "use": "{skill}{task}", "distill": "{task}{episode}"}},
        "grader": {"type": "skill_credit", "penalty": 0.1}},
    "selskill": {  # the toy calls no skill itself: what is retrieved is a digit, which may be the right one
        "task": {"environment": "sort_turns", "params": {"digits": 2, "slack": 6}}, "sampling": {"max_tokens": 1},
        "harness": {"name": "skills", "params": {"library": {"0": ""}, "describe": False, "retrieve": 0.0}},
        "grader": {"type": "skill_use"}}}
"""Fields of the presets that read named spans, parts of a reward, or kinds of calls."""
FROM_DATASETS = {"sft", "dpo", "internalization"}  # the first is test_learning's
RUNNABLE = sorted(name for name in PRESETS if unmet(name) is None and name not in FROM_DATASETS)


@pytest.fixture(scope="module")
def teacher(bases: Callable[..., Path]) -> Path:
    return bases(steps=60, seed=1, hidden=96)


@pytest.fixture(scope="module")
def scene(plain: Scene, bases: Callable[..., Path], teacher: Path) -> Scene:
    plain.client.upload_model("presets-base", bases(steps=40, careless=0.5))
    plain.client.upload_model("teacher", teacher)
    return plain


def spec(preset: str) -> dict[str, Any]:
    # The toy may have too few groups to choose among: nothing is filtered.
    return toy.spec(preset, "presets-base", STEPS, **{
        "task": {"environment": "sort_digits", "params": {"digits": DIGITS}}, "grader": PARTS, "eval": None,
        "algorithm": {"preset": preset, "filter": {"name": "none"}}, "batch": {"prompts": 4, "samples": 4},
        "sampling": {"max_tokens": DIGITS + 2}, **OTHER_MODELS.get(preset, {}),
        **GRADED.get(preset, {}), **NAMED.get(preset, {})})


@pytest.fixture(scope="module")
def started(scene: Scene) -> dict[str, str | Refused]:
    """The run of each preset. They train beside each other: a short run mostly waits for its next message."""
    def start(name: str) -> str | Refused:
        try:
            return scene.client.create_run(spec(name)).id
        except Refused as refused:
            return refused

    return {name: start(name) for name in RUNNABLE}


@pytest.mark.parametrize("name", RUNNABLE)
def test_a_preset_trains(scene: Scene, started: dict[str, str | Refused], name: str) -> None:
    run_id = started[name]
    assert isinstance(run_id, str), run_id
    scene.finished(run_id, timeout_s=180)
    assert scene.committed(run_id) == STEPS
    assert len(set(scene.weights(run_id))) == STEPS + 1, "each step moved the weights"


def test_a_step_reads_the_parts_of_a_reward_as_they_were_graded(scene: Scene) -> None:
    run = scene.client.create_run(spec("gdpo"))
    scene.finished(run.id, timeout_s=60)
    plans = scene.rows("SELECT plan FROM steps WHERE run_id = %s", run.id)
    read = {(group["group_id"], index): parts for row in plans for group in row["plan"]["groups"]
            for index, parts in enumerate(group["components"])}
    graded = scene.rows(
        "SELECT group_id, index, jsonb_object_agg(component, value) AS parts FROM grades "
        "WHERE run_id = %s AND component <> '' GROUP BY group_id, index", run.id)
    assert len(read) == STEPS * 4 * 4
    assert read == {(row["group_id"], row["index"]): row["parts"] for row in graded}
    whole = scene.rows("SELECT group_id, index, value FROM grades WHERE run_id = %s AND component = ''", run.id)
    for row in whole:
        parts = read[row["group_id"], row["index"]]
        assert row["value"] == pytest.approx((3 * parts["right"] + parts["even"]) / 4)


def calls(scene: Scene, run_id: str) -> list[Call]:
    """Return every call of a run's training groups."""
    store = objects.connect(scene.stack.record().objects_url)
    found = scene.rows("SELECT DISTINCT unnest(g.parts) AS part FROM groups g WHERE run_id = %s", run_id)
    return [call for row in found for one in parts.decode(store.get(row["part"])) for call in one.calls]


def test_pairs_name_the_calls_that_they_compare_and_every_branch_is_accounted_for(
    scene: Scene, started: dict[str, str | Refused]
) -> None:
    run_id = started["selskill"]
    assert isinstance(run_id, str), run_id
    scene.finished(run_id, timeout_s=180)
    items = scene.rows("SELECT version, body FROM collection_items WHERE run_id = %s AND name = 'pairs'", run_id)
    assert {row["version"] for row in items} == {1, 2}, "each step has pairs"
    made = calls(scene, run_id)
    named = {number for row in items for side in ("chosen", "rejected") for number in row["body"][side]["calls"]}
    assert named <= {call.number for call in made}
    assert all(call.entropy is not None for call in made if call.number == "0")
    series = scene.client.metrics(run_id).series
    branched = sum(call.kind == "invoke" for call in made)
    assert branched == sum(value for name, points in series.items() for _, value in points
                           if name == "pairs/step" or name.startswith("pairs/discarded/")) > 0


def test_skills_that_a_step_distilled_are_read_in_the_next(scene: Scene, started: dict[str, str | Refused]) -> None:
    run_id = started["skill1"]
    assert isinstance(run_id, str), run_id
    scene.finished(run_id, timeout_s=180)
    items = scene.rows("SELECT version || '.' || place AS id, version, body FROM collection_items "
                       "WHERE run_id = %s AND name = 'library'", run_id)
    first = {row["id"] for row in items if row["version"] == 1 and "skill" in row["body"]}
    made = calls(scene, run_id)
    read = {one["id"] for call in made for one in call.notes.get("retrieved", [])}
    assert read <= first, "what the second step read was distilled in the first"
    assert {row["body"]["used"] for row in items if "used" in row["body"]} <= read
    assert {call.kind for call in made} == {"query", "rerank", "play", "distill"}


def test_stored_logprobs_of_a_teacher_are_those_of_its_weights(scene: Scene, teacher: Path) -> None:
    run = scene.client.create_run(spec("aopd"))
    scene.finished(run.id, timeout_s=60)
    checkpoint = Checkpoint.from_files({path.name: path.read_bytes() for path in teacher.iterdir()})
    policy = Policy(checkpoint.architecture, checkpoint.tensors)
    stored = calls(scene, run.id)
    assert len(stored) == STEPS * 4 * 4
    for call in stored:
        [word] = call.scored
        assert word.version_id == scene.one("SELECT id FROM versions WHERE model_id = %s", run.roles["teacher"])
        logp, top_ids, top_logp = judged(policy, [*call.prompt_ids, *call.completion_ids], len(call.completion_ids))
        torch.testing.assert_close(torch.tensor(word.logp), logp, atol=1e-3, rtol=0)
        torch.testing.assert_close(torch.tensor(word.top_logp), top_logp.flatten(), atol=1e-3, rtol=0)
        assert word.top_ids == top_ids.flatten().tolist()
    assert scene.rows("SELECT 1 FROM models WHERE id = %s AND snapshot IS NOT NULL", run.roles["teacher"]) == []


def judged(policy: Policy, ids: list[int], last: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the log-probs of the `last` ids, and the four likeliest ids at each of them with their log-probs."""
    [micro] = cut(sequences([ids]), np.ones(1, np.bool_), 4096)
    with torch.no_grad():
        logp, _, top_ids, top_logp = policy(micro, top_k=4)
    return logp[-last:], top_ids[-last:], top_logp[-last:]


def test_rollouts_go_where_outcomes_vary_and_add_up_to_the_steps(scene: Scene) -> None:
    asked = spec("grpo")
    asked["algorithm"]["allocation"] = {"name": "dynamo", "params": {"n_min": 2, "n_max": 8}}
    asked["task"] = {"environment": "sort_digits", "params": {"digits": 2}}  # few prompts: they come again
    run = scene.client.create_run({**asked, "steps": 6, "batch": {"prompts": 16, "samples": 4}})
    scene.finished(run.id, timeout_s=60)
    groups = scene.rows("SELECT step, (g.order ->> 'n')::int AS n FROM groups g "
                        "WHERE run_id = %s AND purpose = 'train'", run.id)
    for step in range(1, 7):
        assert sum(row["n"] for row in groups if row["step"] == step) == 64
    assert {row["n"] for row in groups if row["step"] <= 2} == {4}
    assert len({row["n"] for row in groups}) > 1


def test_steps_grow_where_their_schedule_says(scene: Scene) -> None:
    schedule = {"name": "late_switch", "params": {"small": 2, "fraction": 0.5}, "budget": 8}
    run = scene.client.create_run({**spec("grpo"), "steps": 3, "batch": {"schedule": schedule, "samples": 4}})
    scene.finished(run.id, timeout_s=60)
    sizes = scene.rows("SELECT cardinality(group_ids) AS groups FROM steps WHERE run_id = %s ORDER BY n", run.id)
    assert [row["groups"] for row in sizes] == [2, 2, 4]
    [event] = scene.rows("SELECT step, message FROM events WHERE run_id = %s AND kind = 'batch_size'", run.id)
    assert event == {"step": 3, "message": "4 groups a step from here on, 2 before"}


def test_dpo_prefers_chosen_completions_more_and_more(scene: Scene) -> None:
    numbers = [f"{number * 37 % 1000:03}" for number in range(64)]
    rows = [{"prompt": f"s{number}=", "chosen": "".join(sorted(number)), "rejected": "910"} for number in numbers]
    scene.client.upload_dataset("preferences", "".join(json.dumps(row) + "\n" for row in rows).encode())
    run = scene.client.create_run(toy.spec("dpo", "presets-base", 6, **{
        "task": {"dataset": "preferences"}, "algorithm": "dpo", "batch": {"prompts": 32}, "eval": None,
        "optimizer": {"lr": 1e-3}}))
    scene.finished(run.id, timeout_s=60)
    loss = [row["value"] for row in scene.rows(
        "SELECT value FROM metrics WHERE run_id = %s AND name = 'advantage/pair_loss' ORDER BY step", run.id)]
    assert loss[0] == pytest.approx(math.log(2), abs=1e-6)
    assert loss[-1] < loss[0] - 0.05


def test_internalization_learns_accepted_completions_and_measures_its_drift(scene: Scene) -> None:
    numbers = [f"{number * 37 % 1000:03}" for number in range(64)]
    rows = [{"prompt": f"s{number}=", "completion": "".join(sorted(number))} for number in numbers]
    scene.client.upload_dataset("accepted", "".join(json.dumps(row) + "\n" for row in rows).encode())
    run = scene.client.create_run(toy.spec("internalization", "presets-base", 6, **{
        "task": {"dataset": "accepted"}, "algorithm": "internalization", "batch": {"prompts": 32}, "eval": None,
        "optimizer": {"lr": 1e-3}}))
    scene.finished(run.id, timeout_s=60)
    series = scene.client.metrics(run.id).series
    likelihood, drift = ([value for _, value in series[name]] for name in ("loss/term", "regularizers/kl.0/mean"))
    assert likelihood[-1] < likelihood[0] - 0.05
    assert drift[0] == 0 < drift[-1]


@pytest.mark.parametrize("name", sorted(set(PRESETS) - set(RUNNABLE) - FROM_DATASETS))
def test_a_preset_that_needs_more_is_refused_with_what_it_needs(scene: Scene, name: str) -> None:
    with pytest.raises(Refused, match=unmet(name)):
        scene.client.create_run(spec(name))
