"""Grades one output: applies the rules that hold for every grader, then the grader itself."""

import logging
import math
import time
from typing import Any

from hone.graders.contract import InvalidSpec, NoAnswer, Result, Status, failure, no_answer
from hone.graders.specs import Spec
from hone.text.reasoning import Unfinished, said

MAX_BYTES = 200_000
MAX_EXTRACTED = 1000
_log = logging.getLogger(__name__)


def judged(spec: Spec, item: dict[str, Any], output_text: str) -> Result:
    """Return the grade of an output. Raises nothing.

    A grader that reads outputs finds no answer in an empty output or in one above `MAX_BYTES`. It gets the output
    without its blocks of reasoning, and finds no answer where the last block is never closed. A score that is not
    finite or outside the grader's range gives invalid_spec. An error inside the grader gives infra_error. Neither is a
    fact about the policy, so neither has a score.
    """
    started = time.perf_counter()
    refused = _refused(output_text) if spec.grader.reads_output else None
    result = _bounded(spec, refused or _graded(spec, item, output_text))
    extracted = None if result.extracted is None else result.extracted[:MAX_EXTRACTED]
    cost_ms = (time.perf_counter() - started) * 1000
    return Result(result.status, result.score, result.components, result.reasons, extracted, result.decided_by, cost_ms)


def _refused(output_text: str) -> Result | None:
    if not output_text.strip():
        return no_answer("the output is empty")
    if len(output_text) > MAX_BYTES or len(output_text.encode()) > MAX_BYTES:
        return no_answer(f"the output is longer than {MAX_BYTES} bytes")
    return None


def _graded(spec: Spec, item: dict[str, Any], output_text: str) -> Result:
    try:
        if spec.grader.grade is not None:
            return spec.grader.grade(item, _read(spec, output_text), spec.params)
        results = {path: judged(inner, item, output_text) for path, inner in spec.inner.items()}
        return spec.grader.join(results, spec.params)
    except NoAnswer as error:
        return no_answer(str(error))
    except InvalidSpec as error:
        return failure(Status.INVALID_SPEC, str(error))
    except Exception as error:  # a grader's defect masks this sample alone
        _log.exception("grader %s failed", spec.params.type)
        return failure(Status.INFRA_ERROR, f"{type(error).__name__}: {error}"[:1000])


def _read(spec: Spec, output_text: str) -> str:
    """Return the part of an output that the grader reads. Raises NoAnswer when the model never stopped thinking."""
    if not spec.grader.reads_output or spec.grader.reads_reasoning(spec.params):
        return output_text
    try:
        answer = said(output_text)
    except Unfinished as error:
        raise NoAnswer(str(error)) from None
    if not answer.strip():
        raise NoAnswer("the output is empty after its reasoning")
    return answer


def _bounded(spec: Spec, result: Result) -> Result:
    """Return the result, or a failure if a score is not finite or not in range. Parts were judged by their own range.
    """
    own = [] if result.score is None else [result.score]
    scores, (low, high) = [*result.components.values(), *own], spec.bounds
    ranged = own if spec.inner else scores
    if all(map(math.isfinite, scores)) and all(low <= score <= high for score in ranged):
        return result
    return failure(Status.INVALID_SPEC, f"a score of {scores} is not inside [{low:g}, {high:g}]")
