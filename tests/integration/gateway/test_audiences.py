"""Audiences over REST: a fit whose reasoner is a judge of the tenant, and how groups react."""

import json
import re
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hone.cli.main import app
from hone.client import Client, errors, every
from hone.client.audience_resources import AudienceFit
from hone.stack import ports
from tests.integration.gateway.conftest import Gateway, serve
from tests.integration.simulation import logs
from tests.servers.children import Children
from tests.servers.judge import KEY, ScriptedJudge, listening
from tests.servers.postgres import TestDatabase
from tests.servers.service import running

pytestmark = pytest.mark.alone

STEP = "result"  # what the scripted judge calls its number
MERCHANT = {"category": "tea", "tier": "low", "rating": 4.2, "distance": 1.0, "note": "JUDGE: number 0.75"}


@pytest.fixture(scope="module")
def gateway(postgres: TestDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    home = tmp_path_factory.mktemp("gateway")
    address, objects = f"127.0.0.1:{ports.pick(1)[0]}", f"file://{home / 'objects'}"
    with Children(home) as children, running(
            "simulation", HONE_DATABASE_URL=postgres.worker_url, HONE_OBJECTS_URL=objects,
            HONE_SIMULATION_ADDRESS=address):
        yield serve(children, postgres, objects, {"HONE_SIMULATION_ADDRESS": address})


@pytest.fixture(scope="module")
def judge(hone: Client) -> Iterator[ScriptedJudge]:
    with listening() as judge:
        hone.put_judge("scripted", judge.url, "judge-1", hone.put_secret("judge-key", KEY).name, attempts=1)
        yield judge


@pytest.fixture(scope="module")
def fit(hone: Client, judge: ScriptedJudge) -> AudienceFit:
    rows = [{**row, "merchant": {**row["merchant"], "note": MERCHANT["note"]}, "outcome": {
        STEP: row["outcome"]["order"]}} for row in logs.rows(12)]
    hone.upload_dataset("logs", "".join(f"{json.dumps(row)}\n" for row in rows).encode())
    made = ended(hone, hone.fit_audience(
        "logs", {"model": "logistic", "personas": 4, "seed": 1}, {"judge": "scripted"}))
    assert made.state == "done", made.reason
    assert len(judge.asked) == 3 * 4, "three merchants of the fusion, four personas each"
    return made


def ended(hone: Client, made: AudienceFit) -> AudienceFit:
    deadline = time.monotonic() + 90
    while not made.ended:
        assert time.monotonic() < deadline, made
        time.sleep(0.2)
        made = hone.audience_fit(made.id)
    return made


def simulated(hone: Client, fit: AudienceFit, **merchant: Any) -> Any:
    return hone.simulate_audience(fit.id, {**MERCHANT, **merchant}, {"discount": 0.1})


def test_a_judge_reasons_about_personas_and_is_not_asked_again(
    hone: Client, fit: AudienceFit, judge: ScriptedJudge,
) -> None:
    assert fit.report["calibration_groups"] == 3
    found = simulated(hone, fit)
    [step] = found.steps
    assert step.step == STEP
    assert step.rate == pytest.approx(step.weight * step.reasoned + (1 - step.weight) * step.fitted)
    asked = [one["messages"][-1]["content"] for one in judge.asked]
    policies = hone.audience_policies(fit.id).data
    assert any(policy.text in text for policy in policies for text in asked)
    assert all("Not known:" in text for text in asked)
    before = len(judge.asked)
    assert simulated(hone, fit) == found
    assert len(judge.asked) == before


def test_merchants_that_nothing_was_fitted_to_show_who_is_how_far_off(hone: Client, fit: AudienceFit) -> None:
    errors, found = fit.report["errors"], list(every(partial(hone.audience_merchants, fit.id, limit=2)))
    assert set(errors) == {"base_rate", "raw_reasoner", "reasoned", "raw_model", "fitted", "fused", "left_out"}
    assert len({one.merchant for one in found}) == 3
    for name in ("reasoned", "fitted", "fused"):
        rates = [getattr(one, name)[0] for one in found]
        assert errors[name]["mae"] == pytest.approx(
            sum(abs(rate - one.rates[0]) for rate, one in zip(rates, found, strict=True)) / 3), name
    assert errors["raw_reasoner"]["mae"] == pytest.approx(sum(abs(0.75 - one.rates[0]) for one in found) / 3)
    assert set(fit.report["fields"]["merchant.category"]) > {"tea"}


def test_words_of_a_judge_that_cannot_be_read_are_asked_for_twice(
    hone: Client, fit: AudienceFit, judge: ScriptedJudge,
) -> None:
    before = len(judge.asked)
    found = simulated(hone, fit, note="JUDGE: say hello")
    assert len(judge.asked) - before == 8
    assert (found.flags, found.personas, found.steps[0].reasoned) == (["no reasoner"], 0, None)
    assert found.steps[0].rate == found.steps[0].fitted


def test_a_judge_that_is_away_is_no_answer(gateway: Gateway, tenant: str, fit: AudienceFit) -> None:
    with Client(gateway.url, tenant, attempts=1) as once, pytest.raises(errors.Away, match="reasoner gave no words"):
        simulated(once, fit, note="JUDGE: status 500")


@pytest.mark.usefixtures("fit")
def test_a_model_proposes_conditions_and_writes_the_rules_sentences(hone: Client, judge: ScriptedJudge) -> None:
    proposal = [[{"column": "user.loyalty", "comparison": "<=", "bound": 0.31}]]
    strange = [[{"column": "user.mood", "comparison": ">", "bound": 0}]]

    def script(asked: str) -> str | None:
        if "hypotheses" in asked:
            return json.dumps({"hypotheses": proposal + strange})
        found = re.search(r"A measured rule: (.*)", asked)
        return None if found is None else f"Plainly: {found[1]}" if "loyalty" in found[1] else "99% order"

    judge.script = script
    try:
        made = ended(hone, hone.fit_audience(
            "logs", {"model": "logistic", "personas": 2, "pairs": 6, "worded": True, "mining": {"max_policies": 8}},
            {"judge": "scripted"}))
    finally:
        judge.script = None
    assert made.state == "done", made.reason
    report = made.report["hypotheses"]
    assert (report["asked"], report["proposed"], report["refused"], report["kept"]) == (1, 1, 1, 1)
    assert "user.mood" in report["complaints"][0]
    policies = hone.audience_policies(made.id).data
    assert any("loyalty is at most 0.31," in one.text for one in policies)
    written = [one.text for one in policies if one.text.startswith("Plainly: ")]
    assert len(written) == made.report["sentences"]["written"] > 0
    assert made.report["sentences"]["refused"] == len(policies) - len(written) > 0
    asked = [one["messages"][-1]["content"] for one in judge.asked[-6:]]
    assert any("Plainly: " in text for text in asked), "the reasoner reads the sentences"
    assert made.spent is not None
    assert made.spent.tokens == 120 * made.spent.answers


@pytest.mark.usefixtures("fit")
def test_a_fit_stops_at_its_tokens(hone: Client, judge: ScriptedJudge) -> None:
    before = len(judge.asked)
    made = ended(hone, hone.fit_audience("logs", {"model": "logistic", "personas": 3, "seed": 5},
                                         {"judge": "scripted", "tokens": 300}))
    assert made.state == "failed"
    assert made.reason == "reasoner.tokens: found 360 used tokens, expected less than 300"
    assert len(judge.asked) - before == 3
    assert made.spent is not None
    assert (made.spent.answers, made.spent.tokens) == (3, 360)


def test_evaluations_and_weights(hone: Client, fit: AudienceFit) -> None:
    groups = [{"merchant": MERCHANT, "strategy": {"discount": discount}, "rates": {STEP: rate}, "users": 150}
              for discount, rate in ((0.05, 0.3), (0.2, 0.5))]
    found = hone.evaluate_audience(fit.id, groups)
    assert (found.all.groups, found.sign_accuracy) == (2, 1.0)
    again = hone.calibrate_audience(fit.id, shrinkage=0.0)
    assert again.report["weights"] == fit.report["weights"]
    with pytest.raises(errors.Refused, match=r"groups\[1\].rates: found 'click'"):
        hone.evaluate_audience(fit.id, [groups[0], {**groups[1], "rates": {"click": 0.5}}])


@pytest.mark.parametrize(("change", "message"), [
    ({"merchant": {"category": "tea"}}, "merchant.distance: found nothing"),
    ({"strategy": {"discount": "much"}}, "strategy.discount: found \"much\""),
    ({"segment": [{"column": "user.mood", "comparison": ">", "bound": 0}]}, r"segment\[0\].column: found 'user.mood'"),
])
def test_a_wrong_group_is_refused_by_its_field(
    hone: Client, fit: AudienceFit, change: dict[str, Any], message: str,
) -> None:
    with pytest.raises(errors.Refused, match=message):
        hone.simulate_audience(fit.id, **{"merchant": MERCHANT, "strategy": {"discount": 0.1}, **change})


@pytest.mark.parametrize(("given", "message"), [
    ({"dataset": "nothing"}, "dataset: found \"nothing\", expected an uploaded dataset"),
    ({"dataset": "prompts"}, "dataset: found prompts, where 0 of 1 rows have merchant_id"),
    ({"dataset": "logs", "params": {"kappa": 0}}, "params.kappa: found 0"),
    ({"dataset": "logs", "reasoner": {"judge": "nobody"}}, "reasoner.judge: found \"nobody\""),
    ({"dataset": "logs", "params": {"pairs": 4}}, "params.pairs: found 4, expected 0, or a reasoner"),
    ({"dataset": "logs", "params": {"worded": True}, "reasoner": {"formulas": {STEP: {}}}},
     "params.worded: found True"),
    ({"dataset": "logs", "reasoner": {}}, "reasoner: found {}, expected either judge or formulas"),
])
def test_a_wrong_fit_is_refused_by_its_field(
    hone: Client, fit: AudienceFit, given: dict[str, Any], message: str,
) -> None:
    hone.upload_dataset("prompts", b'{"prompt": "2+3=", "answer": "5"}\n')
    with pytest.raises(errors.Refused, match=message):
        hone.fit_audience(**given)
    assert fit.id in [one.id for one in hone.audience_fits().data]


def test_another_tenant_finds_nothing(other: Client, fit: AudienceFit) -> None:
    assert not other.audience_fits().data
    for call in (lambda: other.audience_fit(fit.id), lambda: other.audience_policies(fit.id),
                 lambda: other.audience_merchants(fit.id), lambda: simulated(other, fit),
                 lambda: other.calibrate_audience(fit.id), lambda: other.delete_audience_fit(fit.id)):
        with pytest.raises(errors.NotFound):
            call()


def test_the_commands(
    hone: Client, fit: AudienceFit, gateway: Gateway, tenant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HONE_URL", gateway.url)
    monkeypatch.setenv("HONE_API_KEY", tenant)
    groups, params = tmp_path / "groups.jsonl", tmp_path / "fit.yaml"
    groups.write_text(json.dumps({"merchant": MERCHANT, "strategy": {"discount": 0.1}, "rates": {STEP: 0.4},
                                  "users": 100}) + "\n")
    params.write_text("model: logistic\nmining: {max_policies: 0}\nreasoner: {formulas: {result: {intercept: -1}}}\n")

    def typed(*words: str, code: int = 0) -> str:
        result = CliRunner().invoke(app, ["audience", *words])
        assert result.exit_code == code, result.output
        return str(result.stdout)

    assert fit.id in typed("list")
    assert "users reach result" in typed("show", fit.id)
    assert "left out" in typed("show", fit.id)
    assert typed("merchants", fit.id).count(STEP) == 3
    asked = ("--merchant", json.dumps(MERCHANT), "--strategy", '{"discount": 0.5}')
    assert "note: extrapolates: strategy.discount" in typed("simulate", fit.id, *asked)
    assert json.loads(typed("simulate", fit.id, *asked, "--json"))["steps"][0]["step"] == STEP
    assert "right directions" in typed("evaluate", fit.id, str(groups))
    assert f"{fit.id} done" in typed("calibrate", fit.id, "--shrinkage", "10")
    typed("simulate", fit.id, "--merchant", "[]", "--strategy", "{}", code=2)
    made = typed("fit", "logs", "--params", str(params)).split()[-2]
    assert hone.audience_fit(made).report["warnings"]
    typed("delete", made)
    typed("show", made, code=1)


def test_a_fit_is_deleted_with_what_it_said(hone: Client, fit: AudienceFit) -> None:
    made = hone.fit_audience("logs")
    with pytest.raises(errors.Conflict, match=r"a fit that is (waiting|taken)"):
        simulated(hone, made)
    hone.delete_audience_fit(made.id)
    with pytest.raises(errors.NotFound):
        hone.audience_fit(made.id)
    assert hone.audience_fit(fit.id).state == "done"
