"""Problems of graders beside the tasks and the harness whose samples they grade."""

from collections.abc import Iterator

from hone.environments.catalogue import ENVIRONMENTS
from hone.environments.single_turn import Asks
from hone.graders import specs
from hone.graders.sample import Reads
from hone.graders.specs import Spec
from hone.graders.state import MISSING, StateParams, at_path
from hone.graders.tables import TablesParams
from hone.harnesses.catalogue import HARNESSES
from hone.harnesses.contract import kinds
from hone.resolution import names
from hone.resolution.names import Slots
from hone.spec.problems import Problem, found
from hone.spec.run import RunSpec


def self_scored(spec: RunSpec, slots: Slots) -> list[Problem]:  # noqa: ARG001 — one signature for every rule
    """The grader `environment` reads a score that some environments do not give."""
    return [Problem(f"{at}.type", found("environment"), f"a grader of answers, because environment {spec.task.kind} "
                    "gives no score of its own")
            for at, one in of_run(spec) if one.params.type == "environment" and _asks(spec)]


def worlds(spec: RunSpec, slots: Slots) -> list[Problem]:  # noqa: ARG001 — one signature for every rule
    """Refuse a grader of states where no action changes one, and of paths that the first task's state lacks."""
    reading = [(at, one) for at, one in of_run(spec) if Reads.WORLD in one.grader.reads]
    if reading and _asks(spec):
        return [Problem(f"{at}.type", found(one.params.type), f"a grader of answers, because environment "
                        f"{spec.task.kind} asks a single question and has no state that an action changes")
                for at, one in reading]
    return [problem for at, one in reading for problem in _paths(spec, at, one)]


def calls(spec: RunSpec, slots: Slots) -> list[Problem]:  # noqa: ARG001 — one signature for every rule
    """Refuse a grader of calls of kinds that the harness never makes: it would find no answer in any sample."""
    if names.of_harness(spec.harness) or names.of_source(spec.task, "task"):
        return []
    harness = spec.harness.name if spec.harness else ENVIRONMENTS[spec.task.kind].harness
    made = kinds(HARNESSES[harness])
    asked = [(f"{at}.{field}", kind) for at, one in of_run(spec)
             for field, asked_kinds in one.params.asked_kinds.items() for kind in asked_kinds]
    return [] if made is None else [
        Problem(at, found(kind), f"kinds of calls that harness {harness} makes: {', '.join(sorted(made))}")
        for at, kind in asked if kind not in made]


def of_run(spec: RunSpec) -> Iterator[tuple[str, Spec]]:
    """Yield the grader that a spec names, and those inside it, with their paths; nothing where something is wrong."""
    at, given = ("grader", spec.grader) if spec.grader is not None else (
        "task.params.grader", spec.task.params.get("grader"))
    if isinstance(given, dict) and not names.of_grader(given, at) and not names.of_source(spec.task, "task"):
        yield from _inside(specs.checked(given), at)


def _inside(grader: Spec, at: str) -> Iterator[tuple[str, Spec]]:
    yield at, grader
    for path, inner in grader.inner.items():
        yield from _inside(inner, f"{at}.{path}")


def _asks(spec: RunSpec) -> bool:
    return isinstance(ENVIRONMENTS[spec.task.kind], Asks)


def _paths(spec: RunSpec, at: str, grader: Spec) -> list[Problem]:
    """Return the paths that a grader reads and the first task's state lacks, where one can be made."""
    environment = ENVIRONMENTS[spec.task.kind]
    if isinstance(grader.params, StateParams):
        paths = {f"unchanged[{place}]": path for place, path in enumerate(grader.params.unchanged)}
    else:
        paths = {"at": grader.params.at} if isinstance(grader.params, TablesParams) and grader.params.at else {}
    if not paths or environment.foreign or spec.task.dataset is not None:
        return []
    episode = environment.episode(environment.params.model_validate(spec.task.params), 0, None)
    episode.reset()
    state = episode.snapshot()
    return [Problem(f"{at}.{field}", found(path), f"a path of the first state of environment {spec.task.kind}, which "
                    f"has {', '.join(sorted(state))}")
            for field, path in paths.items() if at_path(state, path) is MISSING]


RULES = (self_scored, worlds, calls)
"""Every rule about graders, for tasks that are trained or only evaluated on."""
