"""Episodes of several turns: they teach, each of their calls and steps is stored, and kills lose none of them."""

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from benchmarks.methods.local_play import LocalPlay, chains
from hone.cli.curation import demonstrations
from hone.client.resources import Run
from hone.crashpoints import POINTS, TURN_POINTS
from hone.environments import recorded
from hone.environments.contract import Message
from hone.environments.hidden_shelf import HiddenShelf, HiddenShelfParams
from hone.environments.noise.tool_noise import FAILURES
from tests.acceptance import databases, invariants
from tests.acceptance.havoc import Havoc
from tests.acceptance.scene import Scene
from tests.acceptance.stacks import PLAIN
from tests.acceptance.stubs import forking
from tests.support import taught

LEARNED_PROMPTS, RISE = 16, 0.2
STEPS_OF_SEEDS, STEPS_OF_SOAK_SEEDS = {1: 24}, {0: 36, 2: 36}
KILLED_STEPS, SOAK_STEPS, PROMPTS = 44, 120, 8
MARKED: dict[str, Any] = {"name": "tool_loop", "params": {
    **databases.HARNESS, "spans": [{"name": "query", "start": "SELECT", "end": "WHERE", "weight": 2.0}]}}
RULED: dict[str, Any] = {
    "task": {"environment": "dialogue", "params": {
        "domain": "sales", "show_policy": False, "rules": {"length": 0.5, "repetition": 1.0}, "tokens": "characters",
        "sales": {"turns": 3}}},
    "harness": {"name": "dialogue", "params": {}}, "algorithm": "duca", "sampling": {"max_tokens": 8},
    "lr": 1e-5}  # the stage after it needs what the policy knows of databases

CURATED: dict[str, Any] = {"name": "topocurate", "params": {"every": 4, "explore": 0.25}}
FORKED: dict[str, Any] = {
    "task": {"environment": "sort_turns", "params": {"digits": 4}}, "harness": {"name": forking.NAME, "params": {}},
    "algorithm": "grpo", "sampling": {"max_tokens": 4},
    "grader": {"type": "weighted", "parts": {
        "own": {"grader": {"type": "environment"}}, "short": {"grader": {"type": "state", "expected": {"turns": "2"}}},
        "calls": {"grader": {"type": "each_call", "grader": {
            "type": "character_share", "wanted": "0123456789", "among": "0123456789=s"}}}}}}
SKILLED: dict[str, Any] = {
    "task": {"environment": "skill_points", "params": {"points": 1, "slack": 1}},
    "harness": {"name": "skills", "params": {
        "library": {"aid": ""}, "describe": False, "branches": 1, "retrieve": 0.0}},
    "algorithm": "grpo", "sampling": {"max_tokens": 4},
    "grader": {"type": "skill_use", "grader": {"type": "each_call", "grader": {
        "type": "character_share", "wanted": "aeiouEU", "among": "abcdefghijklmnopqrstuvwxyzCELSTU"}}}}
FOLDED: dict[str, Any] = {
    "task": {"environment": "phase_lock", "params": {"doors": 1, "slack": 2}},
    "harness": {"name": "folding", "params": {"describe": False}}, "algorithm": "hipif", "sampling": {"max_tokens": 4}}
MAPPED: dict[str, Any] = {
    "task": {"environment": "hidden_shelf", "params": {"places": 2, "turns": 2}},
    "harness": {"name": "map_then_act", "params": {
        "budget": 2, "window": 2, "intrinsic": 0.5, "explore": "{task}?", "signals": "", "write": "{history}"}},
    "algorithm": {"preset": "grpo", "advantage": {"name": "step_pooled"}}, "sampling": {"max_tokens": 4}, "eval": None,
    "batch": {"prompts": 2, "samples": 4},
    "stages": [{"name": "imitate", "until": 1, "task": {"dataset": "maps"}, "algorithm": "sft"}]}
