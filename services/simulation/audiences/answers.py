"""Answers of fits about groups: simulations, evaluations, and weights that are calibrated anew."""

import asyncio
import json
import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hone.api import simulation_pb2
from hone.audiences import accuracy, stored
from hone.audiences.accuracy import SMALLEST_GROUP, Accuracy
from hone.audiences.alarm import WINDOW, GapAlarm
from hone.audiences.columns import Features, Floats
from hone.audiences.fusion import Fusion
from hone.audiences.reasoning import ReasonerSpec, ask
from hone.audiences.simulator import Reaction, Simulator, personas
from hone.audiences.training import CalibrationGroup, FitParams, calibrate
from hone.graders.questions import JudgeFailed
from hone.judges.asking import AskedJudges
from hone.process.line import StillWaiting
from hone.rpc.errors import InvalidField, Refused, Unanswered
from hone.store.database import Row
from services.simulation.audiences import figures, requests
from services.simulation.audiences.making import listed, of_listed
from services.simulation.audiences.reasoners import OutOfTokens, reasoner, turn_of
from services.simulation.audiences.requests import MOST_GROUPS, WantedGroup, fields_named
from services.simulation.audiences.rows import AudienceRows, GroupRecord

EVALUATION_S = 540.0
"""Seconds of an evaluation, within the gateway's limit of its answer."""
_MOST_KEPT = 8


@dataclass(frozen=True)
class ReadyFit:
    """A fit that is done."""

    id: str
    tenant_id: str
    key_id: str | None
    reasoner: ReasonerSpec | None
    params: FitParams
    report: Mapping[str, Any]
    simulator: Simulator
    fusion: Fusion | None


@dataclass(frozen=True)
class Simulated:
    """The reaction of a group, with what is stored of it."""

    id: str
    reaction: Reaction
    users: int
    personas: int
    stratum: str


