"""Whether a run, or a stage of one, learns from what a dataset gives or from samples of its own."""

from hone.algorithms.presets import PRESETS
from hone.algorithms.slots import FROM_ROWS
from hone.spec.run import AlgorithmSpec, RunSpec


def supervised(spec: RunSpec) -> bool:
    """Tell whether it learns from a dataset's completions instead of sampling its own."""
    return builder_of(spec.algorithm) in FROM_ROWS


def builder_of(algorithm: AlgorithmSpec) -> str:
    """Return the name of the builder, resolved or not."""
    preset = PRESETS.get(algorithm.preset, {})
    return str(preset.get("builder", "rollouts")) if algorithm.builder is None else algorithm.builder.name
