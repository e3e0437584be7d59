"""Storage of a tenant in the object store. Times are UTC."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from hone.client.resources import Resource


class StoredItem(Resource):
    """A run with its models, a preflight, a registered model or a dataset, and the bytes of its objects.

    `kept` is a model of a deleted run from which another run started. `measured_at`: when its objects were listed last.
    """

    kind: Literal["run", "preflight", "model", "dataset", "kept"]
    id: str
    name: str
    bytes: int
    objects: int
    measured_at: datetime


class Storage(Resource):
    """All that a tenant occupies, and its largest items. `measured_at` is the oldest of its measurements."""

    bytes: int
    objects: int
    measured_at: datetime | None
    items: list[StoredItem]


class Due(Resource):
    """Something that goes without a request: at `due_at`, or within minutes if that is over."""

    id: str
    name: str
    due_at: datetime


class Retained(Resource):
    """All that is stored of one kind. `bytes` is null for what is rows in the database.

    `kept` says how long, `setting` which setting of the stack decides that, if there is one. `next` are the first that
    go, and `due` counts those that are past their time now; of samples and versions, the runs that have them.
    """

    kind: Literal["runs", "samples", "events", "versions", "snapshots", "exports", "models", "datasets", "uploads",
                  "preflights", "decisions"]
    items: int
    bytes: int | None = None
    kept: str
    setting: str | None = None
    due: int = 0
    next: list[Due] = Field(default_factory=list)
