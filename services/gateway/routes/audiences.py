"""/v1/audiences: simulators of users, made of logged behaviour, and how a group reacts to a merchant's strategy."""

from typing import Annotated, Any

from fastapi import APIRouter
from psycopg.types.json import Jsonb
from pydantic import BaseModel, ConfigDict, Field

from hone import ids
from hone.api import simulation_pb2
from hone.audiences.fusion import SHRINKAGE
from hone.audiences.reasoning import ReasonerSpec
from hone.audiences.training import FitParams, expect_writer
from hone.client.audience_resources import (
    AudienceErrors,
    AudienceEvaluation,
    AudienceFit,
    AudienceReaction,
    MeasuredMerchant,
    MinedPolicies,
    MinedPolicy,
    StepReaction,
)
from hone.client.resources import Page
from hone.spec.problems import Invalid, unstorable
from hone.store.database import AsyncTransaction
from services.gateway.admission import audiences
from services.gateway.admission.parameters import Config, Id, Limit, after, page
from services.gateway.declarations import needs
from services.gateway.middleware.errors import NotFound
from services.gateway.middleware.tenancy import Caller

router = APIRouter(prefix="/v1/audiences/fits", tags=["audiences"])

AfterMerchant = Annotated[str | None, after(r"sim_\w+")]
AfterFit = Annotated[str | None, after(r"fit_\w+")]

_NOT_DONE: dict[int | str, dict[str, Any]] = {409: {"description": "The fit is not done, or was not calibrated."}}


class WantedAudienceFit(BaseModel):
    """Parts of a simulator of users."""

    model_config = ConfigDict(extra="forbid")

    dataset: str = Field(max_length=300, description="A dataset of yours with rows of behaviour: merchant_id, "
                         "user, merchant, strategy and outcome.")
    params: FitParams = FitParams()
    reasoner: ReasonerSpec | None = Field(None, description="Who answers in the role simulator; null: nobody, the "
                                          "fitted model stands alone.")


class SimulatedGroup(BaseModel):
    """Users, what they see, and the seed that draws the personas."""

    model_config = ConfigDict(extra="forbid")

    merchant: dict[str, Any] = Field(description="Features of the merchant, as the rows of behaviour have them.")
    strategy: dict[str, Any] = Field(description="Features of the strategy.")
    segment: list[dict[str, Any]] = Field([], max_length=20, description="Conditions on users: objects with column, "
                                          "comparison (<= or >) and bound.")
    seed: int = Field(0, ge=0, lt=2**31)

    @property
    def message(self) -> simulation_pb2.AudienceGroup:
        """The group as the simulation service takes it."""
        return audiences.group(self.merchant, self.strategy, self.segment, self.seed)


class MeasuredAudience(SimulatedGroup):
    """A group with the rates that were measured of it."""

    rates: dict[str, float] = Field(description="Rate of each step, from 0 to 1.")
    users: int = Field(ge=1, lt=2**31, description="Users that were measured.")


class WantedEvaluation(BaseModel):
    """Groups with measured rates."""

    model_config = ConfigDict(extra="forbid")

    groups: list[MeasuredAudience] = Field(min_length=1, max_length=200)


class WantedCalibration(BaseModel):
    """How the weights of the fusion are found."""

    model_config = ConfigDict(extra="forbid")

    shrinkage: float = Field(SHRINKAGE, ge=0, allow_inf_nan=False, description="Number of users to which the common "
                             "weight is equal in a stratum's weight.")


@router.post("", status_code=202, openapi_extra=needs("run", "audience fits", {"dataset": "logs"}))
async def fit(wanted: WantedAudienceFit, caller: Caller) -> AudienceFit:
    """Ask for a simulator of users. It is made beside other work: GET shows how far it is."""
    expect_writer(wanted.params, wanted.reasoner)
    async with caller.transaction() as transaction:
        if problems := unstorable(wanted.model_dump(mode="json")) or await audiences.problems(
                transaction, wanted.dataset, wanted.reasoner):
            raise Invalid(problems)
        await audiences.expect_room(transaction, caller.tenant_id)
        made = ids.new("fit")
        caller.about(made)
        await transaction.run(
            "audiences.add", id=made, tenant_id=caller.tenant_id, key_id=caller.key_id, dataset=wanted.dataset,
            params=Jsonb(wanted.params.model_dump(mode="json")),
            reasoner=Jsonb(wanted.reasoner.model_dump(mode="json", exclude_none=True)) if wanted.reasoner else None)
        return await _one(transaction, caller.tenant_id, made)


@router.get("", openapi_extra=needs("read", "audience fits"))
async def fits(caller: Caller, limit: Limit = 50, after: AfterFit = None) -> Page[AudienceFit]:
    """List fits, the newest first."""
    async with caller.transaction() as transaction:
        rows = await transaction.all("audiences.page", tenant_id=caller.tenant_id, after=after, limit=limit + 1)
    return page([AudienceFit.model_validate(row) for row in rows], limit, "id")


@router.get("/{fit_id}", openapi_extra=needs("read", "audience fits"))
async def one_fit(fit_id: Id, caller: Caller) -> AudienceFit:
    """Return a fit."""
    async with caller.transaction() as transaction:
        return await _one(transaction, caller.tenant_id, fit_id)


