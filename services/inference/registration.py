"""The rows of this engine process: its heartbeat, the versions it serves or refuses, and its counts."""

import asyncio
import logging
import time
from collections import deque
from typing import Any

from psycopg import OperationalError
from psycopg.types.json import Jsonb

from hone.models.probe import Gap
from hone.process.heartbeat import engine_fresh_s
from hone.store.database import AsyncDatabase, AsyncTransaction
from services.inference.engines import Engine, EngineKind
from services.inference.versions import VersionRow

Note = tuple[str, dict[str, Any]]
_log = logging.getLogger(__name__)
_LOAD_S = 1.0


class Load:
    """The load of this process: the share of about the last second in which its engines computed."""

    def __init__(self) -> None:
        self._since, self._computed_s, self._share = time.monotonic(), 0.0, 0.0

    def add(self, computed_s: float) -> None:
        """Add seconds in which an engine computed."""
        self._computed_s += computed_s

    def share(self) -> float:
        """Return the share, from 0 to 1."""
        passed = time.monotonic() - self._since
        if passed >= _LOAD_S:
            self._share = min(1.0, self._computed_s / passed)
            self._since, self._computed_s = time.monotonic(), 0.0
        return self._share


class Registration:
    """Writes the rows of one engine process. Notes are written in order; they wait while the database is away."""

    def __init__(self, database: AsyncDatabase, engine_id: str, address: str, kind: EngineKind) -> None:
        self.engine_id = engine_id
        self._database, self._row = database, {
            "address": address, "kind": kind.name, "build": Jsonb(kind.build())}
        self._notes: deque[Note] = deque([("enter", self._row), ("clear_loaded", {})])
        self._counted: dict[Engine, tuple[int, int, float]] = {}
        self._noted, self._load = asyncio.Event(), Load()

    def loaded(self, row: VersionRow, gap: Gap | None) -> None:
        """Have a version written as the served one of its model, with its gap on the probe."""
        self._note("set_loaded", model_id=row.model_id, version_id=row.id, gap_mean=gap.mean if gap else None,
                   gap_max=gap.largest if gap else None)

    def refused(self, row: VersionRow, reason: str) -> None:
        """Have a version written as refused."""
        self._note("set_refused", model_id=row.model_id, version_id=row.id, reason=reason)

    def evicted(self, model_id: str, engine: Engine) -> None:
        """Have the last counts of a model written, and its version removed: it is no longer served."""
        self.count(model_id, engine)
        self._counted.pop(engine, None)
        self._note("set_evicted", model_id=model_id)

    def count(self, model_id: str, engine: Engine) -> None:
        """Have the engine's new tokens, samples and seconds since the last count added to its row."""
        made = (engine.generated_tokens, engine.generated_samples, engine.computed_s)
        tokens, samples, computed_s = self._counted.get(engine, (0, 0, 0.0))
        if made != (tokens, samples, computed_s):
            self._counted[engine] = made
            self._load.add(made[2] - computed_s)
            self._notes.append(("add_counts", {"model_id": model_id, "tokens": made[0] - tokens,
                                            "samples": made[1] - samples, "computed_s": made[2] - computed_s}))

    async def write_forever(self, sweep_s: float) -> None:
        """Write notes as they come, and a heartbeat every `sweep_s`, until cancelled."""
        while True:
            self._noted.clear()
            notes = list(self._notes)
            try:
                async with self._database.transaction() as transaction:
                    await self._write(transaction, notes)
                for _ in notes:
                    self._notes.popleft()
            except OperationalError as error:
                _log.warning("engine row not written: %s", error)
                await asyncio.sleep(sweep_s)
            try:
                async with asyncio.timeout(sweep_s):
                    await self._noted.wait()
            except TimeoutError:
                continue

    async def others(self, version_id: str, sweep_s: float) -> bool:
        """Whether another live engine does not refuse a version. Raises psycopg.OperationalError."""
        return bool(await self._database.all(
            "engines.others", id=self.engine_id, version_id=version_id, fresh_s=engine_fresh_s(sweep_s)))

    async def leave(self) -> None:
        """Delete this engine's rows. Raises psycopg.OperationalError."""
        await self._database.run("engines.leave", id=self.engine_id)

    def _note(self, statement: str, **params: Any) -> None:
        self._notes.append((statement, params))
        self._noted.set()

    async def _write(self, transaction: AsyncTransaction, notes: list[Note]) -> None:
        for statement, params in notes:
            await transaction.run(f"engines.{statement}", id=self.engine_id, **params)
        if not await transaction.run("engines.beat", id=self.engine_id, load=self._load.share()):
            await transaction.run("engines.enter", id=self.engine_id, **self._row)
