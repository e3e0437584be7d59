"""How a version comes to be served: put in place, asked the probe, tried again in harder ways, or refused.

Promise 5. Engines lose weights silently: a tied output projection keeps its old copy, experts are shuffled, a prefix
cache answers from keys of older weights. So after every update the engine's own log-probs of the probe are compared
with those that the trainer computed for that version, and only a version that agrees is ever served.
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
    """Weights hold NaN or infinity."""


class ProbeRefused(ValueError):
    """An engine computes something else from a version than the trainer did, however its weights are put in place."""


class Action(Enum):
    """How a take-over ended: the last action before a version agreed, or none helped, or a newer version came first."""

    UPDATED = "updated"
    RELOADED = "reloaded"
    REBUILT = "rebuilt"
    REFUSED = "refused"
    SUPERSEDED = "superseded"


@dataclass(frozen=True)
class Tolerance:
    """The largest gap, nats, at which two forwards count as the same: of the worst log-prob, or of their mean."""

    limit: float
    of: Literal["largest", "mean"] = "largest"

    @classmethod
    def of_arithmetic(cls, settings: Settings) -> "Tolerance":
        """Return that of engines in the settings' arithmetic."""
        chosen = settings.engine.probe_tolerance
        if settings.engine.dtype == "float32":
            return cls(chosen or _FLOAT32_NATS)
        return cls(chosen or _TWO_BYTES_NATS, "mean")

    def holds(self, gap: Gap) -> bool:
        return self.measured(gap) <= self.limit

    def measured(self, gap: Gap) -> float:
        """Return the figure that is compared."""
        return gap.largest if self.of == "largest" else gap.mean


EXACT = Tolerance(1e-3)
"""What two float32 forwards of one policy stay far below."""


class Offered(Protocol):
    """A version made ready for an engine."""

    @property
    def id(self) -> str: ...
    @property
    def probe(self) -> Probe | None: ...


V_contra = TypeVar("V_contra", bound=Offered, contravariant=True)
V = TypeVar("V", bound=Offered)


class Holder(Protocol[V_contra]):
    """An engine as far as its weights go."""

    tolerance: Tolerance

    def install(self, version: V_contra) -> None:
        """Put a version's weights into the running engine."""

    def rebuild(self, version: V_contra) -> None:
        """Make everything that depends on weights anew from a version."""

    def gap(self, probe: Probe) -> Gap:
        """Answer the probe as a caller's requests would be answered, and compare."""


@dataclass(frozen=True)
class Verdict:
    """What became of an offered version. Without a probe there is no gap."""

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


def take_over(engine: Holder[V], version: V, served: V | None) -> Verdict:
    """Let an engine serve `version`; when it cannot, let it serve `served` again. Called between two steps.

    Raises ProbeRefused when even that is not possible: the engine is of no use any more.
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


def _tried(engine: Holder[V], version: V, put: Callable[[V], None]) -> tuple[Gap | None, str]:
    """Return the gap, and what is wrong; nothing when the version can be served."""
    try:
        put(version)
        gap = None if version.probe is None else engine.gap(version.probe)
    except Exception as error:  # whatever a library raises on the way, the next way may do without
        return None, f"{type(error).__name__}: {error}"
    if gap is None or engine.tolerance.holds(gap):
        return gap, ""
    found, limit = engine.tolerance.measured(gap), engine.tolerance.limit
    return gap, (f"probe: found a {engine.tolerance.of} difference of {found:.3g} nats from the trainer's log-probs, "
                 f"expected at most {limit:g}")


def _restore(engine: Holder[V], refused: V, served: V) -> None:
    problem = "it is what was refused" if refused is served else _tried(engine, served, engine.rebuild)[1]
    if problem:
        raise ProbeRefused(f"version {served.id} cannot be served again: {problem}")


def check_finite(tensors: Mapping[str, Tensor]) -> None:
    """Raise NotFinite naming the first tensor that is not finite."""
    for name, tensor in tensors.items():
        # One pass, where isfinite makes several and a tensor each: NaN comes through as both bounds.
        if tensor.numel() and not bool(torch.stack(torch.aminmax(tensor)).isfinite().all()):
            raise NotFinite(f"tensor {name} holds NaN or infinity")
