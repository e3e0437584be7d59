"""The native engine as the service makes it."""

import torch

from hone.models.architecture import Architecture
from hone.spec.settings import Settings
from services.inference.engines import Source
from services.inference.native import ladder
from services.inference.native.engine import Engine, Version
from services.inference.native.ladder import Ladder
from services.inference.native.weights import fuse
from services.inference.takeover import Tolerance, take_over


class Kind:
    """Makes engines of this project's own: float32, bit-equal repeats, CPU."""

    name = "native"

    def __init__(self, settings: Settings) -> None:
        torch.set_num_threads(settings.engine_threads)
        self._settings = settings
        self._ladders: dict[Architecture, Ladder] = {}

    def build(self) -> dict[str, str]:
        return {"torch": torch.__version__}

    def prepared(self, source: Source) -> Version:
        """Return a version with an adapter merged in, fused. Raises BadCheckpoint, NotFinite."""
        checkpoint = source.merged()
        return Version(source.id, fuse(checkpoint), source.tokenizer, source.probe, checkpoint)

    def explored(self, architecture: Architecture) -> None:
        """Measure which shapes are safe, once for an architecture."""
        if architecture not in self._ladders:
            self._ladders[architecture] = ladder.measure(
                architecture, self._settings.engine_slots, self._settings.engine_max_tokens)

    def engine(self, version: Version, architecture: Architecture) -> Engine:
        tolerance = Tolerance(self._settings.probe_tolerance)
        made = Engine(architecture, self._ladders[architecture], self._settings.engine_slots, version, tolerance)
        made.verdicts.append(take_over(made, version, None))
        return made
