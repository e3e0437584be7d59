"""Predictions of success on a real PostgreSQL: the context of a policy, as of a step or a version."""

import math
from collections.abc import Iterator
from typing import Any

import grpc
import pytest

from hone.api.value_pb2 import EmbedRequest, NearestRequest, PredictRequest, PredictResponse, Prompt
from hone.api.value_pb2_grpc import ValueServiceStub
from tests.integration.reward.rows import Run, make_run
from tests.servers.service import refused_field, running
from tests.support.value.asks import grade, graded, step


@pytest.fixture(scope="module")
def value(postgres_url: str) -> Iterator[Any]:
    with running("value", HONE_DATABASE_URL=postgres_url) as service:
        yield ValueServiceStub(service.channel)


@pytest.fixture
def run(postgres_owner_url: str) -> Run:
    return make_run(postgres_owner_url)


def text(number: int) -> str:
    """A policy that can add, and cannot spell: even tasks are sums."""
    return f"What is {number} plus {number + 7}?" if number % 2 == 0 else f"Spell the word number {number} backwards."


def store(run: Run, *numbers: int) -> None:
    for number in numbers:
        run.do("INSERT INTO prompts (run_id, task_hash, tenant_id, text) VALUES (%s, %s, %s, %s)"
               " ON CONFLICT DO NOTHING", run.id, f"t{number}", run.tenant_id, text(number))


def trained(run: Run, n: int, first: int, count: int) -> list[int]:
    """Commit a step of `count` groups: sums succeed, others fail."""
    store(run, *range(first, first + count))
    groups = [graded(run, number, f"t{number}", [1.0, 1.0, 0.0] if number % 2 == 0 else [0.0, 0.0, 0.0])
              for number in range(first, first + count)]
    step(run, n, groups)
    return groups


def ask(value: Any, run: Run | str, before_step: int, *numbers: int, **fields: Any) -> PredictResponse:
    prompts = [Prompt(task_hash=f"t{number}", text=text(number)) for number in numbers]
    run_id = run if isinstance(run, str) else run.id
    answer: PredictResponse = value.Predict(
        PredictRequest(run_id=run_id, before_step=before_step, prompts=prompts, **fields))
    return answer


def test_a_policy_is_known_by_its_outcomes_and_a_step_reads_the_same_again(value: Any, run: Run) -> None:
    for n in (1, 2, 3):
        trained(run, n, 100 * n, 30)
    before = ask(value, run, 3, 900, 901)
    assert (before.reliable, before.reason, before.context_rows) == (True, "", 60)
    assert before.predictions[0].p > 0.7
    assert before.predictions[1].p < 0.3
    assert before.predictions[0].p == pytest.approx(1 / (1 + math.exp(-before.predictions[0].logit)))
    # What comes later changes nothing that step 3 read: a regrade, a later step, a late group that no step took.
    for group in run.all("SELECT id FROM groups WHERE run_id = %s", run.id)[:20]:
        grade(run, group["id"], 0, "ok", 0.0, regrade_no=1)
    trained(run, 4, 400, 30)
    store(run, 500)
    graded(run, 500, "t500", [0.0] * 3, state="ready")
    assert ask(value, run, 3, 900, 901) == before
    after = ask(value, run, 5, 900, 901)
    assert (after.context_rows, after.context_digest != before.context_digest) == (120, True)
    kept = run.all("SELECT count(*) AS n FROM prompts WHERE run_id = %s AND features_by = %s", run.id,
                   before.head_version.partition("/")[2])
    assert kept[0]["n"] == 120


def test_a_context_is_of_the_newest_eight_steps_and_without_the_asked_prompts(value: Any, run: Run) -> None:
    for n in range(1, 12):
        trained(run, n, 10 * n, 10)
    assert ask(value, run, 12, 900).context_rows == 80
    assert ask(value, run, 12, 900, since_step=10).context_rows == 20
    assert ask(value, run, 12, 110, 111, 110).context_rows == 78
    twice = ask(value, run, 12, 110, 111, 110).predictions
    assert twice[0] == twice[2] != twice[1]


def test_a_version_is_known_by_its_evaluation(value: Any, run: Run) -> None:
    store(run, *range(60))
    for number in range(60):
        for series in range(2):
            graded(run, 100 * series + number, f"t{number}", [1.0 - number % 2], purpose="eval")
    assert not ask(value, run, 1, 900, version_id="version_1").reliable
    run.do("UPDATE groups SET version_id = 'version_1' WHERE run_id = %s", run.id)
    seen = ask(value, run, 0, 900, 901, version_id="version_1")
    assert (seen.reliable, seen.context_rows) == (True, 60)
    assert seen.predictions[0].p > 0.5 > seen.predictions[1].p


