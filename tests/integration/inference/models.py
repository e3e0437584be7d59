"""A model whose versions are published as a trainer does it: first the objects, then the row, then the hint."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import safetensors.numpy
from psycopg import Connection
from psycopg.types.json import Jsonb

from hone import ids
from hone.models import toy
from hone.store import manifests, objects


@dataclass(frozen=True)
class Model:
    """A model of a new tenant."""

    database_url: str
    objects_url: str
    id: str
    tenant_id: str

    def publish(
        self, number: int, files: dict[str, bytes] | None = None, probe: dict[str, Any] | None = None
    ) -> str:
        """Publish a version and return its id; by default a toy model of seed `number`, without a probe."""
        version_id = ids.new("ver")
        made = toy.files(number, hidden=64, ffn=96, heads=2) if files is None else files
        stored = manifests.put_files(objects.connect(self.objects_url), f"models/{self.id}/versions/{version_id}", made)
        manifest = {"files": stored} | ({"probe": probe} if probe else {})
        self.do("INSERT INTO versions (id, tenant_id, model_id, seq, number, manifest) VALUES (%s, %s, %s, %s, %s, %s)",
                version_id, self.tenant_id, self.id, number, number, Jsonb(manifest))
        self.do("SELECT pg_notify('versions', %s)", self.id)
        return version_id

    def do(self, statement: str, *params: object) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows."""
        with Connection.connect(self.database_url) as connection:
            cursor = connection.execute(statement.encode(), params)
            return cursor.fetchall() if cursor.description else []


def make_model(database_url: str, objects_url: str) -> Model:
    """Make a model without a version."""
    model = Model(database_url, objects_url, ids.new("mdl"), ids.new("ten"))
    model.do("INSERT INTO tenants (id, name) VALUES (%s, %s)", model.tenant_id, model.tenant_id)
    model.do("INSERT INTO models (id, tenant_id, config) VALUES (%s, %s, '{}')", model.id, model.tenant_id)
    return model


def rater_files(
    files: Mapping[str, bytes] | None = None, seed: int = 0, head: str = "score.weight"
) -> dict[str, bytes]:
    """Return the files of a toy model, the smallest one by default, with a scalar head instead of its output."""
    files = toy.files(seed, hidden=64, ffn=96, heads=2) if files is None else files
    config = json.loads(files["config.json"]) | {
        "architectures": ["Qwen3ForSequenceClassification"], "id2label": {"0": "LABEL_0"}, "pad_token_id": None}
    drawn = np.random.default_rng(seed).normal(size=(1, config["hidden_size"])).astype(np.float32)
    tensors = safetensors.numpy.load(files["model.safetensors"])
    return {**files, "config.json": json.dumps(config).encode(),
            "model.safetensors": safetensors.numpy.save({**tensors, head: drawn}, metadata={"format": "pt"})}
