"""Sentences that a model writes of decision policies, and the check that each says what its record says.

A reconstruction: in arXiv 2604.15190 a policy's text is what the reasoner reads.
"""

import re
from collections.abc import Iterator

from hone.audiences.decision_policies import DecisionPolicy
from hone.audiences.reasoning import Prompt

LONGEST = 400
_TOKENS = 200
_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*(?:\.\d+)?")


def prompt(policy: DecisionPolicy) -> Prompt:
    """Return the question for a policy's sentence."""
    return Prompt([
        {"role": "system", "content": "You put measured rules into plain words."},
        {"role": "user", "content": (
            f"A measured rule: {policy.measured}\nWrite it as one plain sentence about what these users do. Say the "
            "rate of these users first and that of the others after it, both in percent, as they stand here. Name the "
            f"step {policy.step} and every feature of the condition. Add no numbers, reasons or advice.")}],
        None, _TOKENS)


def read(text: str, policy: DecisionPolicy) -> tuple[str, str]:
    """Return a policy's sentence and what is wrong with it; one of both is empty.

    It has to hold the rates of the record, that of the condition first, the step, and each feature, and no number that
    the record does not hold. Numbers may be rounded.
    """
    said = " ".join(text.split())
    if not 0 < len(said) <= LONGEST:
        return "", f"{len(said)} characters, expected 1 to {LONGEST}"
    lower = said.casefold()
    lacking = [word for word in (policy.step, *_features(policy)) if not _names(lower, word)]
    if lacking:
        return "", f"nothing of {', '.join(lacking)}"
    numbers = [one.group() for one in _NUMBER.finditer(said)]
    if strange := [one for one in numbers if not any(_rounds(one, known) for known in _known(policy))]:
        return "", f"the number {strange[0]}, which the rule does not have"
    rates = [[place for place, one in enumerate(numbers) if _rounds(one, 100 * rate)]
             for rate in (policy.rate, policy.base_rate)]
    if not rates[0] or not rates[1] or rates[0][0] > rates[1][-1]:
        return "", f"not the rates {policy.rate:.1%} and then {policy.base_rate:.1%}"
    return said, ""


def _features(policy: DecisionPolicy) -> Iterator[str]:
    """Yield the last part of each column's name, or the word of a column that stands for one."""
    for one in policy.condition:
        field, _, level = one.column.partition("=")
        yield level or field.rpartition(".")[2]


def _names(text: str, word: str) -> bool:
    return any(form in text for form in {word.casefold(), word.casefold().replace("_", " ")})


def _known(policy: DecisionPolicy) -> Iterator[float]:
    yield from (100 * policy.rate, 100 * policy.base_rate, policy.support, policy.merchants)
    yield from (one.bound for one in policy.condition)


def _rounds(written: str, value: float) -> bool:
    """Return whether a number stands for a value, with its own number of digits."""
    plain = written.replace(",", "") if re.fullmatch(r"\d{1,3}(?:,\d{3})+", written) else written.replace(",", ".")
    try:
        number = float(plain)
    except ValueError:
        return False
    digits = len(plain.partition(".")[2])
    return abs(number - value) <= 0.51 * 10.0 ** -digits
