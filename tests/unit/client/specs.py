"""The slots of run specs, in the form that the gateway stores."""

from typing import Any

from hone.algorithms.presets import filled
from hone.spec.run import AlgorithmSpec, OptimizerSpec


def resolved(**algorithm: Any) -> dict[str, Any]:
    """Return a spec with every slot written out."""
    spec = AlgorithmSpec.model_validate(algorithm)
    written_out = AlgorithmSpec.model_validate({"preset": spec.preset, **filled(spec)})
    return {"algorithm": written_out.model_dump(mode="json"), "optimizer": OptimizerSpec().model_dump(mode="json")}
