"""A running stack seen from outside: a client of its REST API, and its rows, read from PostgreSQL."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, LiteralString

import psycopg
from psycopg.rows import dict_row

from hone.client import Client
from hone.client.resources import Run
from hone.stack.embedded import Stack
from tests.acceptance.backends import EMBEDDED, Backend

READY_S = 120.0
LOOK_S = 0.25
"""Seconds between two looks whether a run has ended: each takes the gateway's processor time from the run."""


class Late(AssertionError):
    """An expected event did not happen in time."""


def wait_for(what: str, happened: Callable[[], Any], timeout_s: float, every_s: float = 0.05) -> Any:
    """Call `happened` until it returns something true, and return that. Raises Late, which names `what`."""
    until = time.monotonic() + timeout_s
    while True:
        answer = happened()
        if answer:
            return answer
        if time.monotonic() > until:
            raise Late(f"{what}: not within {timeout_s:.0f} s")
        time.sleep(every_s)


@dataclass
class Scene:
    """A stack, a client of its gateway, and the directory that arms its crash points."""

    stack: Stack
    client: Client
    crash_dir: Path
    database_url: str
    backend: Backend = EMBEDDED
    _connection: psycopg.Connection[dict[str, Any]] | None = None

    def rows(self, query: LiteralString, *parameters: Any) -> list[dict[str, Any]]:
        """Return the rows of a query, those of all tenants."""
        try:
            return self._connected().execute(query, parameters).fetchall()
        except psycopg.OperationalError:
            self._connection = None
            raise

    def _connected(self) -> psycopg.Connection[dict[str, Any]]:
        if self._connection is None:
            self._connection = psycopg.connect(
                self.database_url, row_factory=dict_row, connect_timeout=5, autocommit=True)
        return self._connection

    def one(self, query: LiteralString, *parameters: Any) -> Any:
        """Return the first column of a query's only row."""
        (row,) = self.rows(query, *parameters)
        return next(iter(row.values()))

    def committed(self, run_id: str) -> int:
        """Return the run's last committed step."""
        return int(self.one("SELECT coalesce(max(n), 0) FROM steps WHERE run_id = %s AND state = 'committed'", run_id))

    def finished(self, run_id: str, timeout_s: float = 300) -> Run:
        """Return the run once it has ended. Raises Late, and AssertionError unless it succeeded."""
        run = wait_for(f"the end of {run_id}", lambda: self.ended(run_id), timeout_s, LOOK_S)
        assert run.state == "succeeded", run.reason
        return run

    def weights(self, run_id: str) -> list[str]:
        """Return the digest of every live version of the run's policy, in order of its number."""
        found = self.rows(
            "SELECT v.manifest ->> 'weights_sha256' AS sha FROM versions v "
            "JOIN runs r ON r.policy_model_id = v.model_id WHERE r.id = %s AND v.state = 'live' "
            "ORDER BY v.number", run_id)
        return [row["sha"] for row in found]

    def forget_hits(self, point: str) -> None:
        """Remove the notes of processes that reached a crash point: the same process may reach it again."""
        for note in (self.crash_dir / "hit").glob(f"{point}.*"):
            note.unlink()

    def hit(self, point: str) -> int | None:
        """Return the pid of a process that reached a crash point, or None."""
        notes = list((self.crash_dir / "hit").glob(f"{point}.*"))
        return int(notes[0].name.rpartition(".")[2]) if notes else None

    def ended(self, run_id: str) -> Run | None:
        """Return the run if it has ended."""
        run = self.client.run(run_id)
        return run if run.state in ("succeeded", "failed", "cancelled") else None


def open_scene(
    state: Path, settings: Mapping[str, object], counts: Mapping[str, int],
    commands: Mapping[str, list[str]] | None = None, backend: Backend = EMBEDDED,
) -> Scene:
    """Start a stack and wait until it is ready."""
    crash_dir = state / "crash"
    crash_dir.mkdir(parents=True)
    everyone = {"console": 0, "door": 0, **counts}  # few acceptance tests use these two
    stack = Stack(state, settings={"crash_dir": crash_dir, **settings}, counts=everyone, commands=commands)
    stack.start()
    try:
        stack.wait_ready(READY_S)
    except BaseException:
        stack.stop()
        raise
    record = stack.record()
    return Scene(stack, Client(record.gateway_url, record.api_key), crash_dir, record.database_url, backend)