class AudienceAnswers:
    """Answers requests about fits. Simulators that were used last are kept in memory."""

    def __init__(self, rows: AudienceRows, judges: AskedJudges) -> None:
        self._rows, self._judges = rows, judges
        self._kept: OrderedDict[str, Simulator] = OrderedDict()  # by fit, whose simulator never changes

    async def simulate(
        self, request: simulation_pb2.SimulateAudienceRequest) -> simulation_pb2.SimulateAudienceResponse:
        """Return how a group reacts. Raises InvalidField, NotFound, Refused and NotReady."""
        fit = await self.ready(request.tenant_id, request.fit_id)
        found = await self._simulated(fit, requests.group(request.group, "group."), "group.")
        alarm = GapAlarm()
        for gap in await self._rows.gaps(fit.id, WINDOW):
            alarm.add([gap], [0.0])
        reaction = found.reaction
        return simulation_pb2.SimulateAudienceResponse(
            steps=[_step(fit.simulator.steps[place], reaction, place) for place in range(len(fit.simulator.steps))],
            policies=[one.text for one in reaction.policies], users=found.users, personas=found.personas,
            flags=[*reaction.flags, *(["few users"] if found.users < SMALLEST_GROUP else [])], gap=reaction.gap,
            mean_gap=alarm.mean, alarm=alarm.rings, simulation_id=found.id)

    async def evaluate(
        self, request: simulation_pb2.EvaluateAudienceRequest) -> simulation_pb2.EvaluateAudienceResponse:
        """Return how far a fit is from measured groups. Raises as `simulate` does."""
        if not 0 < len(request.groups) <= MOST_GROUPS:
            raise InvalidField("groups", f"{len(request.groups)} groups", f"1 to {MOST_GROUPS}")
        fit = await self.ready(request.tenant_id, request.fit_id)
        places = [f"groups[{place}]." for place in range(len(request.groups))]
        measured = np.array([requests.rates(one, fit.simulator.steps, place)
                             for one, place in zip(request.groups, places, strict=True)])
        wanted = [requests.group(one.group, f"{place}group.")
                  for one, place in zip(request.groups, places, strict=True)]
        found = await self._all(fit, list(zip(wanted, places, strict=True)))
        predicted = np.array([one.reaction.rates for one in found])
        users = np.array([one.users for one in request.groups], np.float64)
        strata = accuracy.by_stratum(predicted, measured, users, [one.stratum for one in found])
        return simulation_pb2.EvaluateAudienceResponse(
            all=_accuracy(accuracy.measured(predicted, measured, users)),
            by_stratum={name: _accuracy(one) for name, one in strata.items()},
            sign_accuracy=accuracy.sign_accuracy(predicted, measured, _pairs(wanted)))

    async def _all(self, fit: ReadyFit, wanted: Sequence[tuple[WantedGroup, str]]) -> list[Simulated]:
        """Return how each group reacts. Raises Unanswered where a slow reasoner does not come to an end in time.

        What it said until then is kept: the same evaluation goes on there.
        """
        found = list[Simulated]()
        try:
            async with asyncio.timeout(EVALUATION_S):
                for one, place in wanted:
                    found.append(await self._simulated(fit, one, f"{place}group."))
        except TimeoutError:
            raise Unanswered(
                f"the reasoner has answered for {len(found)} of {len(wanted)} groups in {EVALUATION_S:g} s; its "
                "answers are kept: ask again to go on, or ask for fewer groups") from None
        return found

    async def calibrate(self, request: simulation_pb2.CalibrateAudienceRequest) -> Row:
        """Weigh both branches anew by the stored calibration groups, and return the fit's row."""
        if not (math.isfinite(request.shrinkage) and request.shrinkage >= 0):
            raise InvalidField("shrinkage", request.shrinkage, "a number of at least 0")
        fit = await self.ready(request.tenant_id, request.fit_id)
        groups = [CalibrationGroup(row["merchant"], row["stratum"], np.array(row["rates"]), np.array(row["reasoned"]),
                                   np.array(row["fitted"]), row["users"])
                  for row in await self._rows.calibration(fit.id)]
        fusion = calibrate(groups, request.shrinkage)
        if fusion is None:
            raise Refused("fit_id: found a fit without calibration groups, expected one whose reasoner was asked about "
                          "merchants of its own")
        return await self._rows.weigh(fit.tenant_id, fit.id, stored.fusion_as_json(fusion),
                                      figures.weighed(fit.report, groups, fusion, request.shrinkage))

    async def ready(self, tenant_id: str, fit_id: str) -> ReadyFit:
        """Return a fit that is done. Raises NotFound, and Refused for one that is not done or has failed."""
        row = await self._rows.one(tenant_id, fit_id)
        if row["state"] != "done":
            raise Refused(f"fit_id: found a fit that is {row['state']}, expected one that is done"
                          + (f": {row['reason']}" if row["reason"] else ""))
        simulator = self._kept.pop(fit_id, None)
        if simulator is None:
            simulator = await asyncio.to_thread(stored.of_json, row["simulator"])
        self._kept[fit_id] = simulator
        while len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
        return ReadyFit(
            row["id"], tenant_id, row["key_id"],
            ReasonerSpec.model_validate(row["reasoner"]) if row["reasoner"] else None,
            FitParams.model_validate(row["params"]), row["report"], simulator,
            stored.fusion_of_json(row["fusion"]) if row["fusion"] else None)

    async def _simulated(self, fit: ReadyFit, wanted: WantedGroup, prefix: str) -> Simulated:
        with fields_named(prefix):
            members = fit.simulator.members(wanted.audience)
            drawn = personas(members, fit.params.personas, wanted.seed)
            rows, about = (fit.simulator.rows(wanted.audience, wanted.strategy, users) for users in (members, drawn))
            stratum = fit.simulator.stratum(fit.simulator.checked(rows))
        record = GroupRecord(
            "simulation", wanted.spec, stratum, len(members), [one.id for one in drawn], None, None, (), None)
        q = await self._q(fit, record, about)
        reaction = await asyncio.to_thread(fit.simulator.react, rows, about, q, fit.fusion)
        read = 0 if reaction.reasoned is None or q is None else int((~np.isnan(q).any(1)).sum())
        made = await self._rows.keep_group(fit.id, fit.tenant_id, _kept(record, reaction, q))
        return Simulated(made, reaction, len(members), read, stratum)

    async def _q(self, fit: ReadyFit, record: GroupRecord, about: Sequence[Features]) -> Floats | None:
        """Return the reasoner's answers about personas. An equal question is not asked again."""
        if fit.reasoner is None:
            return None
        known = await self._rows.known(fit.id, record.asked)
        if known is not None and known["q"] is not None:
            return of_listed(known["q"], len(fit.simulator.steps))
        answering = reasoner(self._judges, fit.reasoner, turn_of(fit.id, fit.tenant_id, fit.key_id),
                             self._rows)
        try:
            return await ask(answering, fit.simulator.questions(about))
        except OutOfTokens as used:
            raise Refused(str(used)) from used
        except (JudgeFailed, StillWaiting) as away:
            raise Unanswered(f"the reasoner gave no words: {away}") from away


def _kept(record: GroupRecord, reaction: Reaction, q: Floats | None) -> GroupRecord:
    anchored = listed(reaction.anchored) if reaction.reasoned is not None else None
    return GroupRecord(**{
        **vars(record), "q": None if q is None else listed(q), "anchored": anchored, "fitted": reaction.fitted.tolist(),
        "reasoned": None if reaction.reasoned is None else reaction.reasoned.tolist(), "gap": reaction.gap})


def _step(name: str, reaction: Reaction, place: int) -> simulation_pb2.StepReaction:
    return simulation_pb2.StepReaction(
        step=name, rate=reaction.rates[place], fitted=reaction.fitted[place], weight=reaction.weights[place],
        reasoned=None if reaction.reasoned is None else reaction.reasoned[place])


def _accuracy(found: Accuracy) -> simulation_pb2.AudienceAccuracy:
    return simulation_pb2.AudienceAccuracy(gse=found.gse, mae=found.mae, groups=found.groups)


def _pairs(wanted: Sequence[WantedGroup]) -> list[tuple[int, int]]:
    """Return pairs of groups with one audience and different strategies."""
    keys = [json.dumps({**one.spec, "strategy": None, "seed": None}, sort_keys=True) for one in wanted]
    return [(place, other) for place, one in enumerate(wanted) for other in range(place)
            if keys[place] == keys[other] and one.strategy != wanted[other].strategy]
