"""Problems of a run that makes preference pairs of its own samples."""

from hone.algorithms.slots import builder
from hone.environments.catalogue import ENVIRONMENTS
from hone.environments.single_turn import Asks
from hone.resolution.names import Slots
from hone.spec.problems import Problem, found
from hone.spec.run import RunSpec


def pace(spec: RunSpec, slots: Slots) -> list[Problem]:
    """The reference of a step is the policy that sampled its pairs."""
    if not builder(slots).makes_pairs or spec.max_staleness == 0:
        return []
    return [Problem("max_staleness", str(spec.max_staleness), f"0, because builder {slots['builder']['name']} compares "
                    "the policy with the policy that sampled a step's pairs")]


def outcomes(spec: RunSpec, slots: Slots) -> list[Problem]:
    """Continuations are compared by the score that the environment gives when they end."""
    name = spec.task.kind
    if not builder(slots).makes_pairs or name not in ENVIRONMENTS or not isinstance(ENVIRONMENTS[name], Asks):
        return []
    return [Problem("task.environment", found(name), f"an environment that scores an episode itself, because builder "
                    f"{slots['builder']['name']} compares how continuations end")]


def branches(spec: RunSpec, slots: Slots) -> list[Problem]:
    """The builder says how often groups that are trained on branch; in evaluations nothing branches."""
    given = spec.harness.params.get("branches") if spec.harness else None
    if not builder(slots).makes_pairs or not given:
        return []
    return [Problem("harness.params.branches", found(given), "0, because algorithm.builder.params.branches of builder "
                    f"{slots['builder']['name']} says it for groups that are trained on")]
