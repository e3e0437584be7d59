"""What a tenant occupies in the object store. Times are UTC."""

from datetime import datetime
from typing import Literal

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
