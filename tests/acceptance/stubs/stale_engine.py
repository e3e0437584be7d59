"""The inference service without publishing: it reports that new versions are served, and keeps its first weights.

The probe would find this, so it is disabled too. Only the alarm on the trainer-sampler gap is left.
"""

from hone.models.probe import Gap, Probe
from services.inference import __main__ as inference
from services.inference.native.engine import FusedVersion, NativeEngine

_install = NativeEngine.install


def _install_first(engine: NativeEngine, version: FusedVersion) -> None:
    """Install the first version and leave these weights as they are."""
    if not engine.version_id:
        _install(engine, version)


def _agree(_: NativeEngine, probe: Probe) -> Gap:
    return Gap(0.0, 0.0)


NativeEngine.install = _install_first  # type: ignore[method-assign, assignment]
NativeEngine.gap = _agree  # type: ignore[method-assign, assignment]

if __name__ == "__main__":
    inference.main()
