"""One grade: rules that hold for every grader, around the grader itself."""

import logging
import math
import time
from typing import Any

from hone.graders.results import InvalidSpec, NoAnswer, Result, Status, failure, no_answer
from hone.graders.specs import Spec

MAX_BYTES = 200_000
MAX_EXTRACTED = 1000
_log = logging.getLogger(__name__)


def judged(spec: Spec, item: dict[str, Any], output_text: str) -> Result:
    """Return the grade of an output; nothing is raised.

    An empty output and one above `MAX_BYTES` hold no answer for a grader that reads it. A score that is not finite or
    outside of the grader's range is invalid_spec, an error inside the grader is infra_error: both are ours, and never a
    reward.
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
        return spec.grader.grade(item, output_text, spec.params)
    except NoAnswer as error:
        return no_answer(str(error))
    except InvalidSpec as error:
        return failure(Status.INVALID_SPEC, str(error))
    except Exception as error:  # a grader's defect is a fact about us, for this sample alone
        _log.exception("grader %s failed", spec.params.type)
        return failure(Status.INFRA_ERROR, f"{type(error).__name__}: {error}"[:1000])


def _bounded(spec: Spec, result: Result) -> Result:
    scores = [*result.components.values(), *([] if result.score is None else [result.score])]
    low, high = spec.grader.low, spec.grader.high
    if all(math.isfinite(score) and low <= score <= high for score in scores):
        return result
    return failure(Status.INVALID_SPEC, f"a score of {scores} is not inside [{low:g}, {high:g}]")
