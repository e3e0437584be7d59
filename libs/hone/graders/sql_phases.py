"""The three rewards of TRUST-SQL, arXiv 2603.16448, as components `exec`, `fmt` and `schema`."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from hone.environments.sql_exploration import MALFORMED, PHASES
from hone.graders.contract import Bounds, Grader, GraderParams, InvalidSpec, Result, Status, Tools, own_names
from hone.graders.sample import Conversation, Item, Reads, Sample
from hone.graders.schema_score import Mode, Schema, schema_score

_FORMAT = 0.1
"""R_fmt of an episode without a breach of the format."""


class SqlPhasesGraderParams(GraderParams):
    """How proposals are scored, and what the whole score is."""

    type: Literal["sql_phases"] = Field(description="Name of the grader.")
    proposal: Mode = Field("exact", description="Score of a proposed schema: exact, or 0.4 of tables + 0.6 of columns "
                           "by f1, precision or recall, or precision where nothing is missing.")
    score: Literal["accuracy", "reward"] = Field(
        "accuracy", description="The whole: accuracy is 1 for the gold result, else 0; reward is exec + fmt, for "
        "methods that read no components.")


async def grade_sample(sample: Sample, params: SqlPhasesGraderParams, tools: Tools) -> Result:  # noqa: ARG001
    """Return the rewards of an episode. Raises InvalidSpec for one of another environment than sql_exploration.

    exec: 1 for the gold result, 0.2 for another one, 0 for an error or no confirmed query. fmt: 0.1 where all four
    actions occurred, every turn kept the format and no SQL had an error of syntax, else 0. schema: the score in [0, 1]
    of the last proposal, 0 without one. Whoever pays it where exec = 1 alone is the method.
    """
    if sample.conversation is None:
        raise InvalidSpec("found no conversation, expected the calls of a sample")
    executed, done, gold = (sample.item.get(name) for name in ("executed", "done", "schema"))
    if not isinstance(executed, int | float) or not isinstance(done, list) or not isinstance(gold, dict):
        raise InvalidSpec("item: found no executed, done and schema, expected an item of environment sql_exploration")
    breaches = _breaches(sample.conversation)
    fmt = _FORMAT if set(done) >= set(PHASES) and not breaches else 0.0
    whole = executed + fmt if params.score == "reward" else float(executed == 1)
    return Result(Status.OK, whole, {"exec": executed, "fmt": fmt, "schema": _proposal(sample.item, gold, params)},
                  tuple(breaches[:5]), sample.item.get("sql"), "sql_phases")


def _breaches(conversation: Conversation) -> list[str]:
    """Return how turns broke the format."""
    noted = [f"call {call.number}: {call.notes[MALFORMED]}" for call in conversation.policy if MALFORMED in call.notes]
    return noted + [f"call {step.call}: {_text(step.said)}" for step in conversation.steps if not step.valid]


def _text(said: list[dict[str, Any]]) -> str:
    return " ".join(str(message.get("content", "")).strip() for message in said)[:200]


def _proposal(item: Item, gold: Mapping[str, Any], params: SqlPhasesGraderParams) -> float:
    proposed = item.get("proposed")
    return schema_score(_schema(proposed), _schema(gold), params.proposal) if proposed else 0.0


def _schema(given: Mapping[str, Any]) -> Schema:
    return Schema.of(given["tables"], given["columns"])


def bounds(params: SqlPhasesGraderParams, of_inner: Mapping[str, Bounds]) -> Bounds:  # noqa: ARG001
    """Return 0 and the largest score."""
    return 0.0, 1 + _FORMAT if params.score == "reward" else 1.0


GRADER = Grader(SqlPhasesGraderParams, grade_sample=grade_sample, reads=frozenset({Reads.CONVERSATION}),
                reads_output=False, bounds=bounds, components=own_names("exec", "fmt", "schema"))
