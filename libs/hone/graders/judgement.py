"""Grades samples: applies the rules that hold for every grader, then the grader itself."""

import logging
import math
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from hone.graders.contract import (
    LONGEST_NAME,
    InvalidSpec,
    NoAnswer,
    Result,
    Status,
    Tools,
    failure,
    is_name,
    no_answer,
)
from hone.graders.error_kinds import ErrorKind
from hone.graders.questions import Asked, JudgeFailed, Reply
from hone.graders.sample import Item, Sample, World
from hone.graders.scenes import Scene, WorldLost
from hone.graders.specs import Spec
from hone.sandbox.program import Ended, Program, Ran
from hone.text.reasoning import Unfinished, said

MAX_BYTES = 200_000
MAX_EXTRACTED = 1000
_log = logging.getLogger(__name__)


def judged(spec: Spec, item: Item, output_text: str) -> Result:
    """Return the grade of an output. Raises nothing; see `judged_together`."""
    return judged_together(spec, [Sample(item, output_text)])[0]


def judged_together(spec: Spec, samples: Sequence[Sample]) -> list[Result]:
    """Return the result of `grades`, in this process, for a grader without judge and sandbox. Raises nothing."""
    grading = grades(spec, samples, _Here(spec))
    try:
        grading.send(None)
    except StopIteration as ended:
        return list(ended.value)
    raise RuntimeError(f"a grader of type {spec.params.type} waits, but says that it needs nothing")


async def grades(spec: Spec, samples: Sequence[Sample], tools: Tools) -> list[Result]:
    """Return the grade of each sample, in order. They are one group if the grader reads groups. Raises nothing.

    A grader that reads outputs finds no answer in an empty output or in one above `MAX_BYTES`. It gets the output
    without its blocks of reasoning, and finds no answer where the last block is never closed. A score that is not
    finite or outside the grader's range gives invalid_spec. An error inside the grader gives infra_error. Neither is a
    fact about the policy, so neither has a score.
    """
    started = time.perf_counter()
    results = [_bounded(spec, result) for result in await _results(spec, samples, tools)]
    cost_ms = (time.perf_counter() - started) * 1000 / max(1, len(samples))
    return [replace(result, cost_ms=cost_ms, extracted=None if result.extracted is None
                    else result.extracted[:MAX_EXTRACTED]) for result in results]


class _Here:
    """Tools of a grader that waits for nothing: what is inside it grades in this process, and there is no judge."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec

    async def graded(self, asked: Sequence[tuple[str, Sample]]) -> list[Result]:
        return [judged_together(self._spec.inner[path], [sample])[0] for path, sample in asked]

    async def asked(self, questions: Sequence[Asked]) -> list[Reply | JudgeFailed]:
        return [JudgeFailed(ErrorKind.MODEL_SERVER, "no judge can be asked here")] * len(questions)

    async def ran(self, programs: Sequence[Program]) -> list[Ran]:
        return [Ran(Ended.INFRA_ERROR, "there is no sandbox here")] * len(programs)

    @asynccontextmanager
    async def entered(self, world: World) -> AsyncIterator[Scene]:  # noqa: ARG002
        raise WorldLost("no environment can be entered here")
        yield


async def _results(spec: Spec, samples: Sequence[Sample], tools: Tools) -> list[Result]:
    grade = spec.grader.grade_group
    if grade is None:
        return [await _alone(spec, sample, tools) for sample in samples]
    try:
        results = await grade(samples, spec.params, tools)
    except Exception as error:
        return [_failed(spec, error)] * len(samples)
    if len(results) != len(samples):
        return [failure(Status.INFRA_ERROR, f"the grader gave {len(results)} results for {len(samples)} samples")
                ] * len(samples)
    return results


async def _alone(spec: Spec, sample: Sample, tools: Tools) -> Result:
    """Return the grade of a sample that is graded by itself."""
    refused = _refused(sample.output) if spec.grader.reads_output else None
    if refused:
        return refused
    try:
        if spec.grader.grade is not None:
            return spec.grader.grade(sample.item, _read(spec, sample.output), spec.params)
        assert spec.grader.grade_sample is not None
        return await spec.grader.grade_sample(sample, spec.params, tools)
    except Exception as error:
        return _failed(spec, error)


def _failed(spec: Spec, error: Exception) -> Result:
    if isinstance(error, NoAnswer):
        return no_answer(str(error))
    if isinstance(error, InvalidSpec):
        return failure(Status.INVALID_SPEC, str(error))
    if isinstance(error, JudgeFailed):
        return failure(Status.JUDGE_ERROR, str(error))
    if isinstance(error, WorldLost):
        return failure(Status.INFRA_ERROR, f"world: {error}")
    _log.error("grader %s failed", spec.params.type, exc_info=error)  # a grader's defect masks this sample alone
    return failure(Status.INFRA_ERROR, f"{type(error).__name__}: {error}"[:1000])


def _refused(output_text: str) -> Result | None:
    if not output_text.strip():
        return no_answer("the output is empty")
    if len(output_text) > MAX_BYTES or len(output_text.encode(errors="surrogatepass")) > MAX_BYTES:
        return no_answer(f"the output is longer than {MAX_BYTES} bytes")
    return None


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
    """Return the result, or a failure if a score is not finite, not in range, or has no name that can be stored.

    Parts were judged by their own range; figures have none.
    """
    names = [*result.components, *(name for one in result.turns.values() for name in one), *(
        step.name for step in result.steps)]
    if not all(map(is_name, names)):
        wrong = next(name for name in names if not is_name(name))
        return failure(Status.INVALID_SPEC, f"a score has the name {wrong[:80]!r} of {len(wrong)} characters, expected "
                       f"1 to {LONGEST_NAME}")
    own = [] if result.score is None else [result.score]
    scores, (low, high) = [*result.components.values(), *own], spec.bounds
    ranged = own if spec.inner or spec.grader.grade is None or spec.grader.figures else scores
    scores += [value for scored in result.turns.values() for value in scored.values()]
    scores += [step.value for step in result.steps]
    if all(map(math.isfinite, scores)) and all(low <= score <= high for score in ranged):
        return result
    return failure(Status.INVALID_SPEC, f"a score of {scores} is not inside [{low:g}, {high:g}]")
