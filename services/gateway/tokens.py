"""/v1/runs/…/trajectories/…/tokens: a sample's tokens as text, and the advantage that its step gave it."""

import asyncio
import math
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Path

from hone.algorithms.advantages import ADVANTAGES
from hone.algorithms.advantages.inputs import AdvantageInputs
from hone.client.resources import CallTokens, TrajectoryTokens
from hone.store.database import Row
from hone.store.manifests import get_file
from hone.store.objects import ObjectMissing, Objects
from hone.trajectory.plan import GroupPlan
from hone.trajectory.tokens import FILES, Tokenizer, TokenizerError
from services.gateway.errors import NotFound
from services.gateway.parameters import Id, Store
from services.gateway.tenancy import Caller
from services.gateway.trajectories import Number, read, unknown_sample

router = APIRouter(prefix="/v1/runs", tags=["trajectories"])

_WITHIN_GROUP = ("none", "grpo", "dr_grpo", "rloo")
"""Estimators whose advantage follows from the rewards of a sample's own group, the same for each of its tokens."""


@router.get("/{run_id}/trajectories/{group_id}/{index}/tokens")
async def tokens(
    run_id: Id, group_id: Number, index: Annotated[int, Path(ge=0, lt=2**31)], caller: Caller, objects: Store,
) -> TrajectoryTokens:
    """Return the text of every token of a sample, and the advantage that its step trained it with."""
    place = {"run_id": run_id, "group_id": group_id}
    async with caller.transaction() as transaction:
        row = await transaction.one("gateway.trajectory", **place, index=index)
        version = await transaction.one("gateway.tokenizer_manifest", run_id=run_id)
        plan = await transaction.one("gateway.plan_of_group", **place)
    if row is None:
        raise unknown_sample(run_id, group_id, index)
    if version is None:
        raise NotFound(f"Run {run_id} has no stored version whose tokenizer could tell.")
    advantage, note = advantage_of(plan, index)
    calls = await asyncio.to_thread(_texts, objects, version["manifest"], row)
    return TrajectoryTokens(calls=calls, advantage=advantage, advantage_note=note)


def _texts(objects: Objects, manifest: dict[str, Any], row: Row) -> list[CallTokens]:
    tokenizer = _tokenizer(objects, manifest)
    return [CallTokens(prompt=tokenizer.pieces(call["prompt_ids"]), completion=tokenizer.pieces(call["completion_ids"]))
            for call in read(objects, row["part"], row["row"])["calls"]]


def _tokenizer(objects: Objects, manifest: dict[str, Any]) -> Tokenizer:
    entries = {name: manifest["files"][name] for name in FILES if name in manifest["files"]}
    try:
        return Tokenizer({name: get_file(objects, entry) for name, entry in entries.items()})
    except (ObjectMissing, TokenizerError) as error:
        raise NotFound(f"The tokenizer of the run's policy cannot be read: {error}") from None


def advantage_of(plan: Row | None, index: int) -> tuple[float | None, str]:
    """Return the advantage of a group's sample, or None and why there is none to show."""
    if plan is None:
        return None, "no committed step trained on this sample"
    name, group = plan["advantage"]["name"], GroupPlan.model_validate(plan["group_plan"])
    if name not in _WITHIN_GROUP:
        return None, f"{name} compares with the whole batch, token by token"
    if group.rewards[index] is None:
        return None, "the sample was masked"
    return float(_within(group, name, plan["advantage"]["params"])[index]), f"by {name}, for each trained token"


def _within(group: GroupPlan, name: str, params: dict[str, Any]) -> list[float]:
    """Return the advantage of each of a group's samples; masked ones count for nothing and have 0."""
    counted = [place for place, reward in enumerate(group.rewards) if reward is not None]
    size = len(counted)
    baseline = math.nan if group.baseline is None else group.baseline
    inputs = AdvantageInputs(
        np.array([group.rewards[place] for place in counted], np.float64), np.zeros(size, np.int64),
        np.ones(size, np.int64), np.full(size, baseline))
    values, _, _ = ADVANTAGES[name](inputs, params, {})
    assert not isinstance(values, list), "what is estimated within a group has no tracks"
    found = dict(zip(counted, values.tolist(), strict=True))
    return [found.get(place, 0.0) for place in range(len(group.rewards))]
