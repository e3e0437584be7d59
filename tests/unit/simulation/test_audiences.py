"""Fits of audiences beside other work: what becomes of one that fails, and what a request about a group says."""

import asyncio
import json
import sys
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

from hone.api.simulation_pb2 import AudienceGroup, MeasuredGroup
from hone.audiences import stored, world
from hone.audiences.job import made
from hone.audiences.training import FitParams
from hone.graders.error_kinds import ErrorKind
from hone.graders.questions import JudgeFailed
from hone.jobs.job import Again, Failed, Job, Outcome
from hone.rpc.errors import InvalidField, NotReady
from hone.spec.problems import Invalid, Problem
from services.simulation.audiences import answers, computing, requests
from services.simulation.audiences.answers import AudienceAnswers
from services.simulation.audiences.making import FitMaker, listed, of_listed
from services.simulation.audiences.reasoners import turn_of
from services.simulation.audiences.rows import BegunFit

JOB = Job(1, "tenant_1", "audience_fit", "fit_1", attempts=1, epoch=1)


class Rows:
    """Has one fit."""

    async def begin(self, job: Job) -> BegunFit:
        return BegunFit("fit_1", "tenant_1", None, "logs", FitParams(), None, job)


@pytest.mark.parametrize(("error", "attempts", "outcome"), [
    (Invalid([Problem("row 1: week", "nothing", "a number")]), 1,
     Failed("row 1: week: found nothing, expected a number")),
    (JudgeFailed(ErrorKind.MODEL_SERVER, "away"), 1, Again(f"{ErrorKind.MODEL_SERVER}: away", 10.0)),
    (JudgeFailed(ErrorKind.MODEL_SERVER, "away"), 4, Failed(f"{ErrorKind.MODEL_SERVER}: away (after 4 attempts)")),
    (ChildProcessError("killed"), 2, Again("killed", 20.0)),
])
async def test_the_outcome_of_a_fit_that_cannot_be_made(error: Exception, attempts: int, outcome: Outcome) -> None:
    fits, job = FitMaker(cast(Any, Rows()), cast(Any, None), "file:///nowhere"), replace(JOB, attempts=attempts)

    async def make(_: BegunFit) -> None:
        raise error

    cast(Any, fits).make = make
    assert fits.kind.final(job, await fits.kind.work(job)) == outcome


def lines(**change: Any) -> list[bytes]:
    """Return the parameters of a fit and the exposures of eight merchants."""
    behaviour = world.behaviour(0, "train", 8, (0.0, 0.25), world.Habits.of(0))
    rows = [{**row, "merchant_id": merchant, "week": 1, "outcome": {"order": int(outcome[0])}}
            for row, merchant, outcome in zip(
                behaviour.rows, behaviour.merchants.tolist(), behaviour.outcomes, strict=True)]
    params = {"model": "logistic", "mining": {"max_policies": 3}, **change}
    return [json.dumps(one).encode() + b"\n" for one in (params, *rows)]


def test_a_job_makes_a_simulator_and_the_groups_of_its_fusion() -> None:
    found = made(lines())
    simulator = stored.of_json(found["simulator"])
    assert (found["merchants"], len(found["groups"])) == ([6, 2], 2)
    one = found["groups"][0]
    encoded = simulator.columns.encode(one["rows"])
    assert one["fitted"] == pytest.approx(simulator.fitted(encoded).mean(0))
    assert len(one["users"]) == len(one["rows"]) == world.USERS


def test_a_job_names_the_problems_of_its_input() -> None:
    assert made([*lines(), b"{}"])["problems"][0]["field"] == "row 1201: merchant_id"
    assert made(lines(calibration_merchants=["x"]))["problems"][0]["found"] == "'x'"


def test_unreadable_personas_are_none_in_json() -> None:
    q = np.array([[0.25, 0.5], [np.nan, 0.5]])
    assert listed(q) == [[0.25, 0.5], None]
    assert np.array_equal(of_listed(listed(q), 2), np.array([[0.25, 0.5], [np.nan, np.nan]]), equal_nan=True)


def test_texts_of_numbers_in_rows_are_numbers() -> None:
    kept = {"user": {"a": "1e-7", "b": "tea", "c": "12"}}
    assert computing.numbers(kept) == {"user": {"a": 1e-7, "b": "tea", "c": "12"}}


def group(**given: Any) -> AudienceGroup:
    message: Any = {f"{name}_json": json.dumps(value) for name, value in given.items()}
    return AudienceGroup(**message)


def test_a_group_is_read() -> None:
    found = requests.group(group(
        merchant={"open": True, "category": "tea"}, strategy={"discount": 1},
        segment=[{"column": "user.age", "comparison": ">", "bound": 3}]), "")
    assert found.audience.merchant == {"open": 1.0, "category": "tea"}
    assert found.strategy == {"discount": 1.0}
    assert str(found.audience.segment[0]) == "user.age is more than 3"


@pytest.mark.parametrize(("message", "refusal"), [
    (group(merchant=[], strategy={}), r"^g\.merchant: found \[\], expected an object"),
    (group(merchant={"a": None}, strategy={}), r"^g\.merchant\.a: found nothing"),
    (group(merchant={}, strategy={"a": [1]}), r"^g\.strategy\.a: found \[1\]"),
    (group(merchant={}, strategy={}, segment={}), r"^g\.segment: found"),
    (group(merchant={}, strategy={}, segment=[{"column": "a"}]), r"^g\.segment\[0\]\.comparison: found nothing"),
    (AudienceGroup(strategy_json="x" * 300_000), r"^g\.strategy_json: .*300000 characters"),
    (AudienceGroup(segment_json="[" * 100_000), r"^g\.segment_json: "),
])
def test_a_wrong_group_names_its_field(message: AudienceGroup, refusal: str) -> None:
    with pytest.raises(InvalidField, match=refusal):
        requests.group(message, "g.")


@pytest.mark.parametrize(("message", "refusal"), [
    (MeasuredGroup(rates={"click": 0.5}, users=1), "g.rates: found 'click', expected order"),
    (MeasuredGroup(users=1), "g.rates: found 'nothing', expected order"),
    (MeasuredGroup(rates={"order": 1.5}, users=1), r"g.rates.order: found 1.5"),
    (MeasuredGroup(rates={"order": float("nan")}, users=1), "g.rates.order: found nan"),
    (MeasuredGroup(rates={"order": 0.5}), "g.users: found 0"),
])
def test_wrong_measurements_name_their_field(message: MeasuredGroup, refusal: str) -> None:
    with pytest.raises(InvalidField, match=refusal):
        requests.rates(message, ["order"], "g.")


async def test_a_slow_reasoner_ends_an_evaluation_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "EVALUATION_S", 0.02)
    slow = AudienceAnswers(cast(Any, None), cast(Any, None))

    async def simulated(_: Any, wanted: str, __: str) -> None:
        await asyncio.sleep(0 if wanted == "quick" else 60)

    cast(Any, slow)._simulated = simulated
    with pytest.raises(NotReady, match=r"answered for 1 of 3 groups in 0.02 s; its answers are kept"):
        await slow._all(cast(Any, None), cast(Any, [("quick", "a"), ("slow", "b"), ("slow", "c")]))


async def test_a_process_that_ends_badly_is_no_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(ChildProcessError, match="ended with 1"):
        await computing.computed(b"")


def test_the_turn_of_a_fit_counts_to_its_key() -> None:
    turn = turn_of("fit_1", "tenant_1", "key_1")
    assert (turn.run, turn.tenant, turn.key) == ("fit_1", "tenant_1", "key_1")
