"""Rules of a run that judges its own answers: what its builder needs of the rest of a spec."""

from typing import Any

from hone.algorithms.slots import needs
from hone.environments import ENVIRONMENTS
from hone.environments.single_turn import Asks
from hone.spec.problems import Problem, found
from hone.spec.run import RunSpec

_WHO = "because builder self_verify"


def applies(slots: dict[str, Any]) -> bool:
    """Tell whether the run judges its own answers."""
    return bool(slots["builder"]["name"] == "self_verify")


def pace(spec: RunSpec, slots: dict[str, Any]) -> list[Problem]:
    """Which task a step trains has to be known before its groups are requested."""
    if not applies(slots) or spec.max_staleness == 0:
        return []
    return [Problem("max_staleness", str(spec.max_staleness),
                    f"0, {_WHO} asks for verdicts only after the answers of the steps before are graded")]


def size(spec: RunSpec, slots: dict[str, Any]) -> list[Problem]:
    """A batch of one prompt gives no item of each label."""
    if not applies(slots) or spec.batch.prompts > 1:
        return []
    return [Problem("batch.prompts", str(spec.batch.prompts),
                    f"at least 2, {_WHO} makes floor(prompts / 2) items of each label")]


def question(spec: RunSpec, slots: dict[str, Any]) -> list[Problem]:
    """What is judged is the answer to a question, and both are shown as text."""
    name = spec.task.kind
    if not applies(slots) or name not in ENVIRONMENTS:
        return []
    if name == "verification" or not isinstance(ENVIRONMENTS[name], Asks):
        return [Problem("task.environment", found(name),
                        f"one that asks a question and is answered once, {_WHO} shows a judge both texts")]
    if spec.harness is not None and spec.harness.name != "chat":
        return [Problem("harness.name", found(spec.harness.name), f"chat, {_WHO} reads answers and verdicts as text")]
    return []


def reading(spec: RunSpec, slots: dict[str, Any]) -> list[Problem]:
    """Judgements have neither the parts of the task's reward nor the fields of its items."""
    if not applies(slots):
        return []
    problems = []
    if "components" in needs(slots, "advantage"):
        name = slots["advantage"]["name"]
        problems.append(Problem("algorithm.advantage.name", found(name),
                                f"one that reads no parts of a reward, {_WHO} has verdicts, which have none"))
    if spec.contexts.privileged:
        problems.append(Problem("contexts.privileged", f"{len(spec.contexts.privileged)} texts",
                                f"none, {_WHO} has judgements, whose items are not the task's"))
    return problems
