"""Payments of reasoning-gym's verifiers: nonsense is not paid here, generous verifiers are listed.

Measured with version 0.1.25 of the package over every task; a test holds the table true.
"""

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

PASS = 0.5
"""Score from which an answer counts as good in the tables."""

GENEROUS: Mapping[str, str] = {
    "decimal_arithmetic": "in full: a number that agrees in its first digits",
    "figlet_font": "in part: the share of equal letters",
    "futoshiki": "in part: the share of equal cells; half of the grid pays nearly half, text behind it costs little",
    "gsm_symbolic": "in full: the first number of the answer counts, whatever follows it",
    "kakurasu": "in full: text behind the grid is ignored",
    "knights_knaves": "in full: text behind the answer is ignored; 0.65 for half of the assignments",
    "letter_jumble": "in full: words behind the answer are ignored; in part: the share of words in place",
    "mini_sudoku": "in part: the share of equal cells; half of the grid pays nearly half, text behind it costs little",
    "polynomial_equations": "in part: a single root of several, and numbers near to a root",
    "power_function": "in full: a number that agrees in its first digits",
    "products": "in part: text behind the answer costs its share of the length",
    "quantum_lock": "in full: every letter A, B or C is a step, other text is ignored",
    "rectangle_count": "in part: a number near to the right number",
    "sokoban": "in full: characters that are no moves, and moves behind the solution, are ignored",
    "spell_backward": "in part: the share of equal letters; text behind a long answer is ignored",
    "sudoku": "in part: the share of equal cells; half of the grid pays nearly half, text behind it costs little",
    "survo": "in full: text behind the grid is ignored",
    "time_intervals": "in part: a time near to the right time; half an hour off pays nearly all",
    "word_sorting": "in part: the share of words in place",
}
"""Tasks whose own verifiers pay at least PASS for an answer that is not the right one, and what they pay for.

Most tasks have the package's common verifier. It pays an answer that contains the reference its share of the length.
"""

_LONGEST = 300
_NOT_FINITE = re.compile(r"nan|inf", re.IGNORECASE)


class Unreadable(Exception):
    """The task's verifier cannot read the answer. This is a fact about the answer, if it reads the right one."""


def scored(task: str, dataset: Any, answer: str, made: Mapping[str, Any]) -> float:
    """Return the score of an answer to the entry `made`, from 0 to 1. Raises Unreadable.

    Where a verifier pays nonsense in full, the answer has to pass another test first.
    """
    if task in _STRICT and not _STRICT[task](answer, made):
        return 0.0
    try:
        score = float(dataset.score_answer(answer, made))
    except (ArithmeticError, AttributeError, LookupError, SyntaxError, TypeError, ValueError) as error:
        reason = f"the verifier of {task} cannot read the answer ({type(error).__name__}: {error})"
        raise Unreadable(reason[:_LONGEST]) from error
    return score if math.isfinite(score) else 0.0


def is_nothing(answer: str, made: Mapping[str, Any]) -> bool:
    """Whether an answer is empty, or the question itself. It scores 0 in every task."""
    return answer.strip() in ("", str(made["question"]).strip())


def _is_truth_value(answer: str, made: Mapping[str, Any]) -> bool:
    """game_of_life_halting compares bool(answer): every text was True, and so was the reference False."""
    return answer.strip().casefold() == str(made["answer"]).strip().casefold()


def _is_near(answer: str, made: Mapping[str, Any]) -> bool:
    """coin_flip pays for equal first digits: 0 was as good as 0.125."""
    try:
        return abs(float(Fraction(answer.strip())) - float(Fraction(made["answer"]))) <= 1e-4
    except (ArithmeticError, ValueError):
        return False


def _is_finite(answer: str, made: Mapping[str, Any]) -> bool:  # noqa: ARG001
    """complex_arithmetic takes a distance of nan for none."""
    return _NOT_FINITE.search(answer) is None


_STRICT = {"game_of_life_halting": _is_truth_value, "coin_flip": _is_near, "complex_arithmetic": _is_finite}