LINES: dict[str, Any] = {"name": "tool_loop", "params": databases.HARNESS}
DESK: dict[str, Any] = {
    "task": {"environment": "desk", "params": {"families": ["clean", "invoices"], "distractors": 0, "turns": 3}},
    "harness": LINES, "algorithm": "grpo", "sampling": {"max_tokens": 6}, "batch": {"prompts": 2, "samples": 4},
    "eval": {"prompts": 4, "every": 1000, "noise": {"types": ["failure"], "intensity": 1}}}
REMEMBERED: dict[str, Any] = {
    "task": {"environment": "changing_user", "params": {"words": "plain", "life": {
        "variables": 2, "values": 2, "questions": 1, "required": 1, "periods": 1, "changes": 1, "rounds": 1}}},
    "harness": {"name": "remembering", "params": {
        "flush": 2, "keep": 0, "written": 1.0, "lost": 1.0, "known_text": "{known}", "write_text": "{messages}"}},
    "algorithm": {"preset": "grpo", "advantage": {"name": "step_pooled"}}, "sampling": {"max_tokens": 4},
    "batch": {"prompts": 2, "samples": 4}, "eval": {"prompts": 4, "every": 1000}}


@pytest.fixture(scope="module")
def scene(plain: Scene) -> Scene:
    plain.client.upload_model("database-base", taught.directory(databases.write_base))
    return plain


@pytest.fixture(scope="module", params=[
    *STEPS_OF_SEEDS, *(pytest.param(seed, marks=pytest.mark.soak) for seed in STEPS_OF_SOAK_SEEDS)])
def trained(scene: Scene, request: pytest.FixtureRequest) -> Run:
    """A run of a seed that has ended."""
    steps = {**STEPS_OF_SEEDS, **STEPS_OF_SOAK_SEEDS}[request.param]
    run = scene.client.create_run(databases.spec(
        f"tools-{request.param}", steps, seed=request.param, batch={"prompts": LEARNED_PROMPTS, "samples": 8},
        eval={"prompts": 48, "every": 1000, "samples": 2, "noise": {"types": ["failure", "error"], "intensity": 1}},
        optimizer={"lr": 5e-4, "schedule_params": {"warmup_steps": 10}}))
    return scene.finished(run.id, timeout_s=600)


@pytest.mark.timeout(900)
def test_a_run_with_tools_raises_its_reward(scene: Scene, trained: Run) -> None:
    found = scene.client.metrics(trained.id).series
    reward, held_out, gaps = ([value for _, value in found[name]]
                              for name in ("reward/mean", "eval/sampled", "gap/mean"))
    before, after = fmean(reward[:8]), fmean(reward[-8:])
    print(f"\n{trained.name}: reward {before:.3f} -> {after:.3f}, held out {held_out}")
    assert after >= before + RISE
    assert held_out[-1] >= held_out[0] + RISE
    assert max(gaps) < 1e-4, "the trained rows are not what was sampled"


def test_noise_is_reported_beside_its_clean_twins(scene: Scene, trained: Run) -> None:
    found = scene.client.noise(trained.id)
    clean, error, _ = found.rows
    assert (found.step, [row.noise for row in found.rows]) == (trained.step, ["", "error", "failure"])
    assert [(row.tasks, row.trials, len(row.pass_hat)) for row in found.rows] == [(48, 96, 2)] * 3
    series = scene.client.metrics(trained.id).series
    assert dict(series["eval/sampled"])[trained.step] == pytest.approx(clean.reward)
    assert dict(series["eval/noise/error"])[trained.step] == pytest.approx(error.reward)
    assert clean.injections == 0
    assert 0 < error.injections <= 1
    assert (error.drop or 0) > 0.2, "it was never trained to doubt a result"
    failed = [one for one in islice(_of_series(scene, trained, "noise/failure"), 8) if one.steps[0]["injection"]]
    assert failed, "seven of ten first calls fail"
    for one in failed:
        assert one.task["noise"]["type"] == one.steps[0]["injection"]["type"] == "failure"
        assert one.steps[0]["said"][0]["content"].strip() in FAILURES
    assert scene.client.noise(trained.id, step=1).rows == []


def _of_series(scene: Scene, run: Run, series: str) -> Iterator[Any]:
    for row in scene.client.trajectories(run.id, purpose="eval", step=run.step, limit=500).data:
        if row.series == series:
            yield scene.client.trajectory(run.id, row.group_id, row.index)


