"""Resources of what a run gathered while it trained: collections, and outcomes by prompt."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from hone.client.resources import Page, Resource


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


class PromptOutcome(Resource):
    """Result of a run's policy on a prompt in one group. `id` is the group's.

    `score` is the mean over the `samples` that have one. `step` is the one that the group was requested for, of an
    evaluation the last committed one. `version_id` is the version that sampled, if the group named it. `similarity` is
    the cosine of the prompt with the text that was asked for.
    """

    id: int
    purpose: str
    step: int
    series: str
    source: str
    task_hash: str
    version_id: str | None = None
    samples: int
    score: float
    prompt: str | None = None
    similarity: float | None = None


class PromptOutcomes(Page[PromptOutcome]):
    """Outcomes of a run. By similarity: how many prompts were `compared`, and how many were not, for want of time."""

    compared: int | None = None
    left_out: int | None = None
