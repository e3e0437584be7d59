"""Audiences: what a fit needs before it is asked for, and the simulation service's answers about one that is done."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import grpc

from hone.api import simulation_pb2, simulation_pb2_grpc
from hone.audiences.behaviour import KEYS
from hone.audiences.reasoning import ReasonerSpec
from hone.audiences.training import MOST_OPEN
from hone.rpc.client import channel
from hone.spec.problems import Problem, found
from hone.spec.settings import Settings
from hone.store.database import AsyncTransaction
from services.gateway.admission import judges
from services.gateway.admission.dataset_rows import rows_without
from services.gateway.admission.simulation_refusals import refusal
from services.gateway.middleware.errors import TooMany

_TIMEOUT_S = 600.0  # a reasoner is asked about many personas


async def problems(
    transaction: AsyncTransaction, dataset: str, reasoner: ReasonerSpec | None,
) -> list[Problem]:
    """Return why a fit cannot be made: no such dataset, columns that it lacks, a judge that nobody knows."""
    row = await transaction.one("artifacts.named", kind="dataset", name=dataset)
    if row is None:
        wrong: list[Problem] = [Problem("dataset", found(dataset), "an uploaded dataset (`hone data list`)")]
    else:
        wrong = [Problem("dataset", f"{dataset}, where {lacking}", f"{key} in every row")
                 for key in KEYS if (lacking := rows_without(row["manifest"], key))]
    if reasoner is not None and reasoner.judge is not None:
        problem = await judges.problem(transaction, "reasoner.judge", reasoner.judge, "chat")
        wrong += [problem] if problem else []
    return wrong


async def expect_room(transaction: AsyncTransaction, tenant_id: str) -> None:
    """Hold the place of one more fit until the transaction ends. Raises TooMany beyond MOST_OPEN."""
    await transaction.one("audiences.lock", tenant_id=tenant_id)
    row = await transaction.one("audiences.open", tenant_id=tenant_id)
    if row is not None and row["open"] >= MOST_OPEN:
        raise TooMany(f"Your tenant has {row['open']} open fits of audiences, expected at most {MOST_OPEN}. Try again "
                      "when a fit has ended.")


def group(
    merchant: dict[str, Any], strategy: dict[str, Any], segment: list[dict[str, Any]], seed: int,
) -> simulation_pb2.AudienceGroup:
    """Return a group as the simulation service takes it."""
    return simulation_pb2.AudienceGroup(merchant_json=json.dumps(merchant), strategy_json=json.dumps(strategy),
                                        segment_json=json.dumps(segment), seed=seed)


def fused(fusion: Mapping[str, Any] | None, measured: Mapping[str, Any]) -> list[float] | None:
    """Return the fused rates of a merchant by which a fusion was calibrated; None without a reasoned rate."""
    if fusion is None or measured["reasoned"] is None:
        return None
    weights = fusion["strata"].get(measured["stratum"], fusion["weights"])
    return [share * reasoned + (1 - share) * fitted for share, reasoned, fitted in zip(
        weights, measured["reasoned"], measured["fitted"], strict=True)]


async def asked(settings: Settings, method: str, request: Any) -> Any:
    """Return the simulation service's answer. Raises Invalid with the field, NotFound, Conflict and Away."""
    try:
        async with channel(settings.addresses.simulation, settings.stack_token) as connection:
            return await getattr(simulation_pb2_grpc.SimulationServiceStub(connection), method)(
                request, timeout=_TIMEOUT_S)
    except grpc.aio.AioRpcError as error:
        raise refusal(error, "This fit of an audience does not exist.", _named) from error


def _named(problem: Problem) -> Problem:
    """Return a problem with the field as the caller named it: what the service calls group stands in the body itself.
    """
    return replace(problem, field=re.sub(r"(?<!\w)group\.", "", problem.field).removesuffix("_json"))
