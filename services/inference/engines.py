"""What this service needs of an engine, and which engines there are."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, cast

from hone.models.architecture import Architecture
from hone.models.checkpoint import Checkpoint
from hone.models.probe import Probe
from hone.spec.settings import Settings
from hone.trajectory.tokens import Tokenizer
from services.inference.requests import Answer, Request
from services.inference.scoring import Scored, ScoreItem
from services.inference.takeover import Verdict

KINDS = {
    "native": ("services.inference.native.kind", "NativeKind"),
    "vllm": ("services.inference.vllm.kind", "VllmKind"),
}
"""The module and class of each engine kind, by the value of HONE_ENGINE. Only the chosen one is imported."""


@dataclass(frozen=True)
class Version:
    """A version read and checked: a whole model, or an adapter's files beside its base."""

    id: str
    model_id: str
    checkpoint: Checkpoint  # the base where there is an adapter
    adapter: Mapping[str, bytes] | None
    base: str  # digest of the base's files, which all adapters beside it name; empty for a whole model
    tokenizer: Tokenizer
    probe: Probe | None

    def merged(self) -> Checkpoint:
        """Return the whole model, an adapter merged into its base. Raises BadCheckpoint."""
        return self.checkpoint if self.adapter is None else self.checkpoint.adapted(self.adapter)


class Engine(Protocol):
    """One resident model. `step` is the whole of it; every other method is called between steps."""

    architecture: Architecture
    version_id: str
    paused: bool
    holds: int  # callers who need the present version to stay
    generated_tokens: int
    generated_samples: int
    computed_s: float  # kept by whoever steps the engine

    @property
    def running(self) -> int:
        """Sequences that make tokens."""

    @property
    def waiting(self) -> int:
        """Sequences that have made none yet."""

    @property
    def has_work(self) -> bool:
        """Whether a step would do anything."""

    def submit(self, request: Request) -> bool:
        """Queue a request; False when it insists on a version not served now."""

    def offer(self, version: Any, settle: Callable[[Verdict], None]) -> None:
        """Take over a version that this engine's kind prepared, at the first step at which nobody insists on the
        present one. Then call `settle` with the verdict.

        An offer that was not settled yet is superseded.
        """

    def abort(self, request: Request) -> int:
        """End a request; what it made is in the next step's answers. Returns how many sequences were ended."""

    def score(self, items: list[ScoreItem], temperature: float, top_k: int = 0) -> list[Scored]:
        """Return log-probs, entropies and likeliest ids of at most scoring.BATCH items.

        Raises hone.rpc.errors.Refused.
        """

    def step(self) -> list[Answer]:
        """Take new weights over, make one token for every running sequence, return what ended."""

    def rest(self) -> None:
        """Give back what only a busy engine needs; the next step takes it again."""

    def close(self) -> None:
        """Give back what it holds; nothing is asked of it any more."""


class EngineKind(Protocol):
    """An engine's makers. `prepared` and `explored` are called off the engines' thread, `engine` on it."""

    name: str
    least_temperature: float  # that it draws at as it is asked to, other than 0

    def build(self) -> dict[str, str]:
        """Return versions of what it computes with, for the engine's row."""

    def prepared(self, version: Version) -> Any:
        """Return a version ready to be offered. Raises ValueError when it is unusable, naming what is wrong."""

    def explored(self, architecture: Architecture) -> None:
        """Find out what the first engine of an architecture has to know."""

    def engine(self, version: Any, architecture: Architecture) -> Engine:
        """Return an engine that serves no version yet, and that can take over this one and later ones of its model."""


def kind(settings: Settings) -> EngineKind:
    """Return the chosen engine's. Raises ImportError where its environment is another one."""
    module, name = KINDS[settings.engine.kind]
    return cast(EngineKind, getattr(import_module(module), name)(settings))
