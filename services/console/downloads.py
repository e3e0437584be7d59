"""/exports/…: files of an export, read over REST with the session's key and handed on piece by piece."""

import asyncio
from collections.abc import Iterator
from itertools import chain
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response, StreamingResponse

from hone.client import HoneError
from hone.client.errors import Unauthenticated
from services.console import sign_in
from services.console.sessions import Session, Sessions


def archive(export_id: str) -> str:
    """Return where all files of an export are, as one tar archive."""
    return f"/exports/{quote(export_id)}/archive"


def file(export_id: str, name: str) -> str:
    """Return where one file of an export is."""
    return f"/exports/{quote(export_id)}/files/{quote(name)}"


async def answer(request: Request, sessions: Sessions, export_id: str, name: str | None = None) -> Response:
    """Send a file, all of them without a name, or say why not; who is not signed in is asked to."""
    session = sessions.find(request.session["id"])
    if session is None:
        return RedirectResponse(f"{sign_in.PATH}?to=/runs")
    try:
        pieces = await asyncio.to_thread(_begun, session, export_id, name)
    except Unauthenticated:
        return RedirectResponse(f"{sign_in.PATH}?to=/runs")
    except HoneError as error:
        return PlainTextResponse(error.detail or str(error), error.status or 503)
    return StreamingResponse(pieces, media_type="application/octet-stream", headers={
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name or f'{export_id}.tar')}"})


def _begun(session: Session, export_id: str, name: str | None) -> Iterator[bytes]:
    """Return the pieces once the gateway has begun to send them. Raises HoneError."""
    pieces = session.client.export_pieces(export_id, name)
    return chain([next(pieces, b"")], pieces)
