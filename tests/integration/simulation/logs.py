"""Logged behaviour as a stored dataset of a tenant."""

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

from psycopg import Connection
from psycopg.types.json import Jsonb

from hone import ids
from hone.audiences import world

PARAMS: dict[str, Any] = {
    "drivers": list(world.DRIVERS), "reasoner_share": 0.3, "model": "logistic", "personas": 16,
    "strata": ["merchant.category"]}
FORMULA = {"formulas": {"order": world.formula().formulas["order"].model_dump()}}


def rows(merchants: int = 16) -> list[dict[str, Any]]:
    """Return exposures of some merchants of the synthetic world."""
    made = world.behaviour(0, "train", merchants, (0.0, 0.25), world.Habits.of(0))
    return [{**row, "merchant_id": merchant, "week": week, "user_id": user, "outcome": {"order": int(outcome[0])}}
            for row, merchant, week, user, outcome in zip(
                made.rows, made.merchants.tolist(), made.weeks.tolist(), made.users, made.outcomes, strict=True)]


def store(url: str, folder: Path, tenant_id: str, name: str, rows: list[dict[str, Any]]) -> None:
    """Store rows as a dataset."""
    content = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
    key = f"test/{name}-{ids.new('x')}/rows.jsonl"
    (folder / key).parent.mkdir(parents=True, exist_ok=True)
    (folder / key).write_bytes(content)
    columns = Counter(column for row in rows for column in row)
    entry = {"key": key, "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    with Connection.connect(url) as connection:
        connection.execute(
            "INSERT INTO artifacts (id, tenant_id, kind, name, hash, manifest) VALUES (%s, %s, 'dataset', %s, %s, %s)",
            [ids.new("art"), tenant_id, name, entry["sha256"],
             Jsonb({"files": {"rows.jsonl": entry}, "rows": len(rows), "columns": dict(columns)})])
