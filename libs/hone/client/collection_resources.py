"""Resources of what a run gathered while it trained."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from hone.client.resources import Resource


class Collection(Resource):
    """A collection of a run: its newest version, which is a step's number, and how many versions and items it has."""

    name: str
    version: int
    versions: int
    items: int
    created_at: datetime


class CollectionItem(Resource):
    """An item of a collection. `id` is `version.place`: the version that added it, and its place in that, from 0."""

    id: str
    body: Mapping[str, Any]
