"""What the methods of a valid spec do without: parts that no run has, and parts that another harness has."""

from collections.abc import Iterator

from hone.algorithms import presets
from hone.environments import ENVIRONMENTS
from hone.resolution import sources, stages
from hone.spec.run import RunSpec


def notes(spec: RunSpec) -> list[str]:
    """Return a sentence for each part of a preset that a checked spec's stages run without."""
    return list(dict.fromkeys(note for stage in stages.stages(spec) for note in _of_stage(stage.spec)))


def _of_stage(spec: RunSpec) -> Iterator[str]:
    preset = spec.algorithm.preset
    if preset in presets.LACKS:
        yield f"preset {preset} runs without {presets.LACKS[preset]}"
    if preset not in presets.HOMES:
        return
    home, parts = presets.HOMES[preset]
    for source in sources.of(spec):
        own = source.spec.harness
        harness = own.name if own else ENVIRONMENTS[source.spec.task.kind].harness
        if harness != home:
            where = f" in source {source.name}" if source.name else ""
            yield f"preset {preset} runs{where} without {parts}: harness {home} has them, and {harness} has not"
