"""Simulators of users, made and asked by a real simulation service on a real PostgreSQL."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from hone.api.simulation_pb2 import (
    SPLIT_TRAIN,
    AudienceFit,
    AudienceGroup,
    CalibrateAudienceRequest,
    DrawTasksRequest,
    EvaluateAudienceRequest,
    FitAudienceRequest,
    MeasuredGroup,
    ReadAudienceFitRequest,
    SimulateAudienceRequest,
)
from hone.api.simulation_pb2_grpc import SimulationServiceStub
from tests.integration.reward.rows import Run, make_run
from tests.integration.simulation import logs
from tests.servers.service import refused_field, running

MERCHANT = {"category": "tea", "tier": "low", "rating": 4.2, "distance": 1.0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("objects")


@pytest.fixture(scope="module")
def simulation(postgres_url: str, folder: Path) -> Iterator[Any]:
    with running("simulation", HONE_DATABASE_URL=postgres_url, HONE_OBJECTS_URL=f"file://{folder}") as service:
        yield SimulationServiceStub(service.channel)


@pytest.fixture(scope="module")
def run(postgres_owner_url: str, folder: Path) -> Run:
    """Return a run, for its tenant, who has logs of behaviour."""
    made = make_run(postgres_owner_url)
    rows = logs.rows()
    broken = [*rows[:200], {**rows[200], "user": {**rows[200]["user"], "loyalty": "much"}}]
    for name, content in (("logs", rows), ("prompts", [{"prompt": "2+3="}]), ("broken", broken)):
        logs.store(postgres_owner_url, folder, made.tenant_id, name, content)
    return made


@pytest.fixture(scope="module")
def fit(simulation: Any, run: Run) -> str:
    made = ask(simulation, run, "logs", reasoner=logs.FORMULA)
    assert made.state == "done", made.reason
    return str(made.fit_id)


def ask(simulation: Any, run: Run, dataset: str, reasoner: Any = None, **params: Any) -> AudienceFit:
    """Ask for a fit, and return it when it has ended."""
    asked = simulation.FitAudience(FitAudienceRequest(
        tenant_id=run.tenant_id, dataset=dataset, params_json=json.dumps(logs.PARAMS | params),
        reasoner_json=json.dumps(reasoner) if reasoner else "")).fit
    deadline = time.monotonic() + 90
    while asked.state not in ("done", "failed"):
        assert time.monotonic() < deadline, asked
        time.sleep(0.2)
        asked = simulation.ReadAudienceFit(
            ReadAudienceFitRequest(tenant_id=run.tenant_id, fit_id=asked.fit_id)).fit
    return asked  # type: ignore[no-any-return]


def group(discount: Any = 0.1, segment: Any = (), merchant: Any = None, **strategy: Any) -> AudienceGroup:
    return AudienceGroup(
        merchant_json=json.dumps(MERCHANT if merchant is None else merchant), segment_json=json.dumps(list(segment)),
        strategy_json=json.dumps({"discount": discount, **strategy}), seed=7)


def simulate(simulation: Any, run: Run, fit: str, about: AudienceGroup) -> Any:
    return simulation.SimulateAudience(SimulateAudienceRequest(tenant_id=run.tenant_id, fit_id=fit, group=about))


def test_a_fit_reports_what_it_found_and_stores_it(simulation: Any, run: Run, fit: str) -> None:
    read = simulation.ReadAudienceFit(ReadAudienceFitRequest(tenant_id=run.tenant_id, fit_id=fit)).fit
    report = json.loads(read.report_json)
    assert (report["steps"], report["training_merchants"], report["calibration_merchants"]) == (["order"], 12, 4)
    assert report["calibration_groups"] == 4
    assert 0 <= report["weights"][0] <= 1
    policies = run.all("SELECT text, record FROM audience_policies WHERE fit_id = %s", fit)
    assert len(policies) == report["policies"] > 0
    kept = run.all("SELECT * FROM audience_groups WHERE fit_id = %s AND purpose = 'calibration'", fit)
    assert len(kept) == 4
    assert all(len(one["personas"]) == len(one["q"]) == len(one["anchored"]) == 16 for one in kept)


def test_a_group_is_simulated_and_an_equal_question_is_not_asked_again(simulation: Any, run: Run, fit: str) -> None:
    found = simulate(simulation, run, fit, group())
    [step] = found.steps
    assert step.rate == pytest.approx(step.weight * step.reasoned + (1 - step.weight) * step.fitted)
    assert (found.personas, found.flags[:], found.alarm) == (16, [], False)
    assert found.gap == pytest.approx(abs(step.reasoned - step.fitted))
    assert any("users reach order" in text for text in found.policies)
    again = simulate(simulation, run, fit, group())
    assert again == found
    run.do("UPDATE audience_groups SET q = (SELECT jsonb_agg(jsonb_build_array(0.9)) FROM generate_series(1, 16))"
           " WHERE id = %s", found.simulation_id)
    assert simulate(simulation, run, fit, group()).steps[0].reasoned > step.reasoned
    beyond = simulate(simulation, run, fit, group(0.5))
    assert beyond.flags[:] == ["extrapolates: strategy.discount"]
    assert beyond.steps[0].rate > step.rate


def test_an_evaluation_counts_errors_and_directions(simulation: Any, run: Run, fit: str) -> None:
    measured = [MeasuredGroup(group=group(discount), rates={"order": rate}, users=150)
                for discount, rate in ((0.05, 0.3), (0.2, 0.5))]
    found = simulation.EvaluateAudience(EvaluateAudienceRequest(tenant_id=run.tenant_id, fit_id=fit, groups=measured))
    assert found.all.groups == found.by_stratum["tea"].groups == 2
    assert found.all.gse > 0
    assert found.sign_accuracy == 1.0
    measured[0].users = 29
    small = simulation.EvaluateAudience(EvaluateAudienceRequest(
        tenant_id=run.tenant_id, fit_id=fit, groups=measured[:1]))
    assert not small.all.HasField("gse")
    assert not small.HasField("sign_accuracy")


def test_weights_are_calibrated_anew_without_the_reasoner(simulation: Any, run: Run, fit: str) -> None:
    asked = run.all("SELECT count(*) AS n FROM audience_groups WHERE fit_id = %s", fit)
    found = json.loads(simulation.CalibrateAudience(CalibrateAudienceRequest(
        tenant_id=run.tenant_id, fit_id=fit, shrinkage=1e12)).fit.report_json)
    assert all(own == pytest.approx(found["weights"]) for own in found["strata"].values())
    assert run.all("SELECT count(*) AS n FROM audience_groups WHERE fit_id = %s", fit) == asked


def test_without_a_reasoner_the_fitted_model_stands_alone(simulation: Any, run: Run) -> None:
    made = ask(simulation, run, "logs")
    assert made.state == "done", made.reason
    found = simulate(simulation, run, made.fit_id, group())
    assert found.flags[:] == ["no reasoner"]
    assert found.steps[0].rate == found.steps[0].fitted
    assert not found.steps[0].HasField("reasoned")
    assert set(json.loads(made.report_json)["errors"]) == {"base_rate", "raw_model", "fitted"}
    with pytest.raises(grpc.RpcError) as refused:
        simulation.CalibrateAudience(CalibrateAudienceRequest(tenant_id=run.tenant_id, fit_id=made.fit_id))
    assert refused.value.code() == grpc.StatusCode.FAILED_PRECONDITION


@pytest.mark.parametrize(("dataset", "params", "reasoner", "reason"), [
    ("broken", {}, None, "row 201: user.loyalty: found \"much\", expected a number"),
    ("logs", {"drivers": ["user.mood"]}, None, "drivers[0]: found 'user.mood', expected one of"),
    ("logs", {}, {"formulas": {"click": {}}}, "reasoner.formulas: found click, expected the steps order"),
    ("logs", {"calibration_merchants": ["nobody"]}, None, "calibration_merchants: found 'nobody'"),
])
def test_a_fit_that_cannot_be_made_says_why(
    simulation: Any, run: Run, dataset: str, params: Any, reasoner: Any, reason: str,
) -> None:
    made = ask(simulation, run, dataset, reasoner, **params)
    assert made.state == "failed"
    assert reason in made.reason


@pytest.mark.parametrize(("about", "field"), [
    (group("much"), "group.strategy.discount"), (group(0.1, coupon=1), "group.strategy.coupon"),
    (group(merchant={"category": "tea"}), "group.merchant.distance"), (group(float("nan")), "group.strategy.discount"),
    (group(segment=[{"column": "user.mood", "comparison": ">", "bound": 1}]), "group.segment[0].column"),
    (group(segment=[{"column": "user.loyalty", "comparison": "=", "bound": 1}]), "group.segment[0].comparison"),
    (group(segment=[{"column": "user.loyalty", "comparison": ">", "bound": 1}]), "group.segment"),
    (AudienceGroup(merchant_json="{"), "group.merchant_json"), (AudienceGroup(seed=-1), "group.seed"),
])
def test_a_wrong_group_is_refused_by_its_field(
    simulation: Any, run: Run, fit: str, about: AudienceGroup, field: str,
) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        simulate(simulation, run, fit, about)
    assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert refused_field(refused.value)[0] == field


@pytest.mark.parametrize(("request_of", "field"), [
    ({"dataset": "nothing"}, "dataset"), ({"dataset": "prompts"}, "dataset"),
    ({"dataset": "logs", "params_json": '{"seed": -1}'}, "params.seed"),
    ({"dataset": "logs", "params_json": "[1"}, "params_json"),
    ({"dataset": "logs", "reasoner_json": '{"judge": "a", "formulas": {"order": {}}}'}, "reasoner"),
])
def test_a_wrong_request_for_a_fit_is_refused_by_its_field(
    simulation: Any, run: Run, request_of: dict[str, str], field: str,
) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        simulation.FitAudience(FitAudienceRequest(tenant_id=run.tenant_id, **request_of))
    assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert refused_field(refused.value)[0] == field
    if request_of["dataset"] == "prompts":
        assert "rows without merchant_id, user" in str(refused.value.details())


def test_the_fit_of_another_tenant_is_not_found(simulation: Any, fit: str) -> None:
    for call in (
        lambda: simulation.ReadAudienceFit(ReadAudienceFitRequest(tenant_id="tenant_other", fit_id=fit)),
        lambda: simulation.SimulateAudience(SimulateAudienceRequest(
            tenant_id="tenant_other", fit_id=fit, group=group())),
        lambda: simulation.CalibrateAudience(CalibrateAudienceRequest(tenant_id="tenant_other", fit_id=fit)),
    ):
        with pytest.raises(grpc.RpcError) as hidden:
            call()
        assert hidden.value.code() == grpc.StatusCode.NOT_FOUND


def test_environments_are_served_beside(simulation: Any) -> None:
    assert len(simulation.DrawTasks(DrawTasksRequest(
        environment="merchant_strategies", split=SPLIT_TRAIN, count=4)).tasks) == 4
