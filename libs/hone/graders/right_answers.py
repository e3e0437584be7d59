"""Grades a task row's own reference as if it were the output. A row whose reference is not right teaches nothing."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from hone.graders.contract import InvalidSpec, NoReference, Result, RightOutput, Status
from hone.graders.judgement import judged
from hone.graders.sample import Item
from hone.graders.specs import Spec
from hone.text.stops import cut

_LONGEST, _SLACK = 200, 1e-9


class Standing(StrEnum):
    """Whether a row's reference gets the score of a right answer. `unknown`: nobody could tell."""

    RIGHT = "right"
    WRONG = "wrong"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Finding:
    """Result of grading a row's reference: the output that was graded, shortened, and the reason if not right."""

    standing: Standing
    reason: str = ""
    output: str = ""


@dataclass(frozen=True)
class Ending:
    """How the outputs of a run end: a reference that contains a stop text is never written whole."""

    stop: tuple[str, ...] = ()
    include_stop: bool = False


def checked(spec: Spec, item: Item, ending: Ending) -> Finding:
    """Grade a row's reference in this process. Parts of a grader are checked each by itself. Raises nothing."""
    if not spec.inner:
        right = asked(spec, item, ending)
        return right if isinstance(right, Finding) else compared(right, judged(spec, item, right.text))
    return joined((path, checked(inner, item, ending)) for path, inner in spec.inner.items())


def asked(spec: Spec, item: Item, ending: Ending) -> RightOutput | Finding:
    """Return the output that is right by the row's reference, as a run's stop texts leave it; or why there is none."""
    if spec.grader.right_output is None:
        return Finding(Standing.UNKNOWN, f"a grader of type {spec.params.type} has no reference")
    try:
        right = spec.grader.right_output(item, spec.params)
    except NoReference as error:
        return Finding(Standing.UNKNOWN, str(error))
    except InvalidSpec as error:
        return Finding(Standing.WRONG, f"{Status.INVALID_SPEC}: {error}")
    text = cut(right.text, ending.stop, ending.include_stop)
    return right if text == right.text else replace(right, text=text, note="a stop text of the run cuts it short")


def compared(right: RightOutput, result: Result) -> Finding:
    """Return a grade's verdict on the reference. Nobody could tell if a process or a judge failed."""
    output = right.text if len(right.text) <= _LONGEST else f"{right.text[:_LONGEST]}…"
    if result.score is not None and result.score >= right.score - _SLACK:
        return Finding(Standing.RIGHT, output=output)
    failed = result.status in (Status.INFRA_ERROR, Status.JUDGE_ERROR)
    got = f"{result.status}" if result.score is None else f"a score of {result.score:g} instead of {right.score:g}"
    said = [f"read as {result.extracted!r}"[:_LONGEST]] if result.extracted is not None else []
    reason = "; ".join(filter(None, [got, *result.reasons, *said, right.note]))
    return Finding(Standing.UNKNOWN if failed else Standing.WRONG, reason, output)


def joined(parts: Iterable[tuple[str, Finding]]) -> Finding:
    """Return the first wrong part, else unknown if no part could be checked, else right."""
    found = list(parts)
    for path, finding in found:
        if finding.standing is Standing.WRONG:
            return Finding(Standing.WRONG, f"{path}: {finding.reason}", finding.output)
    if any(finding.standing is Standing.RIGHT for _, finding in found):
        return Finding(Standing.RIGHT)
    return Finding(Standing.UNKNOWN, "; ".join(f"{path}: {finding.reason}" for path, finding in found))
