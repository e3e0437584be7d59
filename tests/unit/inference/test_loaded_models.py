"""The models in a process: one engine for each, however many callers want it, and none after it was evicted."""

import asyncio
import gc
import weakref
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hone.models.probe import Gap
from hone.spec.settings import Settings
from services.inference.loaded_models import MOST_MODELS, LoadedModels
from services.inference.registration import Registration
from services.inference.takeover import Action, Verdict
from services.inference.versions import VersionRow


class IdleEngine:
    """Takes over a version and gets no requests."""

    generated_tokens, generated_samples, computed_s = 1, 0, 0.0
    has_work = False

    def offer(self, version_id: str, settle: Callable[[Verdict], None]) -> None:
        settle(Verdict(version_id, Action.UPDATED, Gap(largest=0.2, mean=0.1), 0.0))

    def close(self) -> None:
        """Do nothing."""


class CountingKind:
    """Makes idle engines and keeps weak references to them."""

    name = "idle"
    least_temperature = 0.0

    def __init__(self) -> None:
        self.made: list[weakref.ref[IdleEngine]] = []

    def build(self) -> dict[str, str]:
        return {}

    def prepared(self, source: Any) -> str:
        return str(source.id)

    def explored(self, architecture: object) -> None:
        """Do nothing."""

    def engine(self, _version: str, _architecture: object) -> IdleEngine:
        made = IdleEngine()
        self.made.append(weakref.ref(made))
        return made


class OneVersionEach:
    """Every model has one live version, which can be read when the gate is open."""

    def __init__(self) -> None:
        self.gate, self.loading = asyncio.Event(), asyncio.Event()

    async def rows(self, model_id: str, _version_ids: object = ()) -> dict[str, VersionRow]:
        row = VersionRow(model_id, f"ver_{model_id}", 0, live=True, deleted=False, newest=True, files={})
        return {row.id: row}

    async def load(self, row: VersionRow) -> Any:
        self.loading.set()
        await self.gate.wait()
        return SimpleNamespace(id=row.id, checkpoint=SimpleNamespace(architecture=None))


class Setup:
    """Loaded models over idle engines."""

    def __init__(self) -> None:
        self.kind, self.versions = CountingKind(), OneVersionEach()
        self.registration = Registration(cast(Any, None), "engine-0", "nowhere", cast(Any, self.kind))
        self.models = LoadedModels(
            Settings(sweep_s=0.05), cast(Any, self.kind), cast(Any, self.versions), self.registration)

    async def visited(self, model_id: str) -> None:
        """Want a model until it is served."""
        async with self.models.at(model_id, "", timeout_s=10):
            pass


def lived(visit: Callable[[Setup], Awaitable[None]]) -> None:
    """Run `visit` while the engines' thread and the loop that loads versions are running."""

    async def live() -> None:
        setup = Setup()
        setup.models.thread.start()
        following = asyncio.create_task(setup.models.follow_forever())
        try:
            await visit(setup)
        finally:
            following.cancel()
            await asyncio.to_thread(setup.models.thread.stop)

    asyncio.run(live())


def test_a_model_whose_caller_went_away_while_it_was_loading_is_loaded_once() -> None:
    async def visit(setup: Setup) -> None:
        first = asyncio.create_task(setup.visited("model"))
        await setup.versions.loading.wait()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        second = asyncio.create_task(setup.visited("model"))
        await asyncio.sleep(0)  # it begins to wait while the model is loading
        setup.versions.gate.set()
        await second
        assert len(setup.kind.made) == 1
        assert [model.model_id for model in setup.models.all()] == ["model"]

    lived(visit)


def test_an_evicted_engine_is_freed() -> None:
    async def visit(setup: Setup) -> None:
        setup.versions.gate.set()
        for number in range(MOST_MODELS + 1):
            await setup.visited(f"model-{number}")
        gone = setup.kind.made[0]
        for _ in range(40):
            gc.collect()
            if gone() is None:
                break
            await asyncio.sleep(0.05)
        assert gone() is None
        assert [model.model_id for model in setup.models.all()] == [
            f"model-{number}" for number in range(1, MOST_MODELS + 1)]

    lived(visit)


def test_the_gap_of_a_version_is_written_to_its_row() -> None:
    async def visit(setup: Setup) -> None:
        setup.versions.gate.set()
        await setup.visited("model")
        assert ("loaded", {"model_id": "model", "version_id": "ver_model", "gap_mean": 0.1, "gap_max": 0.2}
                ) in setup.registration._notes

    lived(visit)
