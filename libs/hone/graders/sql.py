"""SQL: the result of the answer's query is compared with the gold query's, on private databases in memory."""

import re
from typing import Literal

from pydantic import Field, field_validator

from hone.environments.sql_reading import Table
from hone.environments.statements import StatementError
from hone.graders.contract import (
    Grader,
    GraderParams,
    InvalidSpec,
    Mark,
    NoAnswer,
    Result,
    RightOutput,
    Status,
)
from hone.graders.formats import named_block
from hone.graders.gold_query import Comparison, Fault, Gold, ResultRule, gold, read
from hone.graders.sample import Item
from hone.graders.templates import Template, of_row, rendered, variables

_NAMES = frozenset({"sql", "sqlite", "sqlite3"})
_QUERY = re.compile(r"(?:\s|--[^\n]*(?:\n|\Z)|/\*.*?\*/)*(?:SELECT|WITH|VALUES)\b", re.IGNORECASE | re.DOTALL)


class SqlParams(GraderParams):
    """The database, the gold query, and when two results are equal."""

    type: Literal["sql"] = Field(description="Name of the grader.")
    database: Template = Field("{{ item.database }}", description="SQL script that makes the "
                               "database (SQLite), or its file in base64.")
    gold: Template = Field("{{ item.gold }}", description="The gold query: its result is right.")
    comparison: Comparison = Field(
        "multiset", description="multiset: the same rows equally often, and in order where the gold query has an ORDER "
        "BY; ordered: always in order; set: the same rows, however often (BIRD); columns: each gold column is one of "
        "the answer's, numbers within 0.01 (Spider 2).")
    extra_columns: int = Field(2, ge=0, le=100, description="Most columns in addition to the gold columns, for "
                               "columns.")
    perturbed: int = Field(1, ge=0, le=8, description="How many databases with fewer rows have to give equal results, "
                           "too.")
    allow: list[Fault] = Field([], description="Faults of the gold query that do not matter: empty: no row; unstable: "
                               "a LIMIT cuts a tie; nulls: NULL comes first; text_numbers: by numbers as texts.")
    extract: Literal["auto", "fence", "bare"] = Field(
        "auto", description="What is run: auto: the last code block of SQL, or else the last without a name, or else a "
        "text that begins with SELECT, WITH or VALUES; fence: that block; bare: the whole text.")

    @field_validator("database", "gold")
    @classmethod
    def _reads_the_row(cls, template: str) -> str:
        if any(one.root != "item" for one in variables(template)):
            raise ValueError("expected only variables under item: an answer must not change the reference")
        return template


def grade(item: Item, output_text: str, params: SqlParams) -> Result:
    """Score 1 for a query that gives the gold result on each database, else 0.

    A query that costs too much is timeout_candidate. Raises NoAnswer without a query, and InvalidSpec for a database or
    a gold query that nobody can be graded by.
    """
    right, query = _gold(item, params), _query(output_text, params)
    try:
        reason = _difference(query, right)
    except StatementError as error:
        status = Status.TIMEOUT_CANDIDATE if "costs too much" in str(error) else Status.OK
        return Result(status, 0.0, reasons=(f"the query fails: {error}"[:300], *right.notes), extracted=query,
                      decided_by="execution")
    return Result(Status.OK, float(not reason), reasons=tuple(filter(None, (reason, *right.notes))), extracted=query,
                  decided_by=right.rule.comparison)


def _gold(item: Item, params: SqlParams) -> Gold:
    rule = ResultRule(params.comparison, params.comparison == "ordered", params.extra_columns)
    script, sql = (rendered(template, item, "") for template in (params.database, params.gold))
    if not sql.strip():
        raise InvalidSpec("other_error: gold: found nothing, expected a query")
    return gold(script, sql, rule, params.perturbed, frozenset(params.allow))


def _query(output_text: str, params: SqlParams) -> str:
    """Return the query in an answer. Raises NoAnswer."""
    inside = None if params.extract == "bare" else named_block(output_text, _NAMES)
    if inside is None and (params.extract == "fence" or (params.extract == "auto" and not _QUERY.match(output_text))):
        raise NoAnswer("found no SQL")
    query = (output_text if inside is None else inside).strip()
    if not query.strip("; \n"):
        raise NoAnswer("found no SQL: the code block is empty")
    return query


def _difference(query: str, right: Gold) -> str:
    """Return how results differ; nothing where they do not. Raises StatementError."""
    for place, (database, expected) in enumerate(right.results):
        found = read(database, query)
        if not right.rule.equal(found, expected):
            known = f"found {_size(found)}, expected {_size(expected)}"
            return f"another result on a database with other rows: {known}" if place else f"another result: {known}"
    return ""


def _size(table: Table) -> str:
    return f"{len(table.rows)}{' or more' if table.more else ''} rows of {len(table.columns)} columns"


def right_output(item: Item, params: SqlParams) -> RightOutput:
    """Return the gold query, in a code block unless the whole text is read."""
    query = of_row(params.gold, item)
    return RightOutput(query if params.extract == "bare" else f"```sql\n{query}\n```")


def marks(params: SqlParams) -> list[Mark]:
    """Return the texts around a query."""
    return [] if params.extract == "bare" else [Mark("```", "```", needed=params.extract == "fence")]


def prepare() -> None:
    """Test SQLite: two equal rows are one as a set, and not as a multiset."""
    item = {"database": "CREATE TABLE t(a); INSERT INTO t VALUES (1), (1);", "gold": "SELECT a FROM t"}
    found = [grade(item, "SELECT DISTINCT a FROM t", SqlParams(type="sql", comparison=one)).score
             for one in ("set", "multiset")]
    if found != [1.0, 0.0]:
        raise RuntimeError(f"SQLite fails on a known answer: {found}")


GRADER = Grader(SqlParams, grade, pooled=True, prepare=prepare, right_output=right_output, marks=marks)
