"""The resource of deletions. Times are UTC."""

from datetime import datetime
from typing import Literal

from hone.client.resources import Resource

DeletionKind = Literal["run", "preflight", "samples", "model", "dataset", "export", "checkpoint"]


class Deletion(Resource):
    """Progress of a deletion. No list shows the subject from the request on, and its name is free.

    It is `deleted` once its rows are gone; its objects follow within minutes. `waits_for` says why it cannot go on yet.
    """

    id: str
    kind: DeletionKind
    name: str
    state: Literal["deleting", "deleted"]
    waits_for: str | None = None
    removed_rows: int = 0
    requested_at: datetime
    finished_at: datetime | None = None


class ModelDeletion(Deletion):
    """The deletion of a model, also as OpenAI's clients read it."""

    object: Literal["model"] = "model"
    deleted: Literal[True] = True
