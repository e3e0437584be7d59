"""Taking over a version: its weights are installed, the probe is compared, and only a version that agrees is served.

Promise 5. Engines lose weights silently: a tied output projection keeps its old copy, experts are shuffled, a prefix
cache answers with keys of older weights. So after each update the engine computes the log-probs of the probe. They are
compared with the log-probs that the trainer computed for this version. If they differ, the weights are installed once
more, then everything is built anew, and then the version is refused.
"""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Generic, Literal, Protocol, TypeVar

import torch
from torch import Tensor

from hone.models.probe import Gap, Probe
from hone.spec.settings import Settings

_log = logging.getLogger(__name__)
_FLOAT32_NATS, _TWO_BYTES_NATS = 1e-3, 0.15
"""Tolerances of the probe for which the settings have no value: of the largest gap, and of the mean gap."""


class NotFinite(ValueError):
    """Weights that contain NaN or infinity."""


class ProbeRefused(ValueError):
    """An engine computes other log-probs than the trainer did, even after a reload and a rebuild."""


class Action(Enum):
    """How a take-over ended: by the action after which the probe agreed, by a refusal, or by a newer version."""

    UPDATED = "updated"
    RELOADED = "reloaded"
    REBUILT = "rebuilt"
    REFUSED = "refused"
    SUPERSEDED = "superseded"


@dataclass(frozen=True)
class Tolerance:
    """The largest gap, in nats, at which two forwards count as equal: of the worst log-prob, or of the mean."""

    limit: float
    of: Literal["largest", "mean"] = "largest"

    @classmethod
    def of_arithmetic(cls, settings: Settings) -> "Tolerance":
        """Return the tolerance for the arithmetic that the settings choose."""
        chosen = settings.engine.probe_tolerance
        if settings.engine.dtype == "float32":
            return cls(chosen or _FLOAT32_NATS)
        return cls(chosen or _TWO_BYTES_NATS, "mean")

    def holds(self, gap: Gap) -> bool:
        return self.measured(gap) <= self.limit

    def measured(self, gap: Gap) -> float:
        """Return the number that is compared with the limit."""
        return gap.largest if self.of == "largest" else gap.mean


EXACT = Tolerance(1e-3)
"""Two float32 forwards of one policy differ by far less."""


class PreparedVersion(Protocol):
    """A version in the form that an engine takes."""

    @property
    def id(self) -> str: ...
    @property
    def probe(self) -> Probe | None: ...


V_contra = TypeVar("V_contra", bound=PreparedVersion, contravariant=True)
V = TypeVar("V", bound=PreparedVersion)


class WeightHolder(Protocol[V_contra]):
    """The part of an engine that take-overs need."""

    tolerance: Tolerance

    def install(self, version: V_contra) -> None:
        """Install a version's weights in the running engine."""

    def rebuild(self, version: V_contra) -> None:
        """Build everything that depends on weights anew from a version."""

    def gap(self, probe: Probe) -> Gap:
        """Compute the probe's log-probs the way a caller's requests are computed, and return the differences."""


@dataclass(frozen=True)
class Verdict:
    """The result of an offer. Without a probe there is no gap."""

    version_id: str
    action: Action
    gap: Gap | None
    seconds: float
    reason: str = ""

    @property
    def served(self) -> bool:
        return self.action in (Action.UPDATED, Action.RELOADED, Action.REBUILT)


@dataclass(frozen=True)
class Offer(Generic[V]):
    """A version that an engine takes over when no caller holds it back."""

    version: V
    settle: Callable[[Verdict], None]  # is called once, with the engine's verdict

    def supersede(self) -> None:
        """Settle this offer because a newer version was offered."""
        self.settle(Verdict(self.version.id, Action.SUPERSEDED, None, 0.0))


def unheard(_: Verdict) -> None:
    """Settle an offer whose verdict nobody waits for."""


def take_over(engine: WeightHolder[V], version: V, served: V | None) -> Verdict:
    """Install `version` in an engine and return the verdict. If it is refused, install `served` again.

    Called between two steps. Raises ProbeRefused when `served` fails too: the engine can serve nothing any more.
    """
    began = time.monotonic()
    attempts = ((Action.UPDATED, engine.install), (Action.RELOADED, engine.install), (Action.REBUILT, engine.rebuild))
    gap, reasons = None, list[str]()
    for action, put in attempts:
        gap, problem = _tried(engine, version, put)
        if not problem:
            return Verdict(version.id, action, gap, time.monotonic() - began)
        reasons.append(problem)
        _log.error("version %s not %s: %s", version.id, action.value, problem)
    if served is not None:
        _restore(engine, version, served)
    return Verdict(version.id, Action.REFUSED, gap, time.monotonic() - began,
                   f"{reasons[-1]}, after an update, a reload and a rebuild")


def _tried(engine: WeightHolder[V], version: V, put: Callable[[V], None]) -> tuple[Gap | None, str]:
    """Return the gap and the problem; the problem is empty when the version can be served."""
    try:
        put(version)
        gap = None if version.probe is None else engine.gap(version.probe)
    except Exception as error:  # a library may fail in one way of installing and not in the next
        return None, f"{type(error).__name__}: {error}"
    if gap is None or engine.tolerance.holds(gap):
        return gap, ""
    found, limit = engine.tolerance.measured(gap), engine.tolerance.limit
    return gap, (f"probe: found a {engine.tolerance.of} difference of {found:.3g} nats from the trainer's log-probs, "
                 f"expected at most {limit:g}")


def _restore(engine: WeightHolder[V], refused: V, served: V) -> None:
    problem = "it is the version that was refused" if refused is served else _tried(engine, served, engine.rebuild)[1]
    if problem:
        raise ProbeRefused(f"version {served.id} cannot be served again: {problem}")


def check_finite(tensors: Mapping[str, Tensor]) -> None:
    """Raise NotFinite with the name of the first tensor that contains NaN or infinity."""
    for name, tensor in tensors.items():
        # One pass, where isfinite takes several, with a new tensor each. A NaN makes both bounds NaN.
        if tensor.numel() and not bool(torch.stack(torch.aminmax(tensor)).isfinite().all()):
            raise NotFinite(f"tensor {name} holds NaN or infinity")
