"""Replies of a policy to changing users, as rows that play the talk again for another memory: off-policy."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from hone.client.memory import RecordedTalks
from hone.environments.catalogue import ENVIRONMENTS
from hone.environments.contract import WrongParams
from hone.harnesses.remembering import REPLY
from hone.store.database import Row
from hone.store.objects import ObjectMissing, Objects
from hone.trajectory import parts
from hone.trajectory.parts import SampleActions
from services.gateway.memory_reports import MOST_SAMPLES


def make(objects: Objects, run_id: str, series: str, found: Sequence[Row]) -> RecordedTalks:
    """Return the talks of an evaluation from rows of `trajectories.of_memory`, of which there may be one too many."""
    kept, left_out = list[dict[str, Any]](), Counter[str]()
    stored = _stored(objects, sorted({row["part"] for row in found[:MOST_SAMPLES] if row["part"] is not None}))
    for row in found[:MOST_SAMPLES]:
        sample = stored.get((row["group_id"], row["index"]))
        reason = _unfit(sample)
        if sample is None or reason:
            left_out[reason] += 1
        else:
            kept.append(_row(sample))
    return RecordedTalks(run_id=run_id, step=found[0]["step"] if found else None, series=series, rows=kept,
                         left_out=dict(left_out), truncated=len(found) > MOST_SAMPLES)


def _stored(objects: Objects, keys: Sequence[str]) -> dict[tuple[int, int], SampleActions]:
    found = dict[tuple[int, int], SampleActions]()
    for key in keys:
        try:
            found |= parts.actions(objects.get(key), REPLY)
        except ObjectMissing:
            continue
    return found


def _unfit(sample: SampleActions | None) -> str:
    """Return why a sample is no talk that can be played again; "": it is one."""
    if sample is None:
        return "not_stored"
    if sample.item.get("off_policy"):
        return "recorded"
    if sample.task["params"].get("speech") == "model":
        return "words_of_model"
    try:
        world = ENVIRONMENTS["changing_user"]
        world.episode(world.params.model_validate(sample.task["params"]), 0, _row(sample))
    except WrongParams:
        return "cut"
    return ""


def _row(sample: SampleActions) -> dict[str, Any]:
    """Return the talk as a row. It is played with the parameters `life` and `words` of its run."""
    given = sample.task["item"] or {}
    life = {"life": given["life"]} if given.get("life") is not None else {}
    return {**life, "user_seed": sample.item["user_seed"], "replies": sample.actions}
