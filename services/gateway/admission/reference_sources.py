"""Subjects of a run's graders: sources of tasks, each with its grader and the way in which outputs end."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from hone.algorithms import presets
from hone.environments.catalogue import ENVIRONMENTS
from hone.environments.hashing import canonical
from hone.environments.single_turn import Asks
from hone.graders.right_answers import Ending
from hone.resolution import sources, stages
from hone.resolution.judges import own_grader
from hone.resolution.sources import Source
from hone.spec.run import RunSpec, SamplingSpec, TaskSource


@dataclass(frozen=True)
class GradedSource:
    """Tasks of a run, the grader that judges them, and how outputs end."""

    at: str  # field of the spec that names the tasks
    tasks: TaskSource
    grader: Mapping[str, Any]
    ending: Ending
    seed: int  # with which an environment's tasks are drawn

    @property
    def name(self) -> str:
        """The source in words."""
        return f"dataset {self.tasks.dataset!r}" if self.tasks.dataset else f"environment {self.tasks.kind}"

    @property
    def foreign(self) -> bool:
        """Whether another process has to make the tasks of the environment: code of another package does."""
        return ENVIRONMENTS[self.tasks.kind].foreign

    @property
    def items_are_rows(self) -> bool:
        """Whether graders read a dataset's rows themselves. Other environments make the items."""
        return self.tasks.dataset is not None and isinstance(ENVIRONMENTS[self.tasks.kind], Asks)


def of(spec: RunSpec) -> list[GradedSource]:
    """Return the sources of a resolved spec whose samples are graded: of its stages and its evaluation, each once."""
    found = dict[str, GradedSource]()
    for source in [*_trained(spec), *_evaluated(spec)]:
        found.setdefault(canonical([source.tasks.model_dump(), source.grader, asdict(source.ending)]), source)
    return list(found.values())


def _trained(spec: RunSpec) -> Iterator[GradedSource]:
    for stage in stages.stages(spec):
        own = stage.number < len(spec.stages) and spec.stages[stage.number].task is not None
        if not presets.supervised(stage.spec.algorithm):
            place = f"stages[{stage.number}]." if own else ""
            yield from (_graded(one.inside(place), spec.seed) for one in sources.of(stage.spec))


def _evaluated(spec: RunSpec) -> Iterator[GradedSource]:
    if spec.eval is not None:
        yield from (_graded(one, spec.eval.seed) for one in sources.held_out(spec))


def _graded(source: Source, seed: int) -> GradedSource:
    spec = source.spec
    grader = spec.grader if spec.grader is not None else own_grader(spec.task)
    return GradedSource(source.at, spec.task, grader, _ending(spec.sampling), seed)


def _ending(sampling: SamplingSpec) -> Ending:
    return Ending(tuple(sampling.stop), sampling.include_stop or False)
