"""The samples of a preflight: a run that the driver lets the base answer once, and that nothing trains.

Its tasks are drawn, its prompts rendered, its answers generated and graded by the same processes as those of any run.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hone.client.preflight import GradedSample
from hone.client.resources import ENDED
from hone.doctor.preflight.costs import Measured
from hone.spec.run import RunSpec
from hone.store.database import Row
from hone.store.objects import Objects
from hone.trajectory import parts
from hone.trajectory.records import Call, Trajectory
from services.gateway.admission import runs as admission
from services.gateway.admission.references import References
from services.gateway.middleware.tenancy import TenantSession
from services.gateway.preflight.inputs import Model, NoInput

_LOOK_S = 0.2
_COUNTED_S = 4.0
"""Longest time after the samples until the engine has written how long it computed."""
_MOST = 500
SHORTEST_S = 1.0


@dataclass(frozen=True)
class SampleRequest:
    """How many of the first tasks are answered, how often each, and within which time."""

    tasks: int
    samples: int
    deadline_s: float


@dataclass(frozen=True)
class BaseSamples:
    """The samples of a preflight's run, and what they took. `scores` are those of each task."""

    run_id: str
    samples: Sequence[GradedSample] = ()
    scores: Sequence[Sequence[float]] = ()
    measured: Measured | None = None
    problem: str = ""  # why there are fewer samples than asked for


async def take(
    session: TenantSession, objects: Objects, model: Model, spec: RunSpec, named: References, asked: SampleRequest,
) -> BaseSamples:
    """Have the base sampled and graded, and return what there is when the run has ended or its deadline has passed."""
    until = time.monotonic() + asked.deadline_s
    limited = spec.model_copy(update={"deadline_s": max(SHORTEST_S, asked.deadline_s - _COUNTED_S)})
    async with session.transaction() as transaction:
        run_id = await admission.add_preflight(
            transaction, session, limited, named, {"tasks": asked.tasks, "samples": asked.samples})
    try:
        problem = await _ended(session, run_id, until)
    finally:
        await _cancelled(session, run_id)
    rows, whole = await _stored(session, objects, run_id)
    samples = [_sample(model, row, one) for row, one in zip(rows, whole, strict=True)]
    found = BaseSamples(run_id, samples, _scores(rows), problem=problem)
    return replace(found, measured=await _measured(session, run_id, samples)) if samples else found


async def _ended(session: TenantSession, run_id: str, until: float) -> str:
    """Wait until the run has ended; return why it did not succeed, "" if it did."""
    while True:
        async with session.transaction() as transaction:
            run = await transaction.one("runs.state", run_id=run_id)
        if run is None:
            raise NoInput(f"the run {run_id} of the preflight is gone")
        if run["state"] in ENDED:
            return "" if run["state"] == "succeeded" else run["reason"] or f"it {run['state']}"
        if time.monotonic() > until:
            return f"its time passed while it waited for {run['waiting_for'] or 'a driver'}"
        await asyncio.sleep(_LOOK_S)


async def _cancelled(session: TenantSession, run_id: str) -> None:
    """Have the run end if it has not: a preflight that nobody waits for takes no more time of the services."""
    async with session.transaction() as transaction:
        if await transaction.run("runs.set_desired", run_id=run_id, desired="cancel"):
            await transaction.one("server.notify", channel="runs", payload=run_id)


async def _stored(session: TenantSession, objects: Objects, run_id: str) -> tuple[list[Row], list[Trajectory]]:
    """Return the rows of the samples, each with its grades, and the samples themselves."""
    async with session.transaction() as transaction:
        listed = await transaction.all(
            "trajectories.page", run_id=run_id, after_group=-1, after_index=-1, purpose=None, step=None, source=None,
            status=None, min_score=None, max_score=None, text=None, limit=_MOST)
        rows = []
        for one in listed:
            place = {"group_id": one["group_id"], "index": one["index"]}
            row = await transaction.one("trajectories.one", run_id=run_id, **place)
            if row is not None:
                rows.append({**row, "grades": await transaction.all("grades.of_trajectory", **place)})
    return rows, await asyncio.to_thread(_decoded, objects, rows)


def _decoded(objects: Objects, rows: Sequence[Row]) -> list[Trajectory]:
    whole = {key: parts.decode(objects.get(key)) for key in {row["part"] for row in rows}}
    return [whole[row["part"]][row["row"]] for row in rows]


def _sample(model: Model, row: Mapping[str, Any], whole: Trajectory) -> GradedSample:
    call, first = _last(whole), whole.calls[:1]
    grade = next((one for one in row["grades"] if not one["component"]), None) or {"reasons": [], "extracted": None}
    fields = ("group_id", "index", "prompt_tokens", "completion_tokens", "finish_reason", "status", "score")
    prompt = "".join(piece for one in first for piece in model.tokenizer.pieces(one.prompt_ids))
    return GradedSample(**{name: row[name] for name in fields}, ended=whole.ended, reasons=grade["reasons"],
                        extracted=grade["extracted"], prompt=prompt, text=call.text if call else "",
                        tokens=model.tokens(call.completion_ids if call else []),
                        trained=call.train_mask if call else [])


def _last(whole: Trajectory) -> Call | None:
    """Return the policy's last call; the last call if the policy made none, and None where nobody said a word."""
    spoken = [call for call in whole.calls if call.role == "policy"] or whole.calls
    return spoken[-1] if spoken else None


def _scores(rows: Sequence[Row]) -> list[list[float]]:
    by_group: dict[int, list[float]] = {}
    for row in rows:
        if row["score"] is not None:
            by_group.setdefault(row["group_id"], []).append(row["score"])
    return list(by_group.values())


async def _measured(session: TenantSession, run_id: str, samples: Sequence[GradedSample]) -> Measured | None:
    """Return the cost of the samples in an engine; None if no engine has reported it in time."""
    until = time.monotonic() + _COUNTED_S
    while True:
        async with session.transaction() as transaction:
            held = [row for row in await transaction.all("engines.models") if row["run_id"] == run_id]
        tokens, seconds = (sum(row[name] for row in held) for name in ("generated_tokens", "computed_s"))
        if tokens and seconds:
            prompt, completion = (sum(getattr(one, name) for one in samples) / len(samples)
                                  for name in ("prompt_tokens", "completion_tokens"))
            return Measured(tokens, seconds, prompt, completion)
        if time.monotonic() > until:
            return None
        await asyncio.sleep(_LOOK_S)
