"""Stored knowledge of environments, as the gateway shows it."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from hone.client.resources import Resource

KNOWLEDGE_NAME = r"^[a-z0-9][a-z0-9_.-]{0,63}$"


class WantedKnowledge(BaseModel):
    """A run whose knowledge is stored."""

    model_config = ConfigDict(extra="forbid")

    run_id: str = Field(max_length=300, description="A run with the collection `knowledge`.")


class Knowledge(Resource):
    """A version of stored knowledge: what a run learned of an environment. It stays when the run is deleted."""

    name: str
    version: int
    environment: str
    run_id: str
    step: int  # the newest step that taught something
    items: int
    texts: int  # different ones
    tasks: int  # different tasks that taught them
    created_at: datetime


class KnownText(Resource):
    """One item: a text, its kind, and the content hash of the task that taught it."""

    place: int
    kind: str
    text: str
    task: str
