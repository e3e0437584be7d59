"""Self-verify through all services: steps on answers and on judgements alternate, and kills change no bit."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hone.trajectory.records import Call, Trajectory
from tests.acceptance import toy
from tests.acceptance.scene import Scene, wait_for

DIGITS, PROMPTS, SAMPLES, INTERVAL, STEPS = 3, 8, 4, 2, 8
WORDING = {"template": "{question}{judged}?", "verdict": "word", "yes_text": "+", "no_text": "-", "cap": 1.0}
KINDS = ["generate", "generate", "verify"] * 2 + ["generate", "generate"]


class Examiner(toy.Teacher):
    """Writes judgements of answers as every other demonstration; one judgement in four is wrong."""

    def demonstrations(self, first: int, count: int) -> list[Trajectory]:
        solved = super().demonstrations(first, count)
        return [one if place % 2 else self._judged(one) for place, one in enumerate(solved)]

    def _judged(self, one: Trajectory) -> Trajectory:
        chance = random.Random(f"judge {self.seed} {one.request_no}")
        call, right = one.calls[0], chance.random() < 0.5
        answer = call.text if right else f"{chance.randrange(1000):03}"
        prompt = self.tokenizer.decode(call.prompt_ids) + answer + "?"
        said = "+" if right == (chance.random() < 0.75) else "-"
        ids = [*self.tokenizer.encode(said), self.tokenizer.eos_id]
        asked = self.tokenizer.prompt_ids([{"role": "user", "content": prompt}])
        return replace(one, calls=[Call(0, asked, ids, [], "stop", [], said, [True] * len(ids))])


@pytest.fixture(scope="module")
def scene(plain: Scene, bases: Callable[..., Path]) -> Scene:
    plain.client.upload_model("judging-base", bases(digits=DIGITS, steps=40, careless=0.5, taught_by=Examiner))
    return plain


VOTED = {"name": "voted", **toy.SOURCE, "harness": {"name": "verified_vote", "params": {
    "n": 5, "m": 3, **{name: value for name, value in WORDING.items() if name != "cap"}}},
    "grader": {"type": "each_call", "grader": {"type": "exact"}, "kinds": ["answer", "chosen"], "decide": ["chosen"]}}


def spec(name: str, steps: int = STEPS, **params: Any) -> dict[str, Any]:
    builder = {"name": "self_verify", "params": {**WORDING, "interval": INTERVAL, **params}}
    return toy.spec(name, "judging-base", steps, **{
        "algorithm": {"preset": "self_verify", "builder": builder}, "batch": {"prompts": PROMPTS, "samples": SAMPLES},
        "eval": None})


def kinds(scene: Scene, run_id: str) -> list[str]:
    return [row["kind"] for row in scene.rows(
        "SELECT plan ->> 'kind' AS kind FROM steps WHERE run_id = %s ORDER BY n", run_id)]


def test_answers_and_verdicts_are_trained_in_turn_and_kills_change_no_bit(scene: Scene) -> None:
    run = scene.client.create_run(spec("undisturbed"))
    scene.finished(run.id, timeout_s=180)
    assert kinds(scene, run.id) == KINDS
    assert len(set(scene.weights(run.id))) == STEPS + 1, "each step moved the weights"
    check_judgements(scene, run.id)
    check_curves(scene.client.metrics(run.id).series)
    disturbed = scene.client.create_run(spec("disturbed"))
    for step, processes in ((1, ["driver-0"]), (2, ["rollout-0", "rollout-1"]), (5, ["driver-0"])):
        wait_for(f"step {step}", partial(has_committed, scene, disturbed.id, step), 60)
        for process in processes:
            scene.stack.kill(process)
    scene.finished(disturbed.id, timeout_s=120)
    assert scene.weights(disturbed.id) == scene.weights(run.id)


def has_committed(scene: Scene, run_id: str, step: int) -> bool:
    return scene.committed(run_id) >= step


def check_judgements(scene: Scene, run_id: str) -> None:
    """Raise AssertionError unless verdicts are about the run's own graded answers and are graded by their labels."""
    items = scene.rows(
        "SELECT i.version, i.body, t.score, t.preview FROM collection_items i "
        "JOIN trajectories t ON t.group_id = (i.body -> 'source' ->> 0)::bigint "
        "AND t.index = (i.body -> 'source' ->> 1)::int WHERE i.run_id = %s", run_id)
    assert {item["version"] for item in items} <= {n for n, kind in enumerate(KINDS, 1) if kind == "generate"}
    labels = Counter(item["body"]["label"] for item in items)
    assert labels["Yes"] == labels["No"] > 0
    for item in items:
        assert (item["score"] == 1.0) == (item["body"]["label"] == "Yes")
        assert item["body"]["prompt"].endswith(f"={item['preview']}?")
    verdicts = scene.rows(
        "SELECT g.order #> '{task,item}' AS item, t.preview, t.score, t.status FROM groups g "
        "JOIN trajectories t ON t.group_id = g.id WHERE g.run_id = %s AND g.kind = 'verify'", run_id)
    assert {said["preview"] for said in verdicts} >= {"+", "-"}
    for said in verdicts:
        right = said["preview"] == {"Yes": "+", "No": "-"}[said["item"]["label"]]
        assert said["score"] == (said["item"]["rho"] if right else 0.0)
        assert (said["status"] == "no_answer") == (said["preview"] not in ("+", "-"))


