"""Makes native engines from the settings."""

import torch

from hone.models.architecture import Architecture
from hone.spec.settings import Settings
from services.inference import requests
from services.inference.engines import Engine, Version
from services.inference.native import safe_shapes
from services.inference.native.engine import FusedVersion, NativeEngine
from services.inference.native.matrix import takes_bfloat16
from services.inference.native.safe_shapes import SafeShapes
from services.inference.native.weights import fuse
from services.inference.takeover import Tolerance


class NativeKind:
    """Makes this project's own engines: on a CPU, in float32 or bfloat16, with bit-equal repeats."""

    name = "native"
    least_temperature = requests.LEAST_TEMPERATURE

    def __init__(self, settings: Settings) -> None:
        """Raises ValueError for an arithmetic that this processor or this engine does not have."""
        torch.set_num_threads(settings.engine.threads)
        self._settings, self._dtype = settings, _dtype(settings.engine.dtype)
        self._shapes: dict[Architecture, SafeShapes] = {}

    def build(self) -> dict[str, str]:
        return {"torch": torch.__version__, "dtype": self._settings.engine.dtype}

    def prepare(self, version: Version) -> FusedVersion:
        """Return a version fused for decoding, with its adapter merged. Raises BadCheckpoint, NotFinite."""
        checkpoint = version.merged()
        return FusedVersion(version.id, fuse(checkpoint, self._dtype), version.tokenizer, version.probe, checkpoint)

    def measure(self, architecture: Architecture) -> None:
        """Measure the safe shapes of an architecture, once."""
        if architecture not in self._shapes:
            self._shapes[architecture] = safe_shapes.measure(
                architecture, self._settings.engine.slots, self._settings.engine.max_tokens, self._dtype)

    def make_engine(self, _version: FusedVersion, architecture: Architecture) -> Engine:
        return NativeEngine(architecture, self._shapes[architecture], self._settings.engine.slots,
                            tolerance=Tolerance.of_arithmetic(self._settings),
                            guest_share=self._settings.engine.guest_share)


def _dtype(name: str) -> torch.dtype:
    if name == "bfloat16" and not takes_bfloat16():
        raise ValueError("HONE_ENGINE_DTYPE: found bfloat16, expected float32: this processor cannot multiply bfloat16")
    made: torch.dtype = getattr(torch, name)
    return made
