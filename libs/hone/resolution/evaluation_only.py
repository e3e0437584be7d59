"""Problems of a run that trains nothing: its base is evaluated, and that has to be possible."""

from collections.abc import Collection

from hone.resolution.shape import covered
from hone.spec.problems import Problem
from hone.spec.run import RunSpec


def problems(spec: RunSpec, unread: Collection[str] = ()) -> list[Problem]:
    """Return the problems of `steps: 0`. `unread` are paths of fields whose values are not the user's."""
    if spec.steps or covered("steps", unread):
        return []
    wrong = list[Problem]()
    if spec.eval is None and not covered("eval", unread):
        wrong.append(Problem("steps", "0", "at least 1, because eval is null and nothing would be done"))
    if spec.judge_check is not None:
        wrong.append(Problem("judge_check", "an object", "null, because steps is 0: the check guards training"))
    return wrong
