"""Rows that grades refer to."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from psycopg import Connection
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from hone import ids


@dataclass(frozen=True)
class Run:
    """A run with a model, as the gateway would have made it."""

    url: str
    id: str
    tenant_id: str
    model_id: str

    def groups(self, *numbers: int, task_hash: str = "h", purpose: str = "train",
               state: str = "requested") -> list[int]:
        """Make a group for each request number and return their ids."""
        return [self._group(number, task_hash, purpose, state) for number in numbers]

    def all(self, statement: str, *params: object) -> list[dict[str, Any]]:
        """Return the rows of a statement."""
        return connection(self.url).execute(statement.encode(), params).fetchall()

    def do(self, statement: str, *params: object) -> None:
        """Run a statement."""
        connection(self.url).execute(statement.encode(), params)

    def _group(self, number: int, task_hash: str, purpose: str, state: str) -> int:
        rows = self.all(
            "INSERT INTO groups (tenant_id, run_id, purpose, request_no, step, task_hash, \"order\", model_id,"
            " state, deadline) VALUES (%s, %s, %s, %s, 1, %s, '{}', %s, %s, now() + '1 hour') RETURNING id",
            self.tenant_id, self.id, purpose, number, task_hash, self.model_id, state)
        return int(rows[0]["id"])


@lru_cache(maxsize=1)
def connection(url: str) -> Connection[dict[str, Any]]:
    """Return a connection that stays open: to open one takes longer than most statements."""
    return Connection.connect(url, autocommit=True, row_factory=dict_row)


def make_run(owner_url: str) -> Run:
    """Make a tenant, a model and a run."""
    run = Run(owner_url, ids.new("run"), ids.new("tenant"), ids.new("model"))
    run.do("INSERT INTO tenants (id, name) VALUES (%s, %s)", run.tenant_id, run.tenant_id)
    run.do("INSERT INTO models (id, tenant_id, config) VALUES (%s, %s, '{}')", run.model_id, run.tenant_id)
    run.do("INSERT INTO runs (id, tenant_id, name, spec, spec_sha, policy_model_id, deadline)"
           " VALUES (%s, %s, 'test', %s, '', %s, now() + '1 hour')", run.id, run.tenant_id, Jsonb({}), run.model_id)
    return run
