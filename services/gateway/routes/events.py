"""/v1/runs/…/events: the events of a run, as pages of JSON or as a stream of server-sent events."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Header, Query
from starlette.responses import Response, StreamingResponse

from hone.client.resources import ENDED, Event, Page
from hone.store.database import Row
from services.gateway.admission.parameters import Config, Id, Limit, page
from services.gateway.declarations import needs
from services.gateway.middleware.errors import unknown_run
from services.gateway.middleware.tenancy import Caller, TenantSession

router = APIRouter(prefix="/v1/runs", tags=["runs"])

_STREAM = "text/event-stream"
_OVERLAP = 64  # ids below the largest sent one at which the stream looks again
_BATCH = 500
_PING_S = 15.0
_OFTEN = 8
"""Streams of a tenant that look each `HONE_SWEEP_S` seconds. If more are open, each looks as much more seldom."""

_streams = Counter[str]()
"""Open streams by tenant."""

LastEventId = Annotated[int, Header(
    alias="Last-Event-ID", ge=0, description="Id of the last event that the client received.")]


@router.get("/{run_id}/events", response_model=Page[Event], responses={200: {"content": {_STREAM: {}}}},
            openapi_extra=needs("read", "events"))
async def events(
    run_id: Id, caller: Caller, settings: Config, limit: Limit = 100,
    after: Annotated[int, Query(ge=0, description="Only events with a greater id.")] = 0,
    newest: Annotated[bool, Query(description="The last events instead of the first events; `next` is "
                                  "absent.")] = False,
    accept: Annotated[str, Header()] = "application/json", last_event_id: LastEventId = 0,
) -> Response | Page[Event]:
    """List the events of a run, or stream them with `Accept: text/event-stream`.

    The stream lasts until the run has ended; its last event is `end`. `Last-Event-ID` continues an earlier stream.
    """
    start = max(after, last_event_id)
    if _STREAM in accept:
        await _read(caller, run_id, 0, 0)  # an unknown run answers 404, which a begun stream could not
        return StreamingResponse(_stream(caller, run_id, start, settings.sweep_s), media_type=_STREAM,
                                 headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
    if newest:
        _, rows = await _read(caller, run_id, start, limit, "events.newest")
        return Page(data=[Event.model_validate(row) for row in rows])
    _, rows = await _read(caller, run_id, start, limit + 1)
    return page([Event.model_validate(row) for row in rows], limit, "id")


async def _read(
    session: TenantSession, run_id: str, after: int, limit: int, query: str = "events.after",
) -> tuple[str, list[Row]]:
    """Return the state of a run and its events after an id. Raises NotFound."""
    async with session.transaction() as transaction:
        run = await transaction.one("runs.state", run_id=run_id)
        if run is None:
            raise unknown_run(run_id)
        return str(run["state"]), await transaction.all(query, run_id=run_id, after=after, limit=limit)


async def _stream(session: TenantSession, run_id: str, start: int, poll_s: float) -> AsyncIterator[str]:
    _streams[session.tenant_id] += 1
    try:
        async for text in _events(session, run_id, start, poll_s):
            yield text
    finally:
        _streams[session.tenant_id] -= 1


def pause_s(tenant_id: str, poll_s: float) -> float:
    """Return the seconds between two looks of a stream: all streams of a tenant together look equally often."""
    return poll_s * max(1.0, _streams[tenant_id] / _OFTEN)


async def _events(session: TenantSession, run_id: str, start: int, poll_s: float) -> AsyncIterator[str]:
    sent, quiet_s = {start}, 0.0
    while True:
        # An id is given before its transaction commits, so a lower id may appear after a higher one.
        state, rows = await _read(session, run_id, max(start, max(sent) - _OVERLAP), _BATCH)
        fresh = [Event.model_validate(row) for row in rows if row["id"] not in sent]
        for event in fresh:
            data = json.dumps(event.model_dump(mode="json"))  # ASCII: some clients end lines at Unicode's separators
            yield f"id: {event.id}\nevent: {event.kind}\ndata: {data}\n\n"
        sent |= {event.id for event in fresh}
        if state in ENDED and not fresh:
            yield f"event: end\ndata: {json.dumps({'state': state})}\n\n"
            return
        wait_s = pause_s(session.tenant_id, poll_s)
        quiet_s = 0.0 if fresh else quiet_s + wait_s
        if quiet_s >= _PING_S:
            quiet_s = 0.0
            yield ": still here\n\n"
        if not fresh:
            await asyncio.sleep(wait_s)