def test_each_call_and_step_of_a_run_with_tools_is_stored(scene: Scene, trained: Run) -> None:
    assert scene.one("SELECT count(*) FROM journal") == 0
    rows = scene.client.trajectories(trained.id, limit=40).data
    whole = [scene.client.trajectory(trained.id, row.group_id, row.index) for row in rows if row.status == "ok"]
    two = [one for one in whole if len(one.calls) == 2]
    assert two
    for one in two:
        check_two_calls(one)


def check_two_calls(one: Any) -> None:
    first, second = one.calls
    assert second["prompt_ids"][:len(first["prompt_ids"] + first["completion_ids"])] == [
        *first["prompt_ids"], *first["completion_ids"]], "the ids that were sampled go on"
    for call in one.calls:
        assert len(call["logp_sample"]) == len(call["completion_ids"]) == len(call["train_mask"])
        assert sum(span["tokens"] for span in call["versions"]) == len(call["completion_ids"])
    assert [step["call"] for step in one.steps] == [0, 1]
    asked = json.loads(one.steps[0]["action"])
    assert asked["tool"] == "query"
    assert one.steps[0]["said"][0]["role"] == "tool"
    assert len({step["state_hash"] for step in one.steps}) == 2
    assert (one.harness, one.ended) == ("tool_loop", "done")
    assert one.score == float(one.item["verified"])


def check_forked(scene: Scene, run: Run, step: int) -> None:
    """Check a sample that was played in forks: its tree of calls, and its grade's scores of single calls."""
    row = scene.client.trajectories(run.id, limit=1, step=step).data[0]
    one = scene.client.trajectory(run.id, row.group_id, row.index)
    assert [(call["number"], call["kind"]) for call in one.calls] == [
        ("0", "answer"), ("1.0.0", "try"), ("1.1.0", "try"), ("2", "choice")]
    assert all(set(call["scores"]) == {"score"} for call in one.calls)
    assert {grade.component for grade in one.grades} >= {"", "own", "short", "calls", "short.turns"}
    each = {"type": "each_call", "grader": {"type": "character_share", "wanted": "0", "among": "0123456789"}}
    again = scene.client.grade_again(run.id, each, limit=2, after=one.group_id - 1)
    assert scene.client.grade_again(run.id, each, limit=2, after=one.group_id - 1) == again
    found = next(graded for graded in again.data if (graded.group_id, graded.index) == (one.group_id, one.index))
    assert (found.first_score, set(found.turns)) == (one.score, {call["number"] for call in one.calls})
    assert scene.client.trajectory(run.id, one.group_id, one.index).score == one.score


def check_ruled(scene: Scene, run: Run, step: int) -> None:
    """Check a sales call: what rules gave each text, who was called with which seed, and why it ended."""
    row = scene.client.trajectories(run.id, limit=1, step=step).data[0]
    one = scene.client.trajectory(run.id, row.group_id, row.index)
    assert one.item["turn_rules"] == [step["rules"] for step in one.steps]
    assert one.item["simulator_seed"] == one.task["seed"]
    assert one.item["reason"] in {"goal", "mood", "turns", "hang_up"}
    assert {grade.component for grade in one.grades} >= {"", "conversion", "repetition", "identity"}
    assert {step["said"][0]["role"] for step in one.steps} == {"user"}


def check_skilled(scene: Scene, run: Run, step: int) -> None:
    """Check a sample with a turn that was played again in both ways: its calls, and the components of its grade."""
    row = scene.client.trajectories(run.id, limit=1, step=step).data[0]
    one = scene.client.trajectory(run.id, row.group_id, row.index)
    trunk, skip, invoke = ([call for call in one.calls if call["number"].startswith(seat)] for seat in ("", "3.", "4."))
    assert [call["kind"] for call in one.calls if "branch" in call["notes"]] == ["skip", "invoke"]
    assert (invoke[0]["text"], invoke[0]["prompt_ids"]) == ("skill: aid", skip[0]["prompt_ids"])
    assert all(logp < 0 for logp in invoke[0]["logp_sample"])
    assert [call["entropy"] > 0 for call in trunk[:3]] == [True] * 3
    assert skip[-1]["notes"]["outcome"].keys() == {"success", "steps", "late_call"}
    assert {grade.component for grade in one.grades} >= {"", "calls", "steps"}


