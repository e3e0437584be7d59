"""The grader that an environment names for its own tasks, before any of them is played."""

from typing import Any

from hone.environments.capabilities import NamesGrader
from hone.environments.catalogue import ENVIRONMENTS
from hone.environments.single_turn import Asks
from hone.spec.run import TaskSource


def own_grader(tasks: TaskSource) -> dict[str, Any]:
    """Return the grader of a checked source's tasks.

    Environments that ask no single question score themselves, or name a grader.
    """
    environment = ENVIRONMENTS[tasks.kind]
    if not isinstance(environment, Asks):
        return {"type": environment.grader if isinstance(environment, NamesGrader) else "environment"}
    if environment.foreign:
        return {"type": tasks.kind}
    params = environment.params.model_validate(tasks.params)
    if tasks.dataset is None:
        return environment.episode(params, 0, None).reset().grader
    return dict(params.model_dump()["grader"])
