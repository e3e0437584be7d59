"""Makes one fit: what a model proposes, both branches, the rules' sentences, and the merchants of the fusion."""

import asyncio
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from hone.audiences import hypotheses, stored, writing
from hone.audiences.columns import Floats
from hone.audiences.decision_policies import Condition, Predicate
from hone.audiences.reasoning import MOST_DROPPED, Reasoner, ask, expect_formulas
from hone.audiences.simulator import Simulator
from hone.audiences.training import CalibrationGroup, FitParams, calibrate
from hone.graders.questions import JudgeFailed
from hone.jobs.job import Again, Done, Failed, Job, Kind, Outcome
from hone.judges.asking import AskedJudges
from hone.process.line import StillWaiting
from hone.spec.problems import Invalid, Problem
from hone.store import objects as stores
from hone.store.objects import StoreAway
from services.simulation.audiences import computing, figures
from services.simulation.audiences.figures import MeasuredMerchant
from services.simulation.audiences.reasoners import JudgeReasoner, OutOfTokens, reasoner, turn_of
from services.simulation.audiences.rows import AudienceRows, BegunFit, FitFound, GroupRecord, record


class FitMaker:
    """The kind of jobs that make fits: one computes at a time, and no answer of a model is asked for again."""

    def __init__(self, rows: AudienceRows, judges: AskedJudges, objects_url: str) -> None:
        self._rows, self._judges, self._objects_url = rows, judges, objects_url
        self._computing = asyncio.Lock()
        self.kind = Kind(self._work, record, at_once=4, pauses_s=(10.0, 20.0, 30.0))  # as a reasoner may be slow

    async def _work(self, job: Job) -> Outcome:
        """Make a fit, or say why it has to be made later. Raises NotReady while the database is away."""
        fit = await self._rows.begin(job)
        try:
            return Done(await self.make(fit) if fit else None)
        except (Invalid, OutOfTokens) as unfit:
            return Failed(str(unfit))
        except (JudgeFailed, StillWaiting, StoreAway, ChildProcessError) as away:
            return Again(str(away))

    async def make(self, fit: BegunFit) -> FitFound:
        """Make a fit and return its report and simulator. Raises Invalid, OutOfTokens, and what an outage raises."""
        manifest = await self._rows.dataset(fit.tenant_id, fit.dataset)
        if manifest is None:
            raise Invalid([Problem("dataset", repr(fit.dataset), "an uploaded dataset (`hone data list`)")])
        content = await asyncio.to_thread(computing.content, stores.connect(self._objects_url), manifest)
        answering = reasoner(self._judges, fit.reasoner, turn_of(fit.id, fit.tenant_id, fit.key_id),
                             self._rows) if fit.reasoner else None
        proposed = await self._proposed(fit, answering, content)
        params = fit.params.model_copy(update={"hypotheses": [*fit.params.hypotheses, *proposed]})
        found = await self._computed(params, content)
        simulator = await self._worded(fit, answering, stored.of_json(found["simulator"]))
        if fit.reasoner and fit.reasoner.formulas is not None:
            expect_formulas(fit.reasoner.formulas, simulator.steps, simulator.columns.numbers)
        measured = [await self._merchant(fit, answering, simulator, one) for one in found["groups"]]
        fusion = calibrate([one.group for one in measured if one.group is not None], params.shrinkage)
        report = figures.report(found, simulator, measured, fusion, params.shrinkage) | _written(
            fit.written, simulator, proposed)
        return FitFound(report, stored.as_json(simulator), stored.fusion_as_json(fusion) if fusion else None,
                        simulator.policies.policies)

    async def _computed(self, params: FitParams, content: bytes, work: str = "fit") -> dict[str, Any]:
        async with self._computing:
            return await computing.computed(params.model_dump_json().encode() + b"\n" + content, work)

    async def _proposed(self, fit: BegunFit, answering: Reasoner | None, content: bytes) -> list[Condition]:
        """Return the conditions that a model proposes."""
        if not fit.params.pairs or not isinstance(answering, JudgeReasoner):
            return []
        if "hypotheses" not in fit.written:
            found = await self._computed(fit.params, content, "pairs")
            conditions, report = await writing.proposed(
                answering, [hypotheses.of_json(one) for one in found["pairs"]])
            fit.written["hypotheses"] = {**report, "conditions": [
                [one.model_dump() for one in condition] for condition in conditions]}
            await self._rows.write(fit)
        return [tuple(Predicate.model_validate(one) for one in condition)
                for condition in fit.written["hypotheses"]["conditions"]]

    async def _worded(self, fit: BegunFit, answering: Reasoner | None, simulator: Simulator) -> Simulator:
        """Return a simulator whose policies have the sentences that a model wrote of them."""
        policies = simulator.policies.policies
        if not fit.params.worded or not isinstance(answering, JudgeReasoner) or not policies:
            return simulator
        if "sentences" not in fit.written:
            made, report = await writing.worded(answering, policies)
            fit.written["sentences"] = {**report, "words": [one.words for one in made]}
            await self._rows.write(fit)
        words = fit.written["sentences"]["words"]
        return replace(simulator, policies=replace(simulator.policies, policies=tuple(
            one.model_copy(update={"words": said}) for one, said in zip(policies, words, strict=True))))

    async def _merchant(
        self, fit: BegunFit, answering: Reasoner | None, simulator: Simulator, group: Mapping[str, Any],
    ) -> MeasuredMerchant:
        """Return and store a merchant's rates and what is said of them."""
        drawn = np.random.default_rng([fit.params.seed, 6]).permutation(len(group["rows"]))[:fit.params.personas]
        rows = [group["rows"][place] for place in drawn.tolist()] if answering else []
        record = GroupRecord(
            "calibration", {"merchant_id": group["merchant"]}, group["stratum"], len(group["rows"]),
            [group["users"][place] for place in drawn.tolist()] if answering else [], None, None, group["fitted"],
            None, group["rates"])
        raw = reasoned = None
        if answering is not None:
            q = await self._q(fit, record, answering, simulator, rows)
            anchored, read = np.full(q.shape, math.nan), ~np.isnan(q).any(1)
            anchored[read] = simulator.anchored(simulator.columns.encode(rows)[read], q[read])
            if 1.0 - read.mean() <= MOST_DROPPED:
                raw, reasoned = q[read].mean(0), anchored[read].mean(0)
            record = replace(record, q=listed(q), anchored=listed(anchored),
                             reasoned=None if reasoned is None else reasoned.tolist())
        await self._rows.keep_group(fit.id, fit.tenant_id, record)
        rates, fitted = np.array(group["rates"]), np.array(group["fitted"])
        return MeasuredMerchant(
            rates, record.users, fitted, np.array(group["plain"]), raw, None if reasoned is None else CalibrationGroup(
                group["merchant"], record.stratum, rates, reasoned, fitted, record.users))

    async def _q(
        self, fit: BegunFit, record: GroupRecord, answering: Reasoner, simulator: Simulator, rows: list[Any],
    ) -> Floats:
        """Return the reasoner's answers about rows; answers of an earlier attempt are not asked for again."""
        known = await self._rows.known(fit.id, record.asked)
        if known is not None and known["personas"] == list(record.personas):
            return of_listed(known["q"], len(simulator.steps))
        return await ask(answering, simulator.questions(rows))


def _written(written: Mapping[str, Any], simulator: Simulator, proposed: list[Condition]) -> dict[str, Any]:
    """Return the report on a model's hypotheses and sentences."""
    kept = sum(one.condition in proposed for one in simulator.policies.policies)
    found = {name: {key: value for key, value in one.items() if key not in ("conditions", "words")}
             for name, one in written.items()}
    return found | ({"hypotheses": {**found["hypotheses"], "kept": kept}} if "hypotheses" in found else {})


def listed(values: Floats) -> list[list[float] | None]:
    """Return the rows of an array [S, K] as JSON, None for one with NaN."""
    return [None if math.isnan(sum(row)) else row for row in values.tolist()]


def of_listed(rows: list[list[float] | None], steps: int) -> Floats:
    """Return the array [S, K] of what `listed` made."""
    return np.array([[math.nan] * steps if row is None else row for row in rows], np.float64)