@pytest.mark.timeout(900)
def test_a_run_imitates_curated_trajectories_of_several_turns_and_trains_on_curated_tasks(
    scene: Scene, trained: Run, tmp_path: Path,
) -> None:
    early = {"last_step": 6, "groups": 64}
    found, saved = scene.client.curation(trained.id, **early), scene.client.save_curation(trained.id, **early)
    usable = {task.task_hash for task in found.tasks if task.probability > 0}
    assert (saved.tasks, saved.usable) == (len(found.tasks), len(usable))
    rows = demonstrations(found, lambda one: scene.client.trajectory(trained.id, one.group_id, one.index).calls)
    assert {len(row["recorded_calls"]) for row in rows} == {2}
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    scene.client.upload_dataset("curated", path)
    chosen = {"name": "topocurate", "params": {"run": trained.id, "explore": 0.25}}
    own = {"name": "topocurate", "params": {"every": 2, "explore": 0.25}}
    spec = databases.spec("curated", 11, algorithm={"preset": "grpo", "sampler": own}, eval=None, stages=[
        {"name": "imitate", "until": 2, "task": {"dataset": "curated"}, "algorithm": "sft", "lr": 1e-3},
        {"name": "chosen", "until": 5, "algorithm": {"preset": "grpo", "sampler": chosen}}])
    run, again = (scene.client.create_run({**spec, "name": name}) for name in ("curated", "again"))
    assert {scene.finished(one.id).state for one in (run, again)} == {"succeeded"}
    series = scene.client.metrics(run.id).series
    assert [value > 0 for _, value in series["loss"]][:2] == [True, True], "two steps imitated"
    assert [step for step, _ in series["sampler/chosen_share"]] == list(range(3, 12))
    assert [step for step, _ in series["sampler/tasks"]] == [7, 9, 11]
    drawn = scene.rows(
        "SELECT step, task_hash, \"order\" -> 'sampled' AS sampled FROM groups WHERE run_id = %s", run.id)
    of_other = {row["task_hash"] for row in drawn if row["step"] < 6 and row["sampled"] is not None}
    assert of_other
    assert of_other <= usable
    own_versions = {row["sampled"]["version"] for row in drawn if row["step"] > 5 and row["sampled"] is not None}
    assert own_versions == {7, 9}
    assert scene.weights(run.id) == scene.weights(again.id), "whichever worker stored which samples"


