"""The reward of a task, after tau2-bench: the product of the parts that the task names."""

from collections.abc import Mapping, Sequence
from typing import Any

from hone.environments.tau2.domain import Proof
from hone.environments.tau2.task import Criteria


def parts(
    criteria: Criteria, proof: Proof, hashes: Sequence[str | None], assertions: Sequence[bool],
    calls: Sequence[tuple[str, Mapping[str, Any]]], texts: Sequence[str],
) -> dict[str, float]:
    """Return each part of a reward that a program can decide, 0 or 1.

    `calls` are the agent's and the user's, texts the agent's. `db`: both databases are those that the gold actions
    leave. `env_assertion`: all assertions hold. `action`: each gold action was made. `communicate`: each text was said,
    found in lower case in texts without their commas.
    """
    ungraded = criteria.actions is None and criteria.env_assertions is None
    said = [text.lower().replace(",", "") for text in texts]
    return {
        "db": float(ungraded or list(hashes) == list(proof.gold)),
        "env_assertion": float(all(assertions)),
        "action": float(all(any(action.matches(name, dict(arguments)) for name, arguments in calls)
                            for action in criteria.actions or [])),
        "communicate": float(all(any(info.lower() in text for text in said)
                                 for info in criteria.communicate_info or []))}


def product(criteria: Criteria, found: Mapping[str, float]) -> float:
    """Return the product of the parts that a task names, but for sentences that a judge has to read."""
    score = 1.0
    for name in set(criteria.reward_basis) - {"NL_ASSERTION"}:
        score *= found[name.lower()]
    return score
