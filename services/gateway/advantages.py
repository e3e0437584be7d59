"""The advantages that a committed step gave the tokens of a sample, computed again.

The same packing and the same estimators over the same plan and parts give the trainer's numbers. Some estimators also
read values that only the trainer had: log-probs of other models, a critic's values, state of earlier steps. Their
advantages cannot be computed again.
"""

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from hone.algorithms.catalogue import ADVANTAGES
from hone.algorithms.inputs import AdvantageInputs, Estimate, Floats
from hone.algorithms.slots import SLOTS, needs
from hone.store.objects import ObjectMissing, Objects
from hone.trajectory import parts
from hone.trajectory.packing import Batch, pack
from hone.trajectory.plan import GroupPlan, StepPlan

MOST_BYTES = 32 * 2**20
"""Largest size of the unpacked parts that are read for one answer."""

_OF_THE_TRAINER = {
    "logp_old": "the policy's log-probs before the update", "logp_ref": "the reference's log-probs",
    "logp_teacher": "the teacher's log-probs", "support": "the teacher's likeliest ids",
    "values": "the critic's values"}
"""Inputs of estimators that neither plan nor parts hold, and their words for people."""

_reader = ThreadPoolExecutor(1, "advantages")  # batches are large: one at a time, beside all other reading


@dataclass(frozen=True)
class SampleAdvantages:
    """Advantages of a sample's trained tokens in order, or None. `note` names the estimator, or the reason for None."""

    tokens: list[float] | None
    note: str

    @property
    def whole(self) -> float | None:
        """The advantage of the sample if all its tokens have the same, else None."""
        return self.tokens[0] if self.tokens and len(set(self.tokens)) == 1 else None

    def of_calls(self, calls: Sequence[dict[str, Any]]) -> Iterator[list[float | None]]:
        """Yield for each call one advantage per token of its completion: None if untrained; [] if none is known."""
        left = iter(self.tokens or [])
        for call in calls:
            policy = call["role"] == "policy"
            yield [] if self.tokens is None else [
                next(left) if trains and policy else None for trains in call["train_mask"]]


async def read(objects: Objects, plan: StepPlan, group_id: int, index: int) -> SampleAdvantages:
    """Return the advantages of a sample, without blocking the event loop."""
    return await asyncio.get_running_loop().run_in_executor(_reader, of_sample, objects, plan, group_id, index)


def of_sample(objects: Objects, plan: StepPlan, group_id: int, index: int) -> SampleAdvantages:
    """Return the advantages of a sample of a committed step. Reads the object store and blocks."""
    name = plan.slots["advantage"]["name"]
    group = next(one for one in plan.groups if one.group_id == group_id)
    if group.rewards[index] is None:
        return SampleAdvantages(None, "the sample was masked")
    try:
        reason = _reason_unknown(plan, name)
        if reason:
            return SampleAdvantages(None, reason)
        needed = _own_group(plan, group) if ADVANTAGES[name].within_group else plan
        return _computed(objects, needed, name, (group.request_no, index))
    except ObjectMissing as gone:
        return SampleAdvantages(None, f"{name} compares with samples that are not stored any more: {gone.args[0]}")
    except (ValueError, KeyError) as problem:
        return SampleAdvantages(None, f"{name} could not be computed again: {problem}")


def _reason_unknown(plan: StepPlan, name: str) -> str:
    """Return the reason why the advantages of a step cannot be computed again; empty if they can."""
    if name not in ADVANTAGES:
        return f"this release has no estimator {name}"
    lacking = [words for need, words in _OF_THE_TRAINER.items() if need in needs(plan.slots, "advantage")]
    if lacking:
        return f"{name} reads {' and '.join(lacking)}, which are not stored for each token"
    params = SLOTS["advantage"][name].model_validate(plan.slots["advantage"]["params"])
    if params.remembers() and plan.nth > 1:
        return f"{name} reads state of earlier steps, which only the trainer has"
    return ""


def _own_group(plan: StepPlan, group: GroupPlan) -> StepPlan:
    """Return the plan reduced to one group."""
    return plan.model_copy(update={"groups": [group], "parts": group.parts})


def _computed(objects: Objects, plan: StepPlan, name: str, key: tuple[int, int]) -> SampleAdvantages:
    stored = _stored(objects, plan.parts)
    if stored is None:
        return SampleAdvantages(None, f"{name} compares with samples of more than {MOST_BYTES // 2**20} MiB, too "
                                "many to read for a page")
    batch = pack(plan, parts.planned(plan, stored))
    if key not in batch.keys:
        return SampleAdvantages(None, "the step left the sample out: cut off, without a trained token or not finite")
    return SampleAdvantages(*_estimated(plan, name, batch, batch.keys.index(key)))


def _stored(objects: Objects, keys: Sequence[str]) -> list[bytes] | None:
    """Return the parts, or None if they are too large. Raises ObjectMissing."""
    found, size = list[bytes](), 0
    for key in keys:
        data = objects.get(key)
        size += parts.unpacked_bytes(data)
        if size > MOST_BYTES:
            return None
        found.append(data)
    return found


def _estimated(plan: StepPlan, name: str, batch: Batch, place: int) -> tuple[list[float], str]:
    estimate, _, _ = ADVANTAGES[name](AdvantageInputs.of(batch, plan), plan.slots["advantage"]["params"], {})
    first = int(batch.offsets[place])
    values = _values(estimate)[first:first + int(batch.tokens[place])]
    return values.tolist(), f"by {name}{_tracks(estimate)}{_modulated(plan)}"


def _values(estimate: Estimate) -> Floats:
    """Return the advantage of each trained token, [M]; several tracks are summed with their weights."""
    if not isinstance(estimate, list):
        return estimate
    total: Floats = np.sum([track.weight * np.where(track.counts, track.advantage, 0.0) for track in estimate], axis=0)
    return total


def _tracks(estimate: Estimate) -> str:
    if not isinstance(estimate, list):
        return ""
    names = " + ".join(track.name if track.weight == 1 else f"{track.weight:g} {track.name}" for track in estimate)
    return f", the sum of its tracks {names}"


def _modulated(plan: StepPlan) -> str:
    name = plan.slots.get("modulation", {}).get("name", "none")
    return "" if name == "none" else f", before {name} changed it"
