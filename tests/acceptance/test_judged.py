"""Runs whose rewards come from a judge, a user's program and `verifiers`: they learn what a rule teaches."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hone.client.errors import Refused
from hone.models import toy as models
from tests.acceptance import toy
from tests.acceptance.scene import Scene
from tests.servers import foreign_packages
from tests.servers.children import Children
from tests.servers.judge import KEY, ScriptedJudge, listening

STEPS = 6
SAME = "JUDGE: same\nreference: {{ item.answer }}\n{{ sample.output_text }}"
GRADERS: dict[str, dict[str, Any]] = {
    "rule": {"type": "exact", "reference": "{{ item.answer }}"},
    "program": {"type": "python", "name": "p", "source": (
        "def grade(sample, item):\n    return float(sample['output_text'].strip() == item['answer'])")},
    "judge": {"type": "score_model", "name": "s", "model": "expert", "input": [{"role": "user", "content": SAME}]},
    "picky": {"type": "score_model", "name": "s", "model": "expert", "input": [
        {"role": "user", "content": SAME.replace("same", "picky")}]},
    "verifier": {"type": "verify_server", "server": "copied", "fields": ["answer"], "components": ["copied"]}}


@pytest.fixture(scope="module")
def judge() -> Iterator[ScriptedJudge]:
    with listening() as judge:
        yield judge


@pytest.fixture(scope="module")
def verifier(need: Callable[[str | None], None], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a taskset of the real package `verifiers`."""
    with Children(tmp_path_factory.mktemp("verifier")) as children:
        try:
            yield foreign_packages.serve(children, "current", "--verifiers", "copied")
        except foreign_packages.NotInstalled as error:
            need(str(error))


@pytest.mark.timeout(1200)  # it may install the package
def test_a_judge_a_program_and_a_verifier_teach_what_the_rule_teaches(
    plain: Scene, judge: ScriptedJudge, verifier: str, bases: Callable[..., Path],
) -> None:
    """Equal rewards make equal weights, bit for bit. A judge that refuses a part masks a part, and the run goes on."""
    client = plain.client
    client.upload_model("judged-base", bases(steps=90, careless=0.5))
    client.put_secret("expert-key", KEY)
    client.put_judge("expert", judge.url, "judge-1", secret="expert-key", prompt_price=1.0)
    client.put_secret("verifier-key", foreign_packages.KEY)
    client.put_judge("copied", verifier, secret="verifier-key", protocol="verify")
    runs = {name: client.create_run(toy.spec(f"by-{name}", "judged-base", STEPS, grader=grader))
            for name, grader in GRADERS.items()}
    for run in runs.values():
        plain.finished(run.id)
    weights = {name: plain.weights(run.id) for name, run in runs.items()}
    assert len(set(weights["rule"])) > STEPS // 2, "it learns"
    assert weights["program"] == weights["rule"]
    assert weights["judge"] == weights["rule"]
    assert weights["verifier"] == weights["rule"]
    assert weights["picky"] != weights["rule"]
    graded = plain.rows("SELECT status, count(*) AS grades FROM grades WHERE run_id = %s GROUP BY 1", runs["picky"].id)
    counts = {row["status"]: row["grades"] for row in graded}
    assert set(counts) == {"ok", "judge_error"}
    assert 0.05 < counts["judge_error"] / sum(counts.values()) < 0.6
    assert {event.kind for event in client.events(runs["picky"].id).data} >= {"judge.failed"}
    [spent] = client.judge_spending(runs["judge"].id).data
    assert spent.judge == "expert"
    assert spent.cost == pytest.approx(100e-6 * spent.answers)
    asked = plain.one("SELECT count(*) FROM grades WHERE run_id = %s", runs["judge"].id)
    assert spent.answers <= asked, "equal answers are asked about once"


