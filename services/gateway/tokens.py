"""/v1/runs/…/trajectories/…/tokens: a sample's tokens as text, and the advantages that its step gave them."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Path

from hone.client.resources import CallTokens, TrajectoryTokens
from hone.store.database import Row
from hone.store.manifests import get_file
from hone.store.objects import ObjectMissing, Objects
from hone.trajectory.plan import StepPlan
from hone.trajectory.tokens import FILES, Tokenizer, TokenizerError
from services.gateway import advantages
from services.gateway.advantages import Advantages
from services.gateway.errors import NotFound
from services.gateway.parameters import Id, Store
from services.gateway.tenancy import Caller
from services.gateway.trajectories import Number, read, unknown_sample

router = APIRouter(prefix="/v1/runs", tags=["trajectories"])

Manifests = dict[str, dict[str, Any] | None]
"""By the roles that have a model of their own; None where none of its versions is stored."""

_UNTRAINED = Advantages(None, "no committed step trained on this sample")


@router.get("/{run_id}/trajectories/{group_id}/{index}/tokens")
async def tokens(
    run_id: Id, group_id: Number, index: Annotated[int, Path(ge=0, lt=2**31)], caller: Caller, objects: Store,
) -> TrajectoryTokens:
    """Return the text of every token of a sample, and the advantage that its step gave each trained one."""
    place = {"run_id": run_id, "group_id": group_id}
    async with caller.transaction() as transaction:
        row = await transaction.one("gateway.trajectory", **place, index=index)
        versions = await transaction.all("gateway.tokenizer_manifests", run_id=run_id)
        plan = await transaction.one("gateway.plan_of_group", **place)
    if row is None:
        raise unknown_sample(run_id, group_id, index)
    manifests = {version["role"]: version["manifest"] for version in versions}
    found = _UNTRAINED if plan is None else await advantages.read(
        objects, StepPlan.model_validate(plan["plan"]), group_id, index)
    return await asyncio.to_thread(_told, objects, manifests, row, found)


def _told(objects: Objects, manifests: Manifests, row: Row, found: Advantages) -> TrajectoryTokens:
    """Return the text of a sample's calls, each by the tokenizer of the model that answered it."""
    calls = read(objects, row["part"], row["row"])["calls"]
    answering = [call["role"] if call["role"] in manifests else "policy" for call in calls]
    tokenizers = {role: _tokenizer(objects, role, manifests[role]) for role in sorted(set(answering))}
    texts = [_text(tokenizers[role], call, own)
             for role, call, own in zip(answering, calls, found.of_calls(calls), strict=True)]
    return TrajectoryTokens(calls=texts, advantage=found.whole, advantage_note=found.note)


def _text(tokenizer: Tokenizer, call: dict[str, Any], own: list[float | None]) -> CallTokens:
    return CallTokens(prompt=tokenizer.pieces(call["prompt_ids"]), completion=tokenizer.pieces(call["completion_ids"]),
                      advantages=own)


def _tokenizer(objects: Objects, role: str, manifest: dict[str, Any] | None) -> Tokenizer:
    if manifest is None:
        raise NotFound(f"The run's model of its {role} has no stored version whose tokenizer could tell.")
    entries = {name: manifest["files"][name] for name in FILES if name in manifest["files"]}
    try:
        return Tokenizer({name: get_file(objects, entry) for name, entry in entries.items()})
    except (ObjectMissing, TokenizerError) as error:
        raise NotFound(f"A tokenizer of the run's models cannot be read: {error}") from None
