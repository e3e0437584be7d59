"""The models in a process: one engine for each, however many callers want it, and none after it was evicted."""

import asyncio
import gc
import weakref
from collections.abc import Awaitable, Callable
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hone.models.probe import Gap
from hone.spec.settings import Settings
from services.inference.loaded_models import MOST_MODELS, LoadedModels
from services.inference.model_state import LoadedModel, ModelState
from services.inference.registration import Registration
from services.inference.takeover import Action, Offer, Verdict
from services.inference.versions import VersionRow


class IdleEngine:
    """Takes over a version and gets no requests."""

    generated_tokens, generated_samples, computed_s = 1, 0, 0.0
    has_work = False

    def __init__(self) -> None:
        self.version_id = ""
        self.waits = False  # for callers who hold newer versions back
        self._offer: Offer[Any] | None = None

    def offer(self, version_id: str, settle: Callable[[Verdict], None]) -> None:
        if self._offer is not None:
            self._offer.supersede()
        self._offer = Offer(SimpleNamespace(id=version_id), settle)
        if not self.waits:
            self.decide()

    def decide(self) -> None:
        """Serve the version that was offered last."""
        assert self._offer is not None
        self.version_id, offer, self._offer = self._offer.version.id, self._offer, None
        offer.settle(Verdict(self.version_id, Action.UPDATED, Gap(largest=0.2, mean=0.1), 0.0))

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

    def prepare(self, source: Any) -> str:
        return str(source.id)

    def measure(self, architecture: object) -> None:
        """Do nothing."""

    def make_engine(self, _version: str, _architecture: object) -> IdleEngine:
        made = IdleEngine()
        self.made.append(weakref.ref(made))
        return made


class NumberedVersions:
    """Every model has live versions up to the number `newest`. They can be read when the gate is open."""

    def __init__(self) -> None:
        self.gate, self.loading = asyncio.Event(), asyncio.Event()
        self.newest = 0

    async def rows(self, model_id: str, _version_ids: object = ()) -> dict[str, VersionRow]:
        rows = [VersionRow(model_id, f"{model_id}_{number}", number, True, False, number == self.newest, {})
                for number in range(self.newest + 1)]
        return {row.id: row for row in rows}

    async def load(self, row: VersionRow) -> Any:
        self.loading.set()
        await self.gate.wait()
        return SimpleNamespace(id=row.id, checkpoint=SimpleNamespace(architecture=None))


class Setup:
    """Loaded models over idle engines."""

    def __init__(self) -> None:
        self.kind, self.versions = CountingKind(), NumberedVersions()
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
        assert ("set_loaded", {"model_id": "model", "version_id": "model_0", "gap_mean": 0.1, "gap_max": 0.2}
                ) in setup.registration._notes

    lived(visit)


def test_a_version_that_a_caller_holds_back_is_superseded_by_a_newer_one() -> None:
    async def visit(setup: Setup) -> None:
        setup.versions.gate.set()
        await setup.visited("model")
        [model] = setup.models.all()
        engine = cast(IdleEngine, model.engine)
        engine.waits = True
        for newest in (1, 2):
            setup.versions.newest = newest
            setup.models.kick.set()
            await until(partial(is_begun, model, newest))
        assert (model.state, engine.version_id) == (ModelState.LOADING, "model_0")
        await setup.models.thread.call(engine.decide)
        await until(lambda: model.state is ModelState.SERVING)
        assert model.served is not None
        assert (model.served.number, engine.version_id) == (2, "model_2")

    lived(visit)


def test_a_newer_version_is_not_loaded_while_a_caller_insists_on_the_served_one() -> None:
    async def visit(setup: Setup) -> None:
        setup.versions.gate.set()
        async with setup.models.at("model", "model_0", timeout_s=10):
            setup.versions.newest = 1
            setup.models.kick.set()
            await asyncio.sleep(0.2)
            [model] = setup.models.all()
            assert (model.state, model.newest) == (ModelState.SERVING, model.served)
        async with setup.models.at("model", "model_1", timeout_s=10) as engine:
            assert engine.version_id == "model_1"

    lived(visit)


def is_begun(model: LoadedModel, number: int) -> bool:
    return model.newest is not None and model.newest.number == number


async def until(holds: Callable[[], bool]) -> None:
    """Return when a condition holds."""
    async with asyncio.timeout(10):
        while not holds():
            await asyncio.sleep(0.01)