@contextmanager
def disturbed(scene: Scene, steps: int) -> Iterator[Havoc]:
    """Start a run and yield its Havoc; at the end of the block, compare the run with an undisturbed one."""
    spec = databases.spec("undisturbed", steps, eval=None, batch={"prompts": PROMPTS, "samples": 4},
                          harness=MARKED, algorithm={"preset": "topocurate", "sampler": CURATED}, stages=[
                              {"name": "forked", "until": steps // 4, **FORKED},
                              {"name": "skilled", "until": steps // 3, **SKILLED},
                              {"name": "folded", "until": steps // 2, **FOLDED},
                              {"name": "ruled", "until": 2 * steps // 3, **RULED}])
    undisturbed = scene.client.create_run(spec)
    scene.finished(undisturbed.id)
    named = {"span/query", "advantage/rule/repetition", "advantage/rule/format"}
    series = scene.client.metrics(undisturbed.id).series
    assert named <= series.keys(), sorted(series)
    assert max(share for _, share in series["sampler/chosen_share"]) > 0.4, "its own rollouts chose tasks"
    check_forked(scene, undisturbed, 5)
    check_skilled(scene, undisturbed, steps // 3)
    check_ruled(scene, undisturbed, 2 * steps // 3)
    run = scene.client.create_run({**spec, "name": "disturbed"})
    havoc = Havoc(scene, run.id, steps, PLAIN.settings["lease_s"])
    yield havoc
    print(f"step {scene.committed(run.id)} of {steps} after the last blow")
    scene.finished(run.id)
    print(f"seconds to the next steps on turns: {json.dumps(havoc.summary())}")
    for each in (undisturbed, run):
        invariants.check(scene, each.id, steps, PROMPTS)
    assert scene.weights(run.id) == scene.weights(undisturbed.id)


@pytest.mark.timeout(600)
def test_kills_lose_no_session_and_the_weights_are_equal_bit_for_bit(scene: Scene) -> None:
    with disturbed(scene, KILLED_STEPS) as havoc:
        for point in TURN_POINTS["simulation"]:
            havoc.crash_at("simulation", point)
        for point in POINTS["rollout"]:
            havoc.crash_at("rollout", point)
        havoc.freeze("rollout")
        seed = secrets.randbelow(2**31)
        print(f"\nseed {seed}: {havoc.random_kills(seed, 1)}")


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_many_random_kills_lose_no_session(scene: Scene) -> None:
    seed = secrets.randbelow(2**31)
    with disturbed(scene, SOAK_STEPS) as havoc:
        print(f"\nseed {seed}: {havoc.random_kills(seed, 15)}")


def mapped_rows() -> str:
    """Conversations of a teacher who explores, writes a map and acts: rows of a dataset."""
    rows = list[list[Message]]()
    for seed in range(4):
        one = LocalPlay(HiddenShelf().episode(HiddenShelfParams(places=2), seed, None), "map_then_act",
                        MAPPED["harness"]["params"])
        play = one.playing()
        asked = next(play)
        with suppress(StopIteration):
            while True:
                done = sum(call.kind == asked.kind for call in one.calls)
                [place, *_] = solution = one.episode.solution()  # type: ignore[attr-defined]
                said = f"{place.removeprefix('go to ')} contains mug" if asked.kind == "map" else solution[done]
                asked = play.send(said)
        assert one.episode.verify() == 1.0
        rows += chains(one.calls)
    return "".join(json.dumps({"messages": row}) + "\n" for row in rows)


def test_a_world_without_a_trained_policy_still_ends_every_episode(scene: Scene, tmp_path: Path) -> None:
    (tmp_path / "maps.jsonl").write_text(mapped_rows())
    scene.client.upload_dataset("maps", tmp_path / "maps.jsonl")
    task = {"environment": "textworld", "params": {"turns": 3, "games": 40, "show_commands": False}}
    harness = {"name": "chat", "params": {"max_context": 480}}
    mapped = scene.client.create_run(databases.spec("mapped", 2, **MAPPED))
    remembered = scene.client.create_run(databases.spec("remembered", 2, **REMEMBERED))
    run = scene.client.create_run(databases.spec(
        "world", 3, task=task, harness=harness, sampling={"max_tokens": 8}, eval=None,
        batch={"prompts": 4, "samples": 4}, algorithm="rloo"))
    scene.finished(run.id)
    rows = scene.client.trajectories(run.id, limit=10).data
    whole = [scene.client.trajectory(run.id, row.group_id, row.index) for row in rows]
    assert {one.ended for one in whole} <= {"done", "max_context"}
    assert {len(one.calls) for one in whole} & {2, 3}
    assert all(step["admissible"] for one in whole for step in one.steps)
    assert {one.status for one in whole} == {"ok"}
    check_mapped(scene, mapped)
    check_remembered(scene, remembered)


def test_a_desk_trains_and_its_benchmark_examines_a_checkpoint(scene: Scene) -> None:
    run = scene.client.create_run(databases.spec("desk", 2, **DESK))
    examined = scene.client.examine("desk", "database-base", max_tokens=6, harness=LINES)
    assert scene.finished(run.id).state == "succeeded"
    series = scene.client.metrics(run.id).series
    named = {"eval/sampled/first_pass", "eval/noise/failure/tool_calls", "eval/sampled/fault.malformed"}
    assert named <= series.keys(), sorted(series)
    assert dict(series["eval/masked"])[2] == 0
    ended = scene.finished(examined.id)
    assert (ended.step, scene.rows("SELECT n FROM steps WHERE run_id = %s", examined.id)) == (0, [])
    [standing] = scene.client.leaderboard("desk").standings
    assert (standing.model, standing.complete, standing.masked) == ("database-base", True, 0)
    found = scene.client.examination("desk", examined.id)
    sample = scene.client.trajectory(examined.id, found.answers[0].group_id, 0)
    assert (sample.item["family"], sample.purpose) == (found.answers[0].family, "eval")


def check_remembered(scene: Scene, run: Run) -> None:
    """Check that a life was lived: calls of all kinds, paid writes, and the figures of the evaluation."""
    assert scene.finished(run.id).state == "succeeded"
    row = scene.client.trajectories(run.id, limit=1, step=2).data[0]
    one = scene.client.trajectory(run.id, row.group_id, row.index)
    assert (one.ended, {call["kind"] for call in one.calls}) == ("done", {"reply", "write", "probe", "diagnose"})
    writes = [call for call in one.calls if call["kind"] == "write"]
    assert all({"written", "lost"} & {*call["rules"]} and "changed" in call["notes"]["write"] for call in writes)
    series = scene.client.metrics(run.id).series
    rates = [dict(series[f"eval/sampled/{name}"])[2] for name in ("accuracy", "write", "read", "utilization")]
    assert sum(rates) == pytest.approx(1.0)
    [whole] = [one.whole for one in scene.client.memory(run.id).sources if one.whole]
    assert [one.value for one in (whole.accuracy, whole.write, whole.read, whole.utilization)] == pytest.approx(rates)
    talks = scene.client.talks(run.id)
    assert (len(talks.rows), talks.step, talks.left_out) == (whole.samples, 2, {})
    rows = scene.client.trajectories(run.id, step=2, purpose="eval").data
    held = next(row for row in rows if row.series == "sampled")
    life = scene.client.trajectory(run.id, held.group_id, held.index)
    replies = [step["action"] for step in life.steps if life.calls[step["call"]]["kind"] == "reply"]
    assert {"user_seed": life.item["user_seed"], "replies": replies} in talks.rows


def check_mapped(scene: Scene, run: Run) -> None:
    """Check a sample that explored and wrote a map before it acted: its phases, what they noted and were paid."""
    assert scene.finished(run.id).state == "succeeded"
    row = scene.client.trajectories(run.id, limit=1, step=2).data[0]
    one = scene.client.trajectory(run.id, row.group_id, row.index)
    assert [(call["number"], call["kind"]) for call in one.calls] == [
        ("0.0.0", "explore"), ("0.0.1", "explore"), ("1.0.0", "map"), ("2", "execute"), ("3", "execute")]
    signals = [call["notes"]["exploration"]["intrinsic"] for call in one.calls[:2]]
    assert [call["rules"] for call in one.calls] == [*({"intrinsic": 0.5 * value} for value in signals), {}, {}, {}]
    assert one.calls[-1]["notes"]["outcome"].items() >= {
        "success": False, "charged": False, "explored": 2, "executed": 2, "spent": 4, "turns": 2}.items()
    assert len(recorded.rows(one.calls, ["explore", "map"])) == 5, "a row of the whole sample"
    assert {"span/explore", "span/map", "advantage/rule/intrinsic"} <= scene.client.metrics(run.id).series.keys()


def test_rows_of_a_dataset_bring_their_own_databases(scene: Scene, tmp_path: Path) -> None:
    table = "CREATE TABLE items (kind TEXT);"
    rows = [{"prompt": f"how many {kind}?", "answer": str(count),
             "database": table + f"INSERT INTO items VALUES ('{kind}');" * count}
            for kind in "abcd" for count in range(1, 11)]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    scene.client.upload_dataset("own-databases", path)
    run = scene.client.create_run(databases.spec(
        "rows", 3, task={"environment": "sqlite", "dataset": "own-databases"}, eval=None))
    scene.finished(run.id)
    found = scene.client.trajectories(run.id, limit=20).data
    whole = scene.client.trajectory(run.id, found[0].group_id, found[0].index)
    assert whole.task["item"] in rows
    assert {one.status for one in found} == {"ok"}
