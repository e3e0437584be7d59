"""Which models an engine process holds: one engine each, whoever asked, and nothing of those it let go."""

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
    """Holds a version and is never asked for a token."""

    generated_tokens, generated_samples, computed_s = 1, 0, 0.0
    has_work = False

    def offer(self, version_id: str, settle: Callable[[Verdict], None]) -> None:
        settle(Verdict(version_id, Action.UPDATED, Gap(largest=0.2, mean=0.1), 0.0))

    def close(self) -> None:
        """Hold nothing that would have to be given back."""


class CountingKind:
    """Makes idle engines and remembers them weakly."""

    name = "idle"
    least_temperature = 0.0

    def __init__(self) -> None:
        self.made: list[weakref.ref[IdleEngine]] = []

    def build(self) -> dict[str, str]:
        return {}

    def prepared(self, source: Any) -> str:
        return str(source.id)

    def explored(self, architecture: object) -> None:
        """Need to know nothing."""

    def engine(self, _version: str, _architecture: object) -> IdleEngine:
        made = IdleEngine()
        self.made.append(weakref.ref(made))
        return made


class OneVersionEach:
    """Every model has one live version, read once the gate is open."""

    def __init__(self) -> None:
        self.gate, self.loading = asyncio.Event(), asyncio.Event()

    async def rows(self, model_id: str, _version_ids: object = ()) -> dict[str, VersionRow]:
        row = VersionRow(model_id, f"ver_{model_id}", 0, live=True, deleted=False, newest=True, files={})
        return {row.id: row}

    async def load(self, row: VersionRow) -> Any:
        self.loading.set()
        await self.gate.wait()
        return SimpleNamespace(id=row.id, checkpoint=SimpleNamespace(architecture=None))


class House:
    """LoadedModels at work over idle engines."""

    def __init__(self) -> None:
        self.kind, self.versions = CountingKind(), OneVersionEach()
        self.registration = Registration(cast(Any, None), "engine-0", "nowhere", cast(Any, self.kind))
        self.models = LoadedModels(
            Settings(sweep_s=0.05), cast(Any, self.kind), cast(Any, self.versions), self.registration)

    async def visited(self, model_id: str) -> None:
        """Ask for a model and let it go again."""
        async with self.models.at(model_id, "", timeout_s=10):
            pass


def lived(visit: Callable[[House], Awaitable[None]]) -> None:
    """Run `visit` in a house whose engines' thread and convergence work."""

    async def live() -> None:
        house = House()
        house.models.thread.start()
        following = asyncio.create_task(house.models.follow_forever())
        try:
            await visit(house)
        finally:
            following.cancel()
            await asyncio.to_thread(house.models.thread.stop)

    asyncio.run(live())


def test_a_model_whose_caller_went_away_while_it_loaded_is_held_once() -> None:
    async def visit(house: House) -> None:
        first = asyncio.create_task(house.visited("model"))
        await house.versions.loading.wait()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        second = asyncio.create_task(house.visited("model"))
        await asyncio.sleep(0)  # it asks while the first one's load goes on
        house.versions.gate.set()
        await second
        assert len(house.kind.made) == 1
        assert [model.model_id for model in house.models.all()] == ["model"]

    lived(visit)


def test_an_engine_that_was_let_go_is_held_by_nobody() -> None:
    async def visit(house: House) -> None:
        house.versions.gate.set()
        for number in range(MOST_MODELS + 1):
            await house.visited(f"model-{number}")
        gone = house.kind.made[0]
        for _ in range(40):
            gc.collect()
            if gone() is None:
                break
            await asyncio.sleep(0.05)
        assert gone() is None
        assert [model.model_id for model in house.models.all()] == [
            f"model-{number}" for number in range(1, MOST_MODELS + 1)]

    lived(visit)


def test_how_far_a_version_was_off_is_noted_with_it() -> None:
    async def visit(house: House) -> None:
        house.versions.gate.set()
        await house.visited("model")
        assert ("loaded", {"model_id": "model", "version_id": "ver_model", "gap_mean": 0.1, "gap_max": 0.2}
                ) in house.registration._notes

    lived(visit)
