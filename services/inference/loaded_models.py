"""The models in this process: loads the versions that callers want, and follows each model to its newest version.

    async with models.at(model_id, version_id, timeout_s) as engine:      a caller, who waits for a version
    await models.follow_forever()                                         the loop that loads versions

A first version and a later one take the same way: read and checked (`Versions.load`), prepared by the engine's kind,
and taken over by the engine between two steps if it answers the probe (`EngineThread.take_over`).
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from psycopg import OperationalError

from hone.models.architecture import Architecture
from hone.rpc.errors import NotFound, NotReady
from hone.spec.settings import Settings
from hone.store.objects import StoreAway
from hone.telemetry import logs, metrics
from services.inference.engines import Engine, EngineKind
from services.inference.model_state import LoadedModel, Refusal
from services.inference.registration import Registration
from services.inference.takeover import Action, ProbeRefused, Verdict
from services.inference.thread import EngineThread
from services.inference.versions import REFUSED, VersionRow, Versions

MOST_MODELS = 4
"""Models that stay although nobody uses them. Beyond this number the one that was used last goes last."""
_log = logging.getLogger(__name__)


class LoadedModels:
    """Every model that is served here, or that a caller waits for."""

    def __init__(self, settings: Settings, kind: EngineKind, versions: Versions, registration: Registration) -> None:
        self._settings, self._kind, self._versions, self._registration = settings, kind, versions, registration
        self.thread = EngineThread(asyncio.get_running_loop(), settings.engine.guest_share)
        self._models: dict[str, LoadedModel] = {}
        self.kick = asyncio.Event()
        """Set when versions may have changed, or when somebody wants one."""

    def all(self) -> list[LoadedModel]:
        """Return every model that is served, ordered by id."""
        return [model for _, model in sorted(self._models.items()) if model.engine is not None]

    def engine(self, model_id: str) -> Engine:
        """Return the engine that serves a model. Raises NotFound."""
        model = self._models.get(model_id)
        if model is None or model.engine is None:
            raise NotFound(f"model {model_id} is not served by this engine")
        return model.engine

    @asynccontextmanager
    async def at(
        self, model_id: str, version_id: str, timeout_s: float, min_version: int = 0
    ) -> AsyncIterator[Engine]:
        """Give the engine that serves exactly this version; until the context ends, no newer version takes over.

        Without a version id, any version will do whose number is at least `min_version`.

        Raises NotReady with the reason after `timeout_s`, or at once when only another engine may serve the version.
        Raises NotFound for an unknown version, Unusable for one that this engine cannot use, and Refused for one that
        will never be served: it is abandoned, deleted, or older than the served one.
        """
        model = self._models.setdefault(model_id, LoadedModel(model_id))
        model.want(version_id)
        try:
            engine = await self._serving(model, version_id, min_version, time.monotonic() + timeout_s)
            model.used = time.monotonic()
            yield engine
        finally:
            if model.let_go(version_id):
                self.kick.set()
            self._forget_unused(model)

    async def follow_forever(self) -> None:
        """Load versions when `kick` is set, and look for newer ones every `sweep_s`, until cancelled."""
        async with asyncio.TaskGroup() as takeovers:
            while True:
                self.kick.clear()
                for model in list(self._models.values()):
                    with logs.about(model_id=model.model_id):
                        await self._follow(model, takeovers)
                    if model.engine is not None:
                        self._registration.count(model.model_id, model.engine)
                        self._let_rest(model, model.engine)
                self._evict()
                try:
                    async with asyncio.timeout(self._settings.sweep_s):
                        await self.kick.wait()
                except TimeoutError:
                    continue

    async def _serving(self, model: LoadedModel, version_id: str, min_version: int, deadline: float) -> Engine:
        reason = "it is being loaded"
        while True:
            changed = model.changed
            if model.engine is not None and model.serves(version_id, min_version):
                return model.engine
            try:
                reason = await self._reason_to_wait(model, version_id)
            except OperationalError as error:
                _log.warning("the database is away: %s", str(error).strip())
                reason = "the database is away"
            self.kick.set()
            try:
                async with asyncio.timeout(min(deadline - time.monotonic(), self._settings.sweep_s)):
                    await changed.wait()
            except TimeoutError:
                if time.monotonic() >= deadline:
                    raise NotReady(f"version {version_id or 'newest'} of {model.model_id}: {reason}") from None

    async def _reason_to_wait(self, model: LoadedModel, version_id: str) -> str:
        """Return why a version is not served yet. Raises NotFound, Refused or Unusable when waiting cannot help.

        Raises NotReady when a version failed its probe here and another engine may serve it.
        """
        ids = [version_id] if version_id else []
        ids += [model.served.id] if model.served else []
        rows = await self._versions.rows(model.model_id, ids)
        if version_id and version_id not in rows:
            raise NotFound(f"model {model.model_id} has no version {version_id}")
        row = rows[version_id] if version_id else next((row for row in rows.values() if row.newest), None)
        if row is None:
            return "the model has no live version yet"
        failed_probe = model.refuses(row) and model.refusal is not None and model.refusal.failed_probe
        if failed_probe and await self._registration.others(row.id, self._settings.sweep_s):
            raise NotReady(f"version {row} is refused by this engine, another may serve it: {model.refused_reason}")
        model.check_servable(row, rows)
        return model.refused_reason or f"{model.served or 'nothing'} is served, {row} is to be loaded"

    async def _follow(self, model: LoadedModel, takeovers: asyncio.TaskGroup) -> None:
        try:
            row = await self._next_version(model)
            if row is not None:
                await self._load(model, row, takeovers)
        except (OperationalError, StoreAway) as error:
            _log.warning("model %s: no version loaded: %s", model.model_id, error)
        finally:
            self._forget_unused(model)

    async def _next_version(self, model: LoadedModel) -> VersionRow | None:
        """Return the version to load now, if there is one that no caller holds back."""
        rows = await self._versions.rows(model.model_id, model.ids_of_interest())
        if self._models.get(model.model_id) is not model:
            return None  # its last caller went away meanwhile
        row, held = model.newer(rows), model.is_held(rows)
        model.hold_back(held and row is not None)
        return None if held else row

    async def _load(self, model: LoadedModel, row: VersionRow, takeovers: asyncio.TaskGroup) -> None:
        """Read a version, and have the model's engine take it over."""
        model.begin(row)
        try:
            architecture, version = await self._prepared(row)
        except REFUSED as error:
            self._refuse(model, row, error)
            return
        except StoreAway:
            model.give_up(row)
            raise
        takeover = self._take_over(model, row, model.engine or await self._new_engine(architecture, version), version)
        if model.engine is None:
            await takeover  # nobody can hold a first version back
        else:
            takeovers.create_task(takeover)

    async def _prepared(self, row: VersionRow) -> tuple[Architecture, Any]:
        """Read a version and return it as an engine takes it, with its architecture."""
        started = time.monotonic()
        read = await self._versions.load(row)
        version = await asyncio.to_thread(self._kind.prepare, read)
        _log.info("version %s of %s read in %.0f ms", row, row.model_id, 1000 * (time.monotonic() - started))
        return read.checkpoint.architecture, version

    async def _new_engine(self, architecture: Architecture, version: Any) -> Engine:
        """Return an engine that can take over a model's first version."""
        await asyncio.to_thread(self._kind.measure, architecture)
        return await self.thread.call(lambda: self._kind.make_engine(version, architecture))

    async def _take_over(self, model: LoadedModel, row: VersionRow, engine: Engine, version: Any) -> None:
        verdict = await self.thread.take_over(engine, version)
        if verdict.action is Action.SUPERSEDED:
            model.give_up(row)
            return
        _publish(row, verdict)
        if verdict.served:
            model.engine = engine
            model.serve(row)
            self._registration.loaded(row, verdict.gap)
        else:
            self._refuse(model, row, ProbeRefused(verdict.reason))
            if model.engine is None:
                self.thread.remove(engine)

    def _refuse(self, model: LoadedModel, row: VersionRow, error: Exception) -> None:
        model.refuse(row, Refusal.of(row.id, error, self._settings.sweep_s))
        _log.error("version %s of %s refused: %s", row, row.model_id, model.refused_reason)
        self._registration.refused(row, model.refused_reason)

    def _let_rest(self, model: LoadedModel, engine: Engine) -> None:
        idle_s, after_s = time.monotonic() - model.used, self._settings.vllm.sleep_s
        if after_s is not None and idle_s > after_s and not model.is_wanted and not self.thread.has_requests(engine):
            self.thread.post(engine.rest)

    def _forget_unused(self, model: LoadedModel) -> None:
        """Forget a model that has no engine and that nobody wants."""
        if model.engine is None and model.is_unused and self._models.get(model.model_id) is model:
            del self._models[model.model_id]

    def _evict(self) -> None:
        """Let go of unused models beyond `MOST_MODELS`, first the one that was used longest ago."""
        surplus = len(self._models) - MOST_MODELS
        for model in sorted(self._models.values(), key=lambda model: model.used)[:max(0, surplus)]:
            engine = model.engine
            if engine is not None and model.is_unused and not self.thread.has_requests(engine):
                del self._models[model.model_id]
                self.thread.remove(engine)
                self._registration.evicted(model.model_id, engine)


def _publish(row: VersionRow, verdict: Verdict) -> None:
    """Log a verdict, and count it in the metrics."""
    found = "no probe" if verdict.gap is None else f"gap {verdict.gap.largest:.2g} nats, mean {verdict.gap.mean:.2g}"
    _log.info("version %s of %s %s in %.0f ms: %s", row, row.model_id, verdict.action.value, 1000 * verdict.seconds,
              found)
    metrics.VERSIONS_TAKEN_OVER.labels(row.model_id, verdict.action.value).inc()
    if verdict.gap is not None:
        metrics.PROBE_GAP.labels(row.model_id, "largest").set(verdict.gap.largest)
        metrics.PROBE_GAP.labels(row.model_id, "mean").set(verdict.gap.mean)
