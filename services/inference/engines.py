"""The contract between the service and its engines, and the kinds of engine that exist."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, cast

from hone.models.architecture import Architecture
from hone.models.checkpoint import Checkpoint
from hone.models.probe import Probe
from hone.spec.settings import Settings
from hone.text.model_text import ModelText
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
    """A version that was read and checked: a whole model, or an adapter with its base."""

    id: str
    model_id: str
    checkpoint: Checkpoint  # the whole model, or the adapter's base
    adapter: Mapping[str, bytes] | None  # files by name; None for a whole model
    base: str  # digest of the base's files, equal for all adapters of one base; empty for a whole model
    tokenizer: ModelText
    probe: Probe | None

    def merged(self) -> Checkpoint:
        """Return the whole model, with an adapter merged into its base. Raises BadCheckpoint."""
        return self.checkpoint if self.adapter is None else self.checkpoint.adapted(self.adapter)


class Engine(Protocol):
    """Makes the tokens of one model. `step` does the work; all other methods are called between steps."""

    architecture: Architecture
    version_id: str  # empty until a first version is served
    paused: bool
    holds: int  # callers who need the present version: while there are any, no other takes over
    generated_tokens: int
    generated_samples: int
    computed_s: float  # seconds spent in `step`, added up by the engines' thread

    @property
    def running(self) -> int:
        """Number of sequences that are making tokens."""

    @property
    def waiting(self) -> int:
        """Number of sequences that have made no token yet."""

    @property
    def tokenizer(self) -> ModelText:
        """The text of the served version. Raises LookupError while none is served."""

    @property
    def has_work(self) -> bool:
        """Whether a step would do anything."""

    def submit(self, request: Request) -> bool:
        """Queue a request, and return True; return False when it insists on another version than the served one."""

    def offer(self, version: Any, settle: Callable[[Verdict], None]) -> None:
        """Take over a prepared version at the first step at which no request insists on the present one.

        Then call `settle` with the verdict. An earlier offer that was not settled yet is superseded.
        """

    def abort(self, request: Request) -> int:
        """End a request; the next step's answers hold the tokens made so far. Returns how many sequences were ended."""

    def score(self, items: list[ScoreItem], temperature: float, top_k: int = 0) -> list[Scored]:
        """Return log-probs, entropies and likeliest ids of at most scoring.BATCH items under the served version.

        Raises hone.rpc.errors.Refused.
        """

    def rate(self, texts: list[list[int]]) -> list[float]:
        """Return the rating of each of at most scoring.BATCH texts, float32, by the served version's scalar head.

        Raises hone.rpc.errors.Refused.
        """

    def step(self) -> list[Answer]:
        """Take over an offered version, make one token for every running sequence, and return the answers."""

    def rest(self) -> None:
        """Release memory that only a busy engine needs; the next step allocates it again."""

    def close(self) -> None:
        """Release everything; no other method is called after this one."""


class EngineKind(Protocol):
    """Makes engines of one kind. `prepare` and `measure` run in other threads, `make_engine` on the engines' thread."""

    name: str
    least_temperature: float  # lowest temperature that it draws at, except for 0

    def build(self) -> dict[str, str]:
        """Return the versions of its libraries and its arithmetic, for the engine's row."""

    def prepare(self, version: Version) -> Any:
        """Return a version in the form that `Engine.offer` takes. Raises ValueError if it is unusable."""

    def measure(self, architecture: Architecture) -> None:
        """Measure what an engine of this architecture has to know. Later calls do nothing."""

    def make_engine(self, version: Any, architecture: Architecture) -> Engine:
        """Return an engine that serves no version yet, and that can take over this one and later ones of its model."""


def kind(settings: Settings) -> EngineKind:
    """Return the engine kind that the settings choose. Raises ImportError in another kind's environment."""
    module, name = KINDS[settings.engine.kind]
    return cast(EngineKind, getattr(import_module(module), name)(settings))
