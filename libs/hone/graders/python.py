"""OpenAI's python grader: the user's function `grade(sample, item)`, which runs in the sandbox."""

import ast
from typing import Any, Literal

from pydantic import Field, field_validator

from hone.graders.contract import Grader, GraderParams, InvalidSpec, Needs, Result, Status, Tools, failure
from hone.graders.error_kinds import ErrorKind
from hone.graders.judge_messages import answer_of
from hone.graders.sample import Sample
from hone.graders.variables import sample_of
from hone.sandbox.program import MEBI, Ended, Limits, Program, Ran
from hone.spec import strict_json

LONGEST = 256 * 1024
"""Bytes of a source, as OpenAI limits it."""
_SHOWN = 1000


class PythonParams(GraderParams):
    """The fields of OpenAI's grader, and what its function may use."""

    type: Literal["python"] = Field(description="Name of the grader.")
    source: str = Field(min_length=1, description="Python source, up to 256 KiB, with a function grade(sample, item).",
                        examples=["def grade(sample, item): return float(item['word'] in sample['output_text'])"])
    image_tag: str | None = Field(None, description="OpenAI's name of an image. It changes nothing here.")
    pass_threshold: float | None = Field(None, description="A field of OpenAI's evaluations. It changes no grade here.")
    range: list[float] = Field(
        [0.0, 1.0], min_length=2, max_length=2, description="Smallest and largest score; any other value is an error "
        "of the grader.")
    seconds: float = Field(10.0, gt=0, le=120, description="Seconds that a grade may take.")
    memory_mb: int = Field(512, ge=16, le=2048, description="MiB that a grade may use.")

    @field_validator("source")
    @classmethod
    def _defines_grade(cls, source: str) -> str:
        if len(source.encode(errors="replace")) > LONGEST:
            raise ValueError(f"expected at most {LONGEST} bytes")
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise ValueError(f"expected Python: {error}") from error
        if not any(_names_grade(statement) for statement in tree.body):
            raise ValueError("expected a function grade(sample, item)")
        return source

    @field_validator("range")
    @classmethod
    def _is_a_range(cls, ends: list[float]) -> list[float]:
        if not ends[0] < ends[1]:
            raise ValueError("expected a smaller number and a larger one")
        return ends


def _names_grade(statement: ast.stmt) -> bool:
    """Return whether a statement gives something the name `grade`."""
    if isinstance(statement, ast.FunctionDef):
        return statement.name == "grade"
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return any((one.asname or one.name) == "grade" for one in statement.names)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return any(isinstance(one, ast.Name) and one.id == "grade" for one in targets)


async def grade_sample(sample: Sample, params: PythonParams, tools: Tools) -> Result:
    """Return the result of the function. It sees the answer as its `sample`, the row as its `item`, and nothing else.

    A function that raises, runs out of time, or returns no number in the range says nothing about the policy: there is
    no score. Raises NoAnswer, and InvalidSpec for what the function did wrong.
    """
    answer = answer_of(sample)
    limits = Limits(wall_s=params.seconds, cpu_s=params.seconds, memory_bytes=params.memory_mb * MEBI)
    [ran] = await tools.ran([Program(
        params.source, function="grade", calls=[[sample_of(sample.item, answer), sample.item]], limits=limits)])
    if ran.status is Ended.INFRA_ERROR:
        return failure(Status.INFRA_ERROR, f"{ErrorKind.PYTHON_SERVER}: {ran.detail}")
    if ran.status is Ended.TIME_LIMIT:
        return failure(Status.TIMEOUT_GRADER, f"{ErrorKind.PYTHON_RUNTIME}: {ran.detail}")
    score = _score(ran, params)
    return Result(Status.OK, score, extracted=answer, decided_by="python", evidence=(_evidence(ran),))


def _score(ran: Ran, params: PythonParams) -> float:
    """Return the number that the function returned. Raises InvalidSpec."""
    if ran.status is not Ended.FINISHED or not ran.outcomes:
        raise InvalidSpec(f"{ErrorKind.PYTHON_RUNTIME}: {ran.detail or ran.status}"[:_SHOWN])
    [outcome] = ran.outcomes
    if outcome.error:
        raise InvalidSpec(f"{ErrorKind.PYTHON_RUNTIME}: {outcome.error[-_SHOWN:]}")
    value, (low, high) = outcome.value, params.range
    score = float(value) if isinstance(value, bool) else strict_json.number(value)
    if score is None or not low <= score <= high:
        raise InvalidSpec(f"{ErrorKind.PYTHON_RUNTIME}: grade returned {str(value)[:100]}, expected a number from "
                          f"{low:g} to {high:g}")
    return score


def _evidence(ran: Ran) -> dict[str, Any]:
    shown = {"stdout": ran.stdout, "stderr": ran.stderr}
    return {"ran": "grade", "wall_ms": round(ran.wall_ms, 3), **{
        name: text[:_SHOWN].decode(errors="replace") for name, text in shown.items() if text}}


def bounds(params: PythonParams, of_inner: object) -> tuple[float, float]:  # noqa: ARG001
    """Return the range."""
    return params.range[0], params.range[1]


GRADER = Grader(PythonParams, grade_sample=grade_sample, bounds=bounds, needs=frozenset({Needs.SANDBOX}), limit_s=180.0)
