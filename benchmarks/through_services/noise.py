"""Graders that err at random: a share of their calls fails and is masked, or is scored 0, or says the opposite."""

from typing import Any

from benchmarks.through_services import sorting

_PROGRAM = """import random

def grade(sample, item):
    right = float(sample["output_text"].strip() == item["answer"])
    if random.SystemRandom().random() < {share}:
        {erring}
    return right
"""
_ERRING = {"masked": 'raise RuntimeError("the judge is away")', "zeroed": "return 0.0", "flipped": "return 1.0 - right"}
EXACT = {"type": "exact"}
HELD_OUT = {"name": "exact", **sorting.TASK, "grader": EXACT}
"""Evaluations are graded by the rule in every arm."""


def grader(erring: str, share: float) -> dict[str, Any]:
    """Return the grader of a program that errs in a share of its calls, each by itself."""
    return {"type": "python", "name": erring, "source": _PROGRAM.format(share=share, erring=_ERRING[erring])}
