"""Parts that the methods of a valid spec do without: of no run yet, or of another harness or grader."""

from collections.abc import Callable, Iterator, Mapping

from hone.algorithms import presets
from hone.environments.catalogue import ENVIRONMENTS
from hone.graders import specs
from hone.resolution import sources, stages
from hone.resolution.judges import own_grader
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
    part, homes, parts = presets.HOMES[preset]
    for source in sources.of(spec):
        chosen = _CHOSEN[part](source.spec)
        if not set(homes) & set(chosen):
            where = f" in source {source.name}" if source.name else ""
            yield (f"preset {preset} runs{where} without {parts}: {part} {' or '.join(homes)} has them, and "
                   f"{chosen[0]} has not")


def _harness(spec: RunSpec) -> list[str]:
    return [spec.harness.name if spec.harness else ENVIRONMENTS[spec.task.kind].harness]


def _graders(spec: RunSpec) -> list[str]:
    """Return the type of a spec's grader, and of those inside it."""
    return [one.params.type for one in specs.checked(spec.grader or own_grader(spec.task)).all]


_CHOSEN: Mapping[str, Callable[[RunSpec], list[str]]] = {"harness": _harness, "grader": _graders}
