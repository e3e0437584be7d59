"""Parameters that many endpoints share: page limits, ids, and the application's settings and object store."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, TypeVar, cast

from fastapi import Depends, Path, Query, Request
from pydantic import AfterValidator, BeforeValidator

from hone.client.resources import Page, Resource
from hone.spec.settings import Settings
from hone.store.objects import Objects
from services.gateway.middleware.errors import NotFound

Limit = Annotated[int, Query(ge=1, le=500, description="Largest number of items on the page.")]


def after(cursor: str) -> Any:
    """Return the query `after` of a list: a page begins behind an id that fits the pattern `cursor`."""
    return Query(pattern=f"^{cursor}$", max_length=100,
                 description="`next` of the previous page; absent for the first page.")


AfterName = Annotated[str | None, after(r"[a-z0-9_.-]+")]
"""The query `after` of lists by name."""

AfterSample = Annotated[str | None, after(r"[0-9]{1,18}\.[0-9]{1,9}")]
"""The query `after` of lists by version or group, and by place in it."""

_LONGEST_ID = 300


def _possible(name: str) -> str:
    if "\0" in name or len(name) > _LONGEST_ID:
        raise NotFound
    return name


Id = Annotated[str, Path(), AfterValidator(_possible)]
"""An id or name in a path. A text that cannot be one answers 404, not 422."""



_MOMENT = "expected a time with its UTC offset, such as 2027-01-31T00:00:00Z"


def _written(moment: object) -> object:
    """Refuse a number, which some take for seconds and others for milliseconds."""
    if not isinstance(moment, str) or not moment.strip("+-.0123456789 "):
        raise ValueError(_MOMENT)
    return moment


def _placed(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError(_MOMENT)
    return moment


Time = Annotated[datetime, BeforeValidator(_written), AfterValidator(_placed)]
"""A moment as text, with its UTC offset."""

Shown = TypeVar("Shown", bound=Resource)


def page(items: Sequence[Shown], limit: int, cursor: str) -> Page[Shown]:
    """Return the page of `limit` + 1 items that were read; `cursor` names the attribute that `after` takes."""
    more = len(items) > limit
    return Page(data=list(items[:limit]), next=str(getattr(items[limit - 1], cursor)) if more else None)


def _settings(request: Request) -> Settings:
    return cast(Settings, request.app.state.settings)


def _objects(request: Request) -> Objects:
    return cast(Objects, request.app.state.objects)


Config = Annotated[Settings, Depends(_settings)]
"""Parameter of an endpoint: the settings of the gateway."""

Store = Annotated[Objects, Depends(_objects)]
"""Parameter of an endpoint: the object store."""


def same(model: type[Resource]) -> dict[int | str, dict[str, Any]]:
    """Return the answer of an operation that may find what it was asked to make."""
    return {200: {"model": model, "description": "It existed already, with the same content."}}


def content(media_type: str) -> dict[int | str, dict[str, Any]]:
    """Return the answer of an operation that sends bytes."""
    return {200: {"content": {media_type: {"schema": {"type": "string", "format": "binary"}}}}}


def example(value: Any, summary: str = "") -> dict[str, Any]:
    """Return an OpenAPI example."""
    return {"summary": summary, "value": value}