def check_curves(series: dict[str, list[tuple[int, float]]]) -> None:
    """Raise AssertionError unless each kind of step has its own curves; only `lr` has a point in every step."""
    of_kind = {kind: [n for n, each in enumerate(KINDS, 1) if each == kind] for kind in set(KINDS)}
    for name in ("loss", "reward/mean", "gap/mean", "grad_norm", "completion/mean_tokens"):
        assert [step for step, _ in series[name]] == of_kind["generate"], name
        assert [step for step, _ in series[f"verify/{name}"]] == of_kind["verify"], name
    assert [step for step, _ in series["lr"]] == list(range(1, STEPS + 1))
    assert max(value for _, value in series["verify/gap/mean"]) < 1e-4, "the trained rows are not what was sampled"
    assert all(0 <= value <= 1 for _, value in series["verify/verdict_accuracy"])


def test_the_first_steps_may_only_judge_and_an_evaluation_votes_by_verdicts(scene: Scene) -> None:
    run = scene.client.create_run({**spec("first", 4, mode="verify_init", init_steps=2),
                                   "eval": {"prompts": 16, "every": 4, "sources": [VOTED]}})
    scene.finished(run.id, timeout_s=180)
    assert kinds(scene, run.id) == ["verify", "verify", "generate", "generate"]
    assert len(set(scene.weights(run.id))) == 5
    assert scene.rows("SELECT DISTINCT purpose, step, state FROM groups WHERE run_id = %s AND kind = 'generate' "
                      "AND purpose <> 'eval' ORDER BY step", run.id) == [
        {"purpose": purpose, "step": step, "state": "used"}
        for step, purpose in enumerate(["probe", "probe", "train", "train"], 1)]
    check_votes(scene, run.id)


def check_votes(scene: Scene, run_id: str) -> None:
    """Raise AssertionError unless an evaluation shows the vote of the majority beside that by verdicts."""
    series = scene.client.metrics(run_id).series
    shown = {name: series[f"eval/sampled/{name}"] for name in ("answer", "answer.best", "answer.vote", "chosen")}
    print("".join(f"\n{name}: {[round(value, 3) for _, value in points]}" for name, points in shown.items()))
    assert [step for step, _ in shown["chosen"]] == [0, 4]
    assert shown["chosen"] == series["eval/sampled"], "the vote decides"