def test_a_judge_of_steps_gates_pgpo_and_a_judge_that_looks_sees_the_world(
    plain: Scene, judge: ScriptedJudge, bases: Callable[..., Path],
) -> None:
    """The whole preset: a filter by length over extra groups, comparison, and step scores that a model gave.

    Beside it a run is judged by somebody who reads the state that each sample left.
    """
    client = plain.client
    client.upload_model("steps-base", bases(steps=90, careless=0.5))
    client.put_secret("critic-key", KEY)
    client.put_judge("critic", judge.url, "judge-1", secret="critic-key")
    steps = {"type": "process_critic", "model": "critic", "task": "JUDGE: steps {{ item.prompt }}",
             "grader": {"type": "exact"}}
    looks = {"type": "agent_judge", "model": "critic", "task": "JUDGE: look turns 2"}
    run = client.create_run(toy.spec("pgpo", "steps-base", 2, grader=steps, algorithm="pgpo"))
    looked = client.create_run(toy.spec("looked", "steps-base", 1, grader=looks, eval=None, task={
        "environment": "sort_turns", "params": {"digits": 2, "slack": 1}}, sampling={"max_tokens": 1}))
    plain.finished(run.id)
    rows = plain.rows("SELECT component, value, status FROM grades WHERE run_id = %s", run.id)
    assert {row["status"] for row in rows} == {"ok"}
    by_name = {name: {row["value"] for row in rows if row["component"] == name} for name in ("", "process", "step")}
    assert by_name == {"": {0.05, 0.5}, "process": {0.5}, "step": {0.5}}, "half of 0.9 accuracy + 0.1 format"
    plain.finished(looked.id)
    grades = plain.rows("SELECT status, value, evidence FROM grades WHERE run_id = %s AND component = ''", looked.id)
    read = {(row["value"], row["evidence"][0]["asked"][-1]["content"]) for row in grades}
    assert read == {(1.0, "evidence 1\n2"), (0.0, "evidence 1\n3")}
    again = client.grade_again(looked.id, {"type": "state", "expected": {"turns": "2"}}).data
    assert [one.score for one in again] == [one.first_score for one in again], "the recorded actions were taken again"


def test_a_model_of_the_tenant_judges_is_measured_and_is_asked_twice(
    plain: Scene, bases: Callable[..., Path], tmp_path: Path,
) -> None:
    """Its weights are random, so it says anything; that it is held to a label is what makes every word a verdict."""
    client = plain.client
    symbols = [*models.SYMBOLS, "\n", *'{}"', *sorted(set("resultightwong") - {"s"})]
    client.upload_model("own-judge", models.write(tmp_path, vocab_size=64, symbols=symbols))
    client.upload_model("pupil", bases(steps=90, careless=0.5))
    rows = [{"prompt": "s321=", "output": output, "label": output == "123"} for output in ("123", "132", "321", "12")]
    client.upload_dataset("judged-rows", "".join(json.dumps(row) + "\n" for row in rows).encode())
    grader = {"type": "label_model", "name": "l", "model": "own-judge", "labels": ["right", "wrong"], "reasons": False,
              "passing_labels": ["right"],
              "input": [{"role": "user", "content": "{{ item.prompt }} {{ sample.output_text }}"}],
              "sampling_params": {"max_completions_tokens": 120, "temperature": 1.0}, "fence": False}
    check = {"set": "dataset:judged-rows", "least": -1, "rise": 1, "again": 0.5}
    with pytest.raises(Refused, match="pupil, which the run trains"):
        client.create_run(toy.spec("by-itself", "pupil", 2, grader={**grader, "model": "pupil"}))
    run = client.create_run(toy.spec("by-own", "pupil", 2, grader=grader, judge_check=check, eval=None))
    plain.finished(run.id)
    graded = plain.rows("SELECT status, regrade_no, count(*) FROM grades WHERE run_id = %s AND component = '' "
                        "GROUP BY 1, 2", run.id)
    counts = {(row["status"], row["regrade_no"]): row["count"] for row in graded}
    assert set(counts) == {("ok", 0), ("ok", 2)}
    assert 0.25 < counts["ok", 2] / counts["ok", 0] < 0.75
    series = client.metrics(run.id).series
    assert [step for step, _ in series["judge/gap"]] == [0]
    assert all(0 <= share <= 1 for _, share in series["judge/disagreement"])
    [spent] = client.judge_spending(run.id).data
    assert (spent.judge, spent.answers >= len(rows)) == ("own-judge", True)