@router.delete("/{fit_id}", openapi_extra=needs("run", "audience fits"))
async def delete(fit_id: Id, caller: Caller) -> AudienceFit:
    """Delete a fit with its policies and all that it said of groups. Returns what it was."""
    async with caller.transaction() as transaction:
        found = await _one(transaction, caller.tenant_id, fit_id)
        await transaction.run("audiences.delete", tenant_id=caller.tenant_id, id=fit_id)
    return found


@router.get("/{fit_id}/policies", openapi_extra=needs("read", "audience fits"))
async def policies(fit_id: Id, caller: Caller) -> MinedPolicies:
    """Return the decision policies that a fit found."""
    async with caller.transaction() as transaction:
        await _one(transaction, caller.tenant_id, fit_id)
        rows = await transaction.all("audiences.policies", tenant_id=caller.tenant_id, fit_id=fit_id)
    return MinedPolicies(data=[MinedPolicy.model_validate(row) for row in rows])


@router.get("/{fit_id}/merchants", openapi_extra=needs("read", "audience fits"))
async def merchants(
    fit_id: Id, caller: Caller, limit: Limit = 200, after: AfterMerchant = None,
) -> Page[MeasuredMerchant]:
    """List the merchants by which a fit was calibrated: their measured rates, and what is predicted of them."""
    async with caller.transaction() as transaction:
        fit = await transaction.one("audiences.one", tenant_id=caller.tenant_id, id=fit_id)
        if fit is None:
            raise NotFound(f"There is no fit {fit_id!r} of an audience.")
        rows = await transaction.all("audiences.measured", tenant_id=caller.tenant_id, fit_id=fit_id, after=after,
                                     limit=limit + 1)
    return page([MeasuredMerchant.model_validate({**row, "fused": audiences.fused(fit["fusion"], row)})
                 for row in rows], limit, "id")


@router.post("/{fit_id}/simulate", responses=_NOT_DONE, openapi_extra=needs("run", "audience fits", {
    "merchant": {"category": "tea"}, "strategy": {"discount": 0.15}}))
async def simulate(fit_id: Id, wanted: SimulatedGroup, caller: Caller, settings: Config) -> AudienceReaction:
    """Return how users of a segment react to a merchant's strategy. An equal question asks no model again."""
    found = await audiences.asked(settings, "SimulateAudience", simulation_pb2.SimulateAudienceRequest(
        tenant_id=caller.tenant_id, fit_id=fit_id, group=wanted.message))
    steps = [StepReaction(step=one.step, rate=one.rate, fitted=one.fitted, weight=one.weight,
                          reasoned=one.reasoned if one.HasField("reasoned") else None) for one in found.steps]
    return AudienceReaction(
        id=found.simulation_id, steps=steps, policies=list(found.policies), flags=list(found.flags), users=found.users,
        personas=found.personas, gap=found.gap if found.HasField("gap") else None, mean_gap=found.mean_gap,
        alarm=found.alarm)


@router.post("/{fit_id}/evaluate", responses=_NOT_DONE, openapi_extra=needs("run", "audience fits", {
    "groups": [{"merchant": {"category": "tea"}, "strategy": {"discount": 0.15}, "rates": {"click": 0.2},
    "users": 500}]}))
async def evaluate(fit_id: Id, wanted: WantedEvaluation, caller: Caller, settings: Config) -> AudienceEvaluation:
    """Return how far simulated rates are from measured ones."""
    found = await audiences.asked(settings, "EvaluateAudience", simulation_pb2.EvaluateAudienceRequest(
        tenant_id=caller.tenant_id, fit_id=fit_id, groups=[
            simulation_pb2.MeasuredGroup(group=one.message, rates=one.rates, users=one.users)
            for one in wanted.groups]))
    return AudienceEvaluation(
        all=_errors(found.all), by_stratum={name: _errors(one) for name, one in sorted(found.by_stratum.items())},
        sign_accuracy=found.sign_accuracy if found.HasField("sign_accuracy") else None)


@router.post("/{fit_id}/calibrate", responses=_NOT_DONE,
             openapi_extra=needs("run", "audience fits", {"shrinkage": 200}))
async def calibrate(fit_id: Id, wanted: WantedCalibration, caller: Caller, settings: Config) -> AudienceFit:
    """Weigh reasoner and fitted model anew, by the merchants that were left out of the fit. No model is asked."""
    await audiences.asked(settings, "CalibrateAudience", simulation_pb2.CalibrateAudienceRequest(
        tenant_id=caller.tenant_id, fit_id=fit_id, shrinkage=wanted.shrinkage))
    async with caller.transaction() as transaction:
        return await _one(transaction, caller.tenant_id, fit_id)


def _errors(found: simulation_pb2.AudienceAccuracy) -> AudienceErrors:
    return AudienceErrors(gse=found.gse if found.HasField("gse") else None, mae=found.mae, groups=found.groups)


async def _one(transaction: AsyncTransaction, tenant_id: str, fit_id: str) -> AudienceFit:
    row = await transaction.one("audiences.one", tenant_id=tenant_id, id=fit_id)
    if row is None:
        raise NotFound(f"There is no fit {fit_id!r} of an audience.")
    return AudienceFit.model_validate(row)
