"""Usage of calls through the door, by key: tokens that were made and scored, and grades that no run asked for."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from psycopg import OperationalError

from hone.store.database import AsyncDatabase

_PAUSE_S = 1.0
"""Seconds between a use and its row: a process that is killed loses the uses of its last second."""
_log = logging.getLogger(__name__)


class Meter:
    """Adds up what keys use, and writes it to `usage` once a second."""

    def __init__(self, database: AsyncDatabase) -> None:
        self._database = database
        self._used: dict[tuple[str, str], dict[str, float]] = {}
        self._writing: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    def add(self, tenant_id: str, key_id: str, used: Mapping[str, float]) -> None:
        """Count what a call of this key used, by kind."""
        total = self._used.setdefault((tenant_id, key_id), defaultdict(float))
        for kind, amount in used.items():
            total[kind] += amount
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_later())

    async def close(self) -> None:
        """Write what is not written yet."""
        self._closing.set()
        if self._writing is not None:
            await self._writing

    async def _write_later(self) -> None:
        while self._used:
            with suppress(TimeoutError):
                async with asyncio.timeout(_PAUSE_S):
                    await self._closing.wait()
            await self._write()
            if self._closing.is_set():
                return

    async def _write(self) -> None:
        taken, self._used = self._used, {}
        while taken:
            (tenant_id, key_id), used = taken.popitem()
            try:
                await self._database.run("usage.add_of_key", tenant_id=tenant_id, key_id=key_id, kinds=list(used),
                                         amounts=list(used.values()))
            except OperationalError as error:
                _log.warning("usage is not written yet: %s", error)
                self._put_back({**taken, (tenant_id, key_id): used})
                return

    def _put_back(self, unwritten: Mapping[tuple[str, str], Mapping[str, float]]) -> None:
        for owner, used in unwritten.items():
            total = self._used.setdefault(owner, defaultdict(float))
            for kind, amount in used.items():
                total[kind] += amount


def amounts(method: str, request: Any, response: Any, first: bool) -> dict[str, float]:
    """Return the usage of a response of a call, by kind. The call's `first` response counts its prompts too."""
    measure = _MEASURES.get(method)
    return measure(request, response, first) if measure else {}


def _generated(requests: Iterable[Any], completions: Iterable[Any], first: bool) -> dict[str, float]:
    made = float(sum(len(one.ids) for one in completions))
    prompts = float(sum(one.n * len(one.prompt_ids) for one in requests)) if first else 0.0
    return {kind: amount for kind, amount in (("prompt_tokens", prompts), ("completion_tokens", made)) if amount}


def _of_batch(request: Any, response: Any, first: bool) -> dict[str, float]:
    completions = (made for one in response.responses for made in one.completions)
    return _generated(request.requests, completions, first)


def _scored(items: Iterable[Any]) -> dict[str, float]:
    return {"scored_tokens": float(sum(len(one.context_ids) + len(one.ids) for one in items))}


_MEASURES: dict[str, Callable[[Any, Any, bool], dict[str, float]]] = {
    "Generate": lambda request, response, first: _generated([request], response.completions, first),
    "GenerateStream": lambda request, response, first: _generated([request.request], [response.delta], first),
    "GenerateBatch": _of_batch,
    "Score": lambda request, _, __: _scored(request.items),
    "Rate": lambda request, _, __: {"scored_tokens": float(sum(len(one.ids) for one in request.items))},
    "RunGrader": lambda _, response, __: {"grades": 1.0, "grading_s": response.grade.cost_ms / 1000},
    "CheckReferences": lambda _, response, __: {"grades": float(len(response.places))} if response.places else {},
}
"""Usage of each RPC. Grades of a run's samples are counted where they are stored."""
