"""Labelled sets that come with Hone, by name. Adding one is a file beside this and a line in the dict."""

from collections.abc import Callable, Mapping

from hone.graders import labelled_answers
from hone.graders.labelled_pairs import DATASET, Pair
from hone.spec.problems import Problem, one_of

SETS: Mapping[str, Callable[[], list[Pair]]] = {"short_answers": labelled_answers.pairs}


def problem(name: str, at: str) -> Problem | None:
    """Return the fault of the name of a set in the field `at`; whether a dataset exists is not looked up."""
    if name in SETS or (len(name) > len(DATASET) and name.startswith(DATASET)):
        return None
    return Problem(at, name, f"{one_of(name, SETS)}, or {DATASET}NAME of a dataset of yours")
