"""The value service as its own process on a real PostgreSQL."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from hone.api.value_pb2 import AllocateRolloutsRequest, BaselineRequest
from hone.api.value_pb2_grpc import ValueServiceStub
from tests.integration.reward.rows import Run, make_run
from tests.servers.service import Service, refused_field, running
from tests.support.value.asks import grade, graded, step


@pytest.fixture
def run(postgres_owner_url: str) -> Run:
    return make_run(postgres_owner_url)


@pytest.fixture(scope="module")
def service(postgres_url: str) -> Iterator[Service]:
    with running("value", HONE_DATABASE_URL=postgres_url) as service:
        yield service


@pytest.fixture(scope="module")
def value(service: Service) -> Any:
    return ValueServiceStub(service.channel)


def baselines(value: Any, run: Run, before_step: int, *task_hashes: str) -> list[tuple[str, float | None, int]]:
    answer = value.Baseline(BaselineRequest(run_id=run.id, before_step=before_step, task_hashes=task_hashes))
    return [(one.task_hash, one.mean if one.HasField("mean") else None, one.count) for one in answer.baselines]


def test_a_baseline_is_the_running_mean_of_the_trained_samples(value: Any, run: Run) -> None:
    step(run, 1, [graded(run, 0, "a", [1.0, 0.0, 0.0, 0.0]), graded(run, 1, "b", [1.0, 1.0])])
    step(run, 2, [graded(run, 2, "a", [1.0, 1.0, None, 0.0])])
    assert baselines(value, run, 1, "a", "b") == [("a", None, 0), ("b", None, 0)]
    assert baselines(value, run, 2, "a", "b") == [("a", 0.25, 4), ("b", 1.0, 2)]
    assert baselines(value, run, 3, "b", "a", "c") == [("b", 1.0, 2), ("a", 3 / 7, 7), ("c", None, 0)]


def test_a_sample_counts_once_however_many_graders_looked_at_it(value: Any, run: Run) -> None:
    group = graded(run, 0, "a", [1.0, 0.0, None])
    for index in range(3):
        grade(run, group, index, "ok", 0.5, grader="another")
        grade(run, group, index, "ok", 0.75, regrade_no=1)
    step(run, 1, [group])
    assert baselines(value, run, 2, "a") == [("a", 0.5, 2)]


def test_only_used_training_groups_of_committed_steps_count(value: Any, run: Run, postgres_owner_url: str) -> None:
    step(run, 1, [graded(run, 0, "a", [0.5]), graded(run, 1, "a", [1.0], state="ready")])
    step(run, 2, [graded(run, 2, "a", [1.0])], state="planned")
    graded(run, 3, "a", [1.0])
    step(run, 3, [graded(run, 0, "a", [1.0], purpose="eval")])
    other = make_run(postgres_owner_url)
    step(other, 1, [graded(other, 0, "a", [1.0])])
    assert baselines(value, run, 9, "a") == [("a", 0.5, 1)]


def test_a_mean_has_the_same_bits_whatever_was_written_first(value: Any, run: Run, postgres_owner_url: str) -> None:
    values = [0.1, 0.7, 1e-17, 0.3, 0.9, 1 / 3, 0.2]
    step(run, 1, [graded(run, number, "a", [score]) for number, score in enumerate(values)])
    other = make_run(postgres_owner_url)
    backwards = [graded(other, number, "a", [score]) for number, score in reversed(list(enumerate(values)))]
    step(other, 1, backwards)
    one, two = baselines(value, run, 2, "a"), baselines(value, other, 2, "a")
    assert one == two
    assert one[0][1] == sum(values) / 7


def test_an_unknown_run_is_not_found(value: Any) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        value.Baseline(BaselineRequest(run_id="run_none", task_hashes=["a"]))
    assert refused.value.code() == grpc.StatusCode.NOT_FOUND


def test_rollouts_are_shared_out(value: Any) -> None:
    asked = AllocateRolloutsRequest(run_id="run", method="uniform", task_hashes=["a", "b", "c"], budget=8)
    assert list(value.AllocateRollouts(asked).rollouts) == [3, 3, 2]


def test_prompts_whose_outcomes_vary_get_more_and_only_earlier_outcomes_count(value: Any, run: Run) -> None:
    first = [graded(run, 0, "even", [1.0, 0.0, 1.0, 0.0]), graded(run, 1, "solved", [1.0] * 4)]
    step(run, 1, first)
    step(run, 2, [graded(run, 2, "even", [1.0] * 40)])
    bounds = '{"n_min": 2, "n_max": 20}'
    asked = AllocateRolloutsRequest(run_id=run.id, method="dynamo", params_json=bounds, budget=16, before_step=2,
                                    task_hashes=["even", "solved"])
    given = list(value.AllocateRollouts(asked).rollouts)
    assert sum(given) == 16
    assert given == [14, 2]
    asked.before_step = 1
    assert list(value.AllocateRollouts(asked).rollouts) == [8, 8]


def test_rewards_that_are_not_0_or_1_are_scaled_and_equal_ones_have_no_variance(value: Any, run: Run) -> None:
    halves, varied, tens = [0.5] * 4, [0.0, 1.0, 1.0, 0.0], [4.0, 6.0, 6.0, 4.0]
    step(run, 1, [graded(run, 0, "halves", halves), graded(run, 1, "varied", varied)])
    step(run, 2, [graded(run, 2, "tens", tens), graded(run, 3, "all", [0.0, 10.0] * 2)])
    asked = AllocateRolloutsRequest(run_id=run.id, method="dynamo", budget=16, before_step=3,
                                    task_hashes=["halves", "varied"])
    assert list(value.AllocateRollouts(asked).rollouts) == [4, 12]
    asked.since_step = 2  # a stage that began then knows nothing of the others
    assert list(value.AllocateRollouts(asked).rollouts) == [8, 8]
    asked.task_hashes[:], asked.lowest, asked.highest = ["tens", "all"], 0, 10
    asked.params_json = '{"n_min": 1, "n_max": 16, "power": 1, "n_init": 0}'
    assert list(value.AllocateRollouts(asked).rollouts) == [2, 14]  # variances 1 to 25: of 14 beyond n_min, 0.54
    asked.highest = 0
    with pytest.raises(grpc.RpcError) as refused:
        value.AllocateRollouts(asked)
    assert refused_field(refused.value)[0] == "highest"


def test_the_released_codes_priority_counts_samples_above_the_mean_of_their_step(value: Any, run: Run) -> None:
    step(run, 1, [graded(run, 0, "high", [0.9, 0.8, 0.9, 0.8]), graded(run, 1, "mixed", [0.1, 0.7, 0.2, 0.8])])
    run.do("INSERT INTO metrics (run_id, tenant_id, step, name, value) VALUES (%s, %s, 1, 'reward/mean', 0.65)",
           run.id, run.tenant_id)
    asked = AllocateRolloutsRequest(run_id=run.id, method="dynamo", budget=16, before_step=2,
                                    params_json='{"priority": "code"}', task_hashes=["high", "mixed"])
    assert list(value.AllocateRollouts(asked).rollouts) == [4, 12]


@pytest.mark.parametrize(("change", "field", "message"), [
    ({"method": "dynamic"}, "method", "found 'dynamic', expected one of uniform, dynamo"),
    ({"task_hashes": []}, "task_hashes", "expected at least one task"),
    ({"budget": -1}, "budget", "found -1, expected at least 0"),
    ({"params_json": "{"}, "params_json", "expected a JSON object"),
    ({"params_json": '{"alpha": 1}'}, "params.alpha", "found 1"),
])
def test_bad_input_is_named(value: Any, change: dict[str, Any], field: str, message: str) -> None:
    fields = {"run_id": "run", "method": "uniform", "task_hashes": ["a"], "budget": 8, **change}
    with pytest.raises(grpc.RpcError) as refused:
        value.AllocateRollouts(AllocateRolloutsRequest(**fields))
    named, text = refused_field(refused.value)
    assert (named, refused.value.code()) == (field, grpc.StatusCode.INVALID_ARGUMENT)
    assert message in text


def test_it_dies_at_its_crash_point_and_loads_no_torch(postgres_url: str, tmp_path: Path) -> None:
    (tmp_path / "allocate.mid").touch()
    asked = AllocateRolloutsRequest(method="uniform", task_hashes=["a"], budget=8)
    with running("value", HONE_DATABASE_URL=postgres_url, HONE_CRASH_DIR=str(tmp_path)) as service:
        assert "torch" not in Path(f"/proc/{service.process.pid}/maps").read_text()
        with pytest.raises(grpc.RpcError):
            ValueServiceStub(service.channel).AllocateRollouts(asked, timeout=60)
        assert service.process.wait(60) == -signal.SIGKILL


def test_coba_rl_reads_how_often_prompts_and_steps_succeeded(value: Any, run: Run) -> None:
    """Step 1 fails 3 of 5 on average over its groups: F = 0.6, the worked numbers of the specification."""
    outcomes = {"a": [1.0] + [0.0] * 9, "b": [1.0] * 4 + [0.0] * 6, "c": [1.0] * 7 + [0.9] * 3,
                "d": [1.0] * 9 + [0.0], "e": [0.0]}
    step(run, 1, [graded(run, place, task, values) for place, (task, values) in enumerate(outcomes.items())
                  if task != "e"] + [graded(run, 9, "e", [0.0] * 2 + [None])])
    step(run, 2, [graded(run, 10, "a", [1.0] * 4)])
    asked = AllocateRolloutsRequest(run_id=run.id, method="coba_rl", params_json='{"tiers": false}', budget=32,
                                    before_step=2, task_hashes=["a", "b", "c", "d"])
    answer = value.AllocateRollouts(asked)
    assert sum(answer.rollouts) == 32
    assert list(answer.chances) == pytest.approx([0.1, 0.4, 0.7, 0.9])
    assert answer.metrics["failure"] == pytest.approx(1 - (0.1 + 0.4 + 0.7 + 0.9 + 0) / 5)
    assert answer.metrics["tau"] == pytest.approx(7.960258, abs=5e-7)


def test_predictions_that_too_few_prompts_accept_are_not_used(value: Any, run: Run) -> None:
    groups = [graded(run, place, f"t{place}", [0.0] * 4) for place in range(200)]
    run.do("UPDATE groups SET \"order\" = jsonb_set(\"order\"::jsonb, '{budget}', jsonb_build_object('predicted',"
           " CASE WHEN request_no < 99 THEN 0.0 ELSE 0.9 END))::json WHERE run_id = %s", run.id)
    step(run, 1, groups)
    asked = AllocateRolloutsRequest(run_id=run.id, method="v0_5", budget=16, before_step=2, task_hashes=["a", "b"],
                                    predictions=[0.5, float("nan")])
    answer = value.AllocateRollouts(asked)
    assert list(answer.rollouts) == [8, 8]
    assert answer.unreliable == ("of the last 200 prompts 50% accepted what was predicted for them, expected at least "
                                 "50%")
    run.do("UPDATE groups SET \"order\" = jsonb_set(\"order\"::jsonb, '{budget,predicted}', '0.1')::json"
           " WHERE run_id = %s AND request_no = 99", run.id)
    answer = value.AllocateRollouts(asked)
    assert (list(answer.rollouts), answer.unreliable) == ([4, 8], "")


@pytest.mark.parametrize(("predictions", "field"), [([0.5], "predictions"), ([0.5, 1.5], "predictions[1]")])
def test_predictions_that_do_not_fit_are_refused(value: Any, predictions: list[float], field: str) -> None:
    asked = AllocateRolloutsRequest(run_id="run", method="v0", budget=16, task_hashes=["a", "b"],
                                    predictions=predictions)
    with pytest.raises(grpc.RpcError) as refused:
        value.AllocateRollouts(asked)
    assert refused_field(refused.value)[0] == field
