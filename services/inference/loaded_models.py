"""The models this engine holds: which version each has, which it should have, and who waits for which."""

import asyncio
import logging
import math
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from psycopg import OperationalError

from hone.models.architecture import Architecture
from hone.rpc.errors import NotFound, NotReady, Refused, Unusable
from hone.spec.settings import Settings
from hone.store.objects import StoreAway
from hone.telemetry import logs, metrics
from services.inference.engines import Engine, EngineKind
from services.inference.registration import Registration
from services.inference.takeover import ProbeRefused, Verdict
from services.inference.thread import EngineThread
from services.inference.versions import REFUSED, UNUSABLE, VersionRow, Versions

RESIDENT = 4
"""Models kept when idle; the one unused for the longest time goes first."""
_log = logging.getLogger(__name__)


@dataclass(eq=False)
class LoadedModel:
    """A model that is held or wanted."""

    model_id: str
    engine: Engine | None = None
    loaded: VersionRow | None = None
    offers: dict[str, VersionRow] = field(default_factory=dict)  # handed to the engine, by id, the newest last
    refused: VersionRow | None = None
    refused_reason: str = ""
    disagrees: bool = False  # the refused version computes something else here than its trainer did
    refused_until: float = 0.0  # monotonic seconds; infinite when trying again cannot help
    wanted: Counter[str] = field(default_factory=Counter)  # version ids that callers insist on; "" is any
    held_back: bool = False  # a newer version waits for one of them
    loading: bool = False
    used: float = field(default_factory=time.monotonic)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def offered(self) -> VersionRow | None:
        """The version handed to the engine last, which takes it over when it can."""
        return next(reversed(self.offers.values()), None)

    def decided(self, version_id: str) -> VersionRow | None:
        """Return an offered version that the engine has decided on; older offers were replaced by it."""
        row = self.offers.get(version_id)
        if row is not None:
            ids = list(self.offers)
            self.offers = {id: self.offers[id] for id in ids[ids.index(version_id) + 1:]}
        return row

    def refuses(self, row: VersionRow) -> bool:
        """Whether a version was refused and is not to be tried again yet."""
        return self.refused is not None and self.refused.id == row.id and time.monotonic() < self.refused_until

    def notify(self) -> None:
        """Wake whoever waits for a change."""
        self.changed.set()
        self.changed = asyncio.Event()