def test_what_is_not_known_is_a_reason(value: Any, run: Run) -> None:
    unknown = ask(value, "run_none", 3, 900)
    assert (unknown.reliable, unknown.predictions[0].p, unknown.context_rows) == (False, 0.5, 0)
    assert unknown.reason == "the policy has no outcomes yet"
    trained(run, 1, 0, 1)
    one_class = ask(value, run, 2, 900)
    assert (one_class.reliable, one_class.reason) == (False, "all 1 outcomes of the policy succeed")
    assert one_class.predictions[0].p == pytest.approx(2 / 3)
    trained(run, 2, 10, 10)
    run.do("UPDATE trajectories SET score = 'NaN' WHERE group_id IN (SELECT id FROM groups WHERE task_hash = 't0')")
    few = ask(value, run, 3, 900)
    assert (few.reliable, few.context_rows) == (False, 10)
    assert few.reason == "10 prompts with an outcome, expected at least 50"
    stored = PredictRequest(run_id=run.id, before_step=2, prompts=[Prompt(task_hash="t11"), Prompt(task_hash="t99")])
    silent = value.Predict(stored)
    assert silent.predictions[1].p == 0.5
    assert "prompts[1].text: found nothing" in silent.reason


def test_a_prompt_of_ten_megabytes_is_read_from_its_end(value: Any, run: Run) -> None:
    trained(run, 1, 0, 60)
    long = "x" * 10 * 2**20 + text(900)
    answer = value.Predict(PredictRequest(run_id=run.id, before_step=2, prompts=[Prompt(task_hash="t", text=long)]))
    assert answer.reliable
    assert len(value.Embed(EmbedRequest(texts=[long])).embeddings[0].values) == 512


def test_vectors_have_length_one_and_like_texts_are_near(value: Any) -> None:
    answer = value.Embed(EmbedRequest(texts=[text(2), text(4), text(3), ""]))
    sums, other, nothing = answer.embeddings[:2], answer.embeddings[2], answer.embeddings[3]
    dot = [sum(a * b for a, b in zip(sums[0].values, one.values, strict=True)) for one in (*sums, other)]
    assert dot[0] == pytest.approx(1.0, abs=1e-5)
    assert dot[1] > dot[2]
    assert (answer.model, sums[0].tokens, nothing.tokens) == ("hashed-v1", 5, 0)


@pytest.mark.parametrize(("change", "field"), [
    ({"prompts": []}, "prompts"), ({"prompts": [Prompt(text="x")]}, "prompts[0].task_hash"),
    ({"lowest": 1.0, "highest": math.nan}, "highest"), ({"run_id": "a\0"}, "run_id"),
])
def test_bad_input_is_named(value: Any, change: dict[str, Any], field: str) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        value.Predict(PredictRequest(**{"run_id": "run", "prompts": [Prompt(task_hash="t", text="x")], **change}))
    assert (refused_field(refused.value)[0], refused.value.code()) == (field, grpc.StatusCode.INVALID_ARGUMENT)
    with pytest.raises(grpc.RpcError) as unknown:
        value.Embed(EmbedRequest(texts=["x"], model="another"))
    assert refused_field(unknown.value)[0] == "model"


def test_the_nearest_prompts_with_an_outcome_come_first(value: Any, run: Run) -> None:
    trained(run, 1, 0, 40)
    store(run, 100)  # without an outcome
    answer = value.Nearest(NearestRequest(run_id=run.id, text=text(6), most=5))
    assert (answer.compared, answer.left_out, len(answer.neighbours)) == (40, 0, 5)
    first, *others = answer.neighbours
    assert (first.task_hash, first.cosine) == ("t6", pytest.approx(1.0, abs=1e-6))
    assert all(int(one.task_hash[1:]) % 2 == 0 for one in others), "sums are like sums"
    cosines = [one.cosine for one in answer.neighbours]
    assert cosines == sorted(cosines, reverse=True)
    assert value.Nearest(NearestRequest(run_id=run.id, text=text(6), most=5)) == answer
    run.do("UPDATE groups SET version_id = 'version_9' WHERE run_id = %s AND task_hash IN ('t7', 't9')", run.id)
    of_version = value.Nearest(NearestRequest(run_id=run.id, text=text(6), most=5, version_id="version_9"))
    assert {one.task_hash for one in of_version.neighbours} == {"t7", "t9"}
    assert value.Nearest(NearestRequest(run_id=run.id, text=text(6), most=5, purpose="eval")).compared == 0
    assert value.Nearest(NearestRequest(run_id=run.id, text=text(6), most=5, step=9)).compared == 0
    long = "x" * 10 * 2**20 + text(8)
    assert value.Nearest(NearestRequest(run_id=run.id, text=long, most=1)).neighbours


@pytest.mark.parametrize(("change", "field"), [
    ({"text": ""}, "text"), ({"most": 0}, "most"), ({"most": 501}, "most"), ({"version_id": "a\0"}, "version_id")])
def test_a_wrong_question_for_the_nearest_is_named(value: Any, change: dict[str, Any], field: str) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        value.Nearest(NearestRequest(**{"run_id": "run", "text": "x", "most": 5, **change}))
    assert refused_field(refused.value)[0] == field
