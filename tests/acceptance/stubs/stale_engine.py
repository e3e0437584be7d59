"""The inference service with publishing disabled: it says that new versions are loaded and keeps its first weights.

The probe would find that out, so it is disabled too: what is left is the alarm on the trainer-sampler gap.
"""

from hone.models.probe import Gap, Probe
from services.inference import __main__ as inference
from services.inference.native.engine import FusedVersion, NativeEngine


def _only_say_so(_: NativeEngine, version: FusedVersion) -> None:
    """Leave the weights as they are."""


def _agree(_: NativeEngine, probe: Probe) -> Gap:
    return Gap(0.0, 0.0)


NativeEngine.install = _only_say_so  # type: ignore[method-assign, assignment]
NativeEngine.gap = _agree  # type: ignore[method-assign, assignment]

if __name__ == "__main__":
    inference.main()