class LoadedModels:
    """Loads what callers want and follows each held model to its newest live version."""

    def __init__(self, settings: Settings, kind: EngineKind, versions: Versions, registration: Registration) -> None:
        self._settings, self._kind, self._versions, self._registration = settings, kind, versions, registration
        self._thread = EngineThread(asyncio.get_running_loop(), self._decided)
        self._held: dict[str, LoadedModel] = {}
        self.kick = asyncio.Event()
        """Set when versions may have changed or somebody wants one."""

    @property
    def thread(self) -> EngineThread:
        return self._thread

    def all(self) -> list[LoadedModel]:
        """Return every model that is held, by id."""
        return [model for _, model in sorted(self._held.items()) if model.engine is not None]

    def engine(self, model_id: str) -> Engine:
        """Return the engine that holds a model. Raises NotFound."""
        model = self._held.get(model_id)
        if model is None or model.engine is None:
            raise NotFound(f"model {model_id} is not resident")
        return model.engine

    @asynccontextmanager
    async def at(
        self, model_id: str, version_id: str, timeout_s: float, min_version: int = 0
    ) -> AsyncIterator[Engine]:
        """Give the engine that serves exactly this version; inside, no newer one takes over.

        Without a version, any will do whose number is at least `min_version`.

        Raises NotReady with the reason when that takes longer than `timeout_s` or only another engine may serve it,
        NotFound for unknown versions, Unusable for those that this engine cannot use, Refused when it can never be:
        abandoned, deleted, or older than the one that is served.
        """
        model = self._held.setdefault(model_id, LoadedModel(model_id))
        model.wanted[version_id] += 1
        try:
            engine = await self._serving(model, version_id, min_version, time.monotonic() + timeout_s)
            model.used = time.monotonic()
            yield engine
        finally:
            self._release(model, version_id)

    def _release(self, model: LoadedModel, version_id: str) -> None:
        model.wanted -= Counter([version_id])
        if model.held_back:
            self.kick.set()
        self._forget_unwanted(model)

    def _forget_unwanted(self, model: LoadedModel) -> None:
        if model.engine is None and not model.wanted and not model.loading:
            self._held.pop(model.model_id, None)

    async def converge_forever(self) -> None:
        """Load what is wanted whenever it changes, and look each sweep, until cancelled."""
        while True:
            self.kick.clear()
            for model in list(self._held.values()):
                with logs.about(model_id=model.model_id):
                    await self._converge_or_say_why(model)
                if model.engine is not None:
                    self._registration.count(model.model_id, model.engine)
                    self._let_rest(model, model.engine)
            self._evict()
            try:
                async with asyncio.timeout(self._settings.sweep_s):
                    await self.kick.wait()
            except TimeoutError:
                continue

    def _let_rest(self, model: LoadedModel, engine: Engine) -> None:
        idle_s, after_s = time.monotonic() - model.used, self._settings.vllm.sleep_s
        if after_s is not None and idle_s > after_s and not model.wanted and not self._thread.open(engine):
            self._thread.post(engine.rest)

    async def _serving(self, model: LoadedModel, version_id: str, min_version: int, deadline: float) -> Engine:
        reason = "it is being loaded"
        while True:
            changed = model.changed
            loaded, engine = model.loaded, model.engine
            if engine is not None and loaded is not None and _serves(loaded, version_id, min_version):
                return engine
            try:
                reason = await self._why_not(model, version_id)
            except OperationalError as error:
                reason = f"the database is away: {error}"
            self.kick.set()
            try:
                async with asyncio.timeout(min(deadline - time.monotonic(), self._settings.sweep_s)):
                    await changed.wait()
            except TimeoutError:
                if time.monotonic() >= deadline:
                    raise NotReady(f"version {version_id or 'newest'} of {model.model_id}: {reason}") from None

    async def _why_not(self, model: LoadedModel, version_id: str) -> str:
        """Return what is being waited for. Raises NotFound, Refused, Unusable when waiting is in vain.

        A version that failed its probe here may be served by another engine: NotReady then, at once.
        """
        served = [model.loaded.id] if model.loaded else []
        rows = await self._versions.rows(model.model_id, [version_id, *served] if version_id else served)
        if version_id and version_id not in rows:
            raise NotFound(f"model {model.model_id} has no version {version_id}")
        row = rows[version_id] if version_id else next((row for row in rows.values() if row.newest), None)
        if row is None:
            return "the model has no live version yet"
        if model.disagrees and model.refuses(row) and await self._registration.others(
                row.id, self._settings.sweep_s):
            raise NotReady(f"version {row} is refused by this engine, another may serve it: {model.refused_reason}")
        _refuse_hopeless(row, model, rows)
        return model.refused_reason or f"{model.loaded or 'nothing'} is served, {row} is to be loaded"

    async def _converge_or_say_why(self, model: LoadedModel) -> None:
        model.loading = True  # nobody else is to take its place, even if whoever wanted it goes away
        try:
            target = await self._target(model)
            if target is not None:
                await self._load(model, target)
        except (OperationalError, StoreAway) as error:
            _log.warning("model %s not converged: %s", model.model_id, error)
        finally:
            model.loading = False
            self._forget_unwanted(model)

    async def _target(self, model: LoadedModel) -> VersionRow | None:
        """Return the version to load now: the oldest newer one insisted on, else the newest live one."""
        at = model.offered or model.loaded
        named = {version_id for version_id in model.wanted if version_id} | ({at.id} if at else set())
        rows = await self._versions.rows(model.model_id, named)
        model.held_back = at is not None and at.id in model.wanted and rows[at.id].live
        if model.held_back:
            return None
        behind = at is None or not rows[at.id].live
        asked = [row for row in rows.values() if row.id in model.wanted or row.newest]
        ahead = [row for row in asked
                 if row.live and not row.deleted and (behind or at is None or row.number > at.number)]
        insisted = [row for row in ahead if row.id in model.wanted]
        target = min(insisted or ahead, key=lambda row: row.number, default=None)
        return None if target is None or target == at or model.refuses(target) else target

    async def _load(self, model: LoadedModel, row: VersionRow) -> None:
        started = time.monotonic()
        try:
            source = await self._versions.load(row)
            version = await asyncio.to_thread(self._kind.prepared, source)
        except REFUSED as error:
            self._refuse(model, row, error)
            return
        _log.info("version %s of %s read in %.0f ms", row, row.model_id, 1000 * (time.monotonic() - started))
        if model.engine is None:
            await self._house(model, row, version, source.checkpoint.architecture)
        else:
            model.offers[row.id] = row
            self._thread.post(partial(model.engine.offer, version))

    async def _house(self, model: LoadedModel, row: VersionRow, version: Any, shape: Architecture) -> None:
        """Make an engine for a model's first version."""
        await asyncio.to_thread(self._kind.explored, shape)
        engine = await self._thread.call(lambda: self._kind.engine(version, shape))
        verdict = engine.verdicts.pop()
        self._tell(row, verdict)
        if not verdict.served:
            self._thread.post(engine.close)
            self._refuse(model, row, ProbeRefused(verdict.reason))
            return
        model.engine = engine
        self._thread.add(engine)
        self._note_loaded(model, row, verdict)

    def _refuse(self, model: LoadedModel, row: VersionRow, error: Exception) -> None:
        model.refused, model.refused_reason = row, f"{type(error).__name__}: {error}"
        model.disagrees = isinstance(error, ProbeRefused)
        model.refused_until = math.inf if isinstance(error, UNUSABLE) else time.monotonic() + self._settings.sweep_s
        _log.error("version %s of %s refused: %s", row, row.model_id, model.refused_reason)
        model.notify()
        self._registration.note("refused", model_id=row.model_id, version_id=row.id, reason=model.refused_reason)

    def _decided(self, engine: Engine, verdict: Verdict) -> None:
        """Note what became of a version that an engine was offered, even if it has been offered a newer one since."""
        for model in self._held.values():
            row = model.decided(verdict.version_id) if model.engine is engine else None
            if row is None:
                continue
            with logs.about(model_id=model.model_id):
                self._tell(row, verdict)
                if verdict.served:
                    self._note_loaded(model, row, verdict)
                else:
                    self._refuse(model, row, ProbeRefused(verdict.reason))

    def _tell(self, row: VersionRow, verdict: Verdict) -> None:
        told = "no probe" if verdict.gap is None else f"gap {verdict.gap.largest:.2g} nats, mean {verdict.gap.mean:.2g}"
        _log.info("version %s of %s %s in %.0f ms: %s", row, row.model_id, verdict.action.value,
                  1000 * verdict.seconds, told)
        metrics.VERSIONS_TAKEN_OVER.labels(row.model_id, verdict.action.value).inc()
        if verdict.gap is not None:
            metrics.PROBE_GAP.labels(row.model_id, "largest").set(verdict.gap.largest)
            metrics.PROBE_GAP.labels(row.model_id, "mean").set(verdict.gap.mean)

    def _note_loaded(self, model: LoadedModel, row: VersionRow, verdict: Verdict) -> None:
        model.loaded, model.refused, model.refused_reason = row, None, ""
        model.notify()
        gap = verdict.gap
        self._registration.note("loaded", model_id=row.model_id, version_id=row.id,
                          gap_mean=None if gap is None else gap.mean, gap_max=None if gap is None else gap.largest)

    def _evict(self) -> None:
        """Let go of idle models beyond `RESIDENT`, the longest unused first."""
        surplus = len(self._held) - RESIDENT
        for model in sorted(self._held.values(), key=lambda model: model.used)[:max(0, surplus)]:
            engine = model.engine
            if engine is not None and not model.wanted and not self._thread.open(engine):
                del self._held[model.model_id]
                self._thread.remove(engine)
                self._thread.post(engine.close)
                self._registration.count(model.model_id, engine)
                self._registration.forget(engine)
                self._registration.note("evicted", model_id=model.model_id)


def _serves(loaded: VersionRow, version_id: str, min_version: int) -> bool:
    return loaded.id == version_id if version_id else loaded.number >= min_version


def _refuse_hopeless(row: VersionRow, model: LoadedModel, rows: dict[str, VersionRow]) -> None:
    served = rows.get(model.loaded.id) if model.loaded else None
    if not row.live or row.deleted:
        raise Refused(f"version {row} is {'abandoned' if not row.live else 'deleted'}")
    if model.refuses(row) and math.isinf(model.refused_until):
        raise Unusable(f"version {row} is unusable: {model.refused_reason}")
    if served is not None and served.live and row.id != served.id and row.number <= served.number:
        raise Refused(f"version {row} is older than {served}, which this engine serves")
