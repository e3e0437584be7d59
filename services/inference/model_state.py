"""One model in this process: its state, the version it serves, and the versions on their way.

    EMPTY     no version is served, and none is on its way
    LOADING   a version is on its way: it is being read, or the engine has not answered yet whether it serves it
    SERVING   the version that was tried last is served
    REFUSED   the version that was tried last is refused

A version stays served while a newer one is loading and after a newer one was refused. All methods run on the event
loop. Questions change nothing; each command (`begin`, `serve`, `refuse`, `give_up`) is a transition.
"""

import asyncio
import math
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from hone.rpc.errors import Refused, Unusable
from services.inference.engines import Engine
from services.inference.takeover import ProbeRefused
from services.inference.versions import UNUSABLE, VersionRow


class ModelState(Enum):
    """See the module's description."""

    EMPTY = "empty"
    LOADING = "loading"
    SERVING = "serving"
    REFUSED = "refused"


TRANSITIONS: Mapping[ModelState, frozenset[ModelState]] = {
    ModelState.EMPTY: frozenset({ModelState.LOADING}),
    # It stays LOADING while another version is still on its way. A load that is given up leads back to before.
    ModelState.LOADING: frozenset(ModelState),
    ModelState.SERVING: frozenset({ModelState.LOADING}),
    ModelState.REFUSED: frozenset({ModelState.LOADING}),
}


@dataclass(frozen=True)
class Refusal:
    """Why a version was refused, and whether it may be tried again."""

    version_id: str
    reason: str
    failed_probe: bool  # this engine computes other log-probs than the trainer; another engine may not
    retry_at: float  # monotonic seconds; infinite when another try cannot help

    @classmethod
    def of(cls, version_id: str, error: Exception, retry_s: float) -> "Refusal":
        """Return the refusal for an error, to be tried again after `retry_s` if that can help."""
        retry_at = math.inf if isinstance(error, UNUSABLE) else time.monotonic() + retry_s
        return cls(version_id, f"{type(error).__name__}: {error}", isinstance(error, ProbeRefused), retry_at)

    @property
    def is_final(self) -> bool:
        return math.isinf(self.retry_at)


class LoadedModel:
    """A model that is served, or that a caller wants to be."""

    def __init__(self, model_id: str) -> None:
        self.model_id = model_id
        self.state = ModelState.EMPTY
        self.engine: Engine | None = None  # from the first served version on
        self.served: VersionRow | None = None
        self.refusal: Refusal | None = None  # of the version that was refused last, until another one is served
        self.used = time.monotonic()
        self.changed = asyncio.Event()  # set, and replaced by a new one, after a version was served or refused
        self._loading: list[VersionRow] = []  # versions on their way, the newest last
        self._wanted: Counter[str] = Counter()  # callers by the version id that they insist on; "" is any version
        self._held_back = False  # a newer version waits for a caller who insists on the present one

    @property
    def newest(self) -> VersionRow | None:
        """The version that was begun last, or else the one that is served."""
        return self._loading[-1] if self._loading else self.served

    @property
    def refused_reason(self) -> str:
        return self.refusal.reason if self.refusal else ""

    @property
    def is_wanted(self) -> bool:
        return bool(self._wanted)

    @property
    def is_unused(self) -> bool:
        """Whether no caller wants the model and no version of it is on its way."""
        return not self._wanted and self.state is not ModelState.LOADING

    def serves(self, version_id: str, min_version: int) -> bool:
        """Whether exactly this version is served; without one, whether a version of at least `min_version` is."""
        if self.served is None:
            return False
        return self.served.id == version_id if version_id else self.served.number >= min_version

    def refuses(self, row: VersionRow) -> bool:
        """Whether a version was refused and must not be tried again yet."""
        return self.refusal is not None and self.refusal.version_id == row.id and (
            time.monotonic() < self.refusal.retry_at)

    def ids_of_interest(self) -> set[str]:
        """Return the ids of the versions whose rows `newer` needs, besides the newest live one."""
        present = {row.id for row in (*self._loading, self.served) if row is not None}
        return present | {version_id for version_id in self._wanted if version_id}

    def newer(self, rows: Mapping[str, VersionRow]) -> VersionRow | None:
        """Return the version to load now: the oldest newer one that a caller insists on, else the newest live one.

        An abandoned version gives way to any live one. A version that is refused is not returned until its next try.
        """
        at = self.newest
        least = at.number if at is not None and rows[at.id].live else -1
        newer = [row for row in rows.values() if (row.newest or row.id in self._wanted)
                 and row.live and not row.deleted and row.number > least]
        insisted = [row for row in newer if row.id in self._wanted]
        found = min(insisted or newer, key=lambda row: row.number, default=None)
        return None if found is None or self.refuses(found) else found

    def is_held(self, rows: Mapping[str, VersionRow]) -> bool:
        """Whether a caller insists on the present version, so that a newer one has to wait."""
        at = self.newest
        return at is not None and at.id in self._wanted and rows[at.id].live

    def check_servable(self, row: VersionRow, rows: Mapping[str, VersionRow]) -> None:
        """Raise Refused or Unusable when this engine will never serve a version."""
        served = rows.get(self.served.id) if self.served else None
        if not row.live or row.deleted:
            raise Refused(f"version {row} is {'abandoned' if not row.live else 'deleted'}")
        if self.refusal is not None and self.refuses(row) and self.refusal.is_final:
            raise Unusable(f"version {row} is unusable: {self.refusal.reason}")
        if served is not None and served.live and row.id != served.id and row.number <= served.number:
            raise Refused(f"version {row} is older than {served}, which this engine serves")

    def want(self, version_id: str) -> None:
        """Count a caller who insists on a version; an empty id means any version."""
        self._wanted[version_id] += 1

    def let_go(self, version_id: str) -> bool:
        """Count that caller no more. Returns whether a newer version was held back, so that it may be looked for."""
        self._wanted -= Counter([version_id])
        return self._held_back

    def hold_back(self, waits: bool) -> None:
        """Note whether a newer version waits for callers who insist on the present one."""
        self._held_back = waits

    def begin(self, row: VersionRow) -> None:
        """A version is on its way."""
        self._loading.append(row)
        self._enter(ModelState.LOADING)

    def serve(self, row: VersionRow) -> None:
        """The engine serves a version that was begun."""
        self._loading.remove(row)
        self.served, self.refusal = row, None
        self._enter(ModelState.SERVING)
        self._notify()

    def refuse(self, row: VersionRow, refusal: Refusal) -> None:
        """A version that was begun is not served; the one before stays."""
        self._loading.remove(row)
        self.refusal = refusal
        self._enter(ModelState.REFUSED)
        self._notify()

    def give_up(self, row: VersionRow) -> None:
        """A version that was begun is neither served nor refused: it could not be read, or a newer one replaced it."""
        self._loading.remove(row)
        before = ModelState.REFUSED if self.refusal else ModelState.SERVING if self.served else ModelState.EMPTY
        self._enter(before)

    def _enter(self, state: ModelState) -> None:
        entered = ModelState.LOADING if self._loading else state
        if entered not in TRANSITIONS[self.state]:
            raise RuntimeError(f"model {self.model_id}: found a transition from {self.state.value} to {entered.value}, "
                               f"expected one to {sorted(each.value for each in TRANSITIONS[self.state])}")
        self.state = entered

    def _notify(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()
