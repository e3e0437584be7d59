"""Steps of reasoning over a table, checked by rules, and a reward that they gate: V-tableR1, arXiv 2604.20755.

The rules, the gate's form and the format reward are a reconstruction.
"""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from hone.graders.contract import (
    Bounds,
    Grader,
    GraderParams,
    InvalidSpec,
    Mark,
    Result,
    Scored,
    Status,
    Tools,
    own_names,
)
from hone.graders.process_gate import Gate, process_score
from hone.graders.sample import Item, Sample
from hone.graders.table_chain import Syntax, read
from hone.graders.table_rules import Table, same, step_scores
from hone.graders.templates import Template, rendered

STEP = "step"
"""Name of the steps' scores."""


class TableStepsParams(GraderParams):
    """Reference answer, form of steps, and the way in which their scores gate the reward."""

    type: Literal["table_steps"] = Field(description="Name of the grader.")
    reference: Template = Field("{{ item.answer }}", description="The right answer.")
    table: str = Field("table", min_length=1, description="Field of the item with the table: rows of cells as "
                       "displayed, which are counted from 0.")
    syntax: Syntax = Field("json", description="How steps are written: JSON on lines of their own, or lines of a "
                           "grammar for small models.")
    gate: Gate = Field(default_factory=Gate, description="How the score of the process gates the reward.")


async def grade_sample(sample: Sample, params: TableStepsParams, tools: Tools) -> Result:  # noqa: ARG001
    """Score R of the gate, from R_acc, R_fmt and T. Each step that can be read has its score s_j.

    R_acc = 1 for an answer equal to the reference (numbers as numbers), else 0. R_fmt = 1 where the output is not cut
    off, has at least one step and one answer, and has no step that cannot be read, else 0. T reduces the s_j. Raises
    InvalidSpec where the row has no table.
    """
    table, reference = _table(sample.item, params.table), rendered(params.reference, sample.item, sample.output)
    chain = read(sample.output, params.syntax)
    scores = step_scores(table, [one.step for one in chain.steps], chain.answer or "")
    process = process_score(scores, params.gate.reduction)
    accuracy = float(chain.answer is not None and same(chain.answer, reference))
    form = float(chain.formed and not sample.truncated)
    reward = params.gate.reward(accuracy, form, process)
    return Result(
        Status.OK if reward or chain.answer is not None else Status.NO_ANSWER, reward,
        {"accuracy": accuracy, "format": form, "process": process}, extracted=chain.answer, decided_by="table_steps",
        steps=tuple(Scored("", one.start, one.end, STEP, score)
                    for one, score in zip(chain.steps, scores, strict=True)))


def _table(item: Item, name: str) -> Table:
    rows = item.get(name)
    if not isinstance(rows, list) or not rows or not all(isinstance(row, list) for row in rows):
        raise InvalidSpec(f"item.{name}: found {rows!r}"[:200] + ", expected rows of cells")
    return [[cell if isinstance(cell, str) else str(cell) for cell in row] for row in rows]


def bounds(params: TableStepsParams, of_inner: Mapping[str, Bounds]) -> Bounds:  # noqa: ARG001
    """Return 0 and the reward of a right answer in a right format with steps that pass every check."""
    return 0.0, params.gate.most


def marks(params: TableStepsParams) -> list[Mark]:
    """Return the tag of the answer."""
    return [Mark("<answer>", "</answer>")] if params.syntax == "json" else []


def reads_reasoning(params: Any) -> bool:  # noqa: ARG001
    """Return True: steps stand in the reasoning."""
    return True


GRADER = Grader(TableStepsParams, grade_sample=grade_sample, reads_output=False, reads_reasoning=reads_reasoning,
                marks=marks, bounds=bounds, components=own_names("accuracy", "format", "process"),
                step_scores=own_names(STEP))
