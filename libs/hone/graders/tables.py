"""The tables that an episode leaves behind, beside the right ones, each column by its class.

Sources: ScaleEnv, arXiv 2602.06820 (classes of columns, all or nothing), and STAGE-Claw, arXiv 2606.10394 (weights,
and a penalty for each object that was changed beside the task).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from hone.environments.cell_classes import ColumnClass, Similarity, hard_equal, semantic_equal
from hone.environments.sql_tables import TooManyRows
from hone.graders.contract import Grader, GraderParams, InvalidSpec, Names, Result, Status, Tools
from hone.graders.sample import Reads, Sample
from hone.graders.state import MISSING, Path, at_path
from hone.graders.stored_tables import Format, NoTables, StoredTable, Tables, tables
from hone.graders.table_diff import Mismatch, Pairs, TableClasses, mismatches, paired
from hone.graders.table_truth import columns_of, truths
from hone.graders.templates import Template, rendered

OTHERS = "others"
"""The component of all tables that the params do not name."""
_MOST_SHOWN, _MOST_REASONS, _LONGEST = 50, 5, 200
_EMPTY = StoredTable([])
Classes = ColumnClass | dict[str, ColumnClass]


class TablesParams(GraderParams):
    """Where the tables are, how their columns are compared, and what they have to hold."""

    type: Literal["tables"] = Field(description="Name of the grader.")
    at: Path | None = Field(None, description="Keys that lead to the tables in the environment's snapshot, joined by "
                            "dots; null: the whole snapshot.")
    format: Format = Field("json", description="sqlite: the file of a database in base64, as the environment sqlite "
                           "has it under database; json: an object of tables, each a list of rows, or rows by key.")
    columns: dict[str, Classes] = Field({}, description="Classes by table and column: exempt is not compared, hard has "
                                        "to be equal, semantic to say the same. A class instead of an object is that "
                                        "of all columns of the table.")
    default: ColumnClass = Field("hard", description="Class of the other columns of a table in `columns`.")
    keys: dict[str, Annotated[list[str], Field(min_length=1)]] = Field(
        {}, description="Columns by which the rows of a table are paired, instead of its primary key. Without a key, "
        "or with an exempt key, they are paired by all hard columns.")
    expected: Template | None = Field(None, description="JSON of the right tables, by name; any other table has to "
                                      "stay as it was. A list: alternatives, of which the best counts.")
    changes: Template | None = Field(None, description="JSON of the right changes to the first state: by table "
                                     "added, removed and changed ({where, set}). A list: alternatives.",
                                     examples=["{{ item.changes }}"])
    score: Literal["all", "share"] = Field("all", description="all: 1 where nothing differs, else 0; share: of the "
                                           "objects that have to change, by the weights of their tables.")
    weights: dict[str, Annotated[float, Field(gt=0)]] = Field({}, description="Weights of tables in share, 1 else.")
    forbidden_penalty: float = Field(0.1, ge=0, le=1, description="With share: loss of score for each other object "
                                     "that was "
                                     "changed; its score is at least 0.")
    allowed: list[str] = Field([], description="Tables whose other objects may change.")
    similarity: Similarity = Field("token_set_ratio", description="How semantic texts are compared. By token_set_ratio "
                                   "a part of the words is equal to all of them; token_sort_ratio counts each.")
    least: float = Field(0.9, gt=0, le=1, description="Similarity from which on semantic texts are equal.")

    @model_validator(mode="after")
    def _one_truth(self) -> "TablesParams":
        if (self.expected is None) == (self.changes is None):
            raise ValueError("expected either expected or changes")
        return self

    @model_validator(mode="after")
    def _exact_keys(self) -> "TablesParams":
        for table, key in self.keys.items():
            soft = [column for column in key if self.classes(table).of(column) == "semantic"]
            if soft:
                raise ValueError(f"expected hard columns in keys.{table}, and {soft[0]} is semantic")
        return self

    def classes(self, table: str) -> TableClasses:
        """Return how the rows of a table are compared: one without classes exactly."""
        given: Classes = self.columns.get(table, {})
        default = given if isinstance(given, str) else self.default if table in self.columns else "hard"
        return TableClasses({} if isinstance(given, str) else given, default, self.keys.get(table, ()),
                            self.similarity, self.least)

    @property
    def named(self) -> list[str]:
        """Tables that are named here."""
        return sorted({*self.columns, *self.keys, *self.weights, *self.allowed})


@dataclass(frozen=True)
class TableGrade:
    """Outcome of the objects of a table."""

    required: int  # objects that have to change
    made: int
    forbidden: int  # other objects that were changed
    mismatches: Sequence[Mismatch]

    @property
    def right(self) -> bool:
        return self.made == self.required and not self.forbidden

    @property
    def value(self) -> float:
        """The share of the objects that have to change; without any, whether nothing changed."""
        return self.made / self.required if self.required else float(not self.forbidden)


async def grade_sample(sample: Sample, params: TablesParams, tools: Tools) -> Result:  # noqa: ARG001
    """Score the last state by the right one that is nearest. Raises InvalidSpec."""
    if sample.world is None:
        raise InvalidSpec("found no world, expected the states of the environment")
    before = _first(sample.world.before, params)
    field, template = ("expected", params.expected) if params.expected is not None else ("changes", params.changes)
    right = truths(rendered(template or "", sample.item, sample.output), field, before)
    for truth in right:
        _check_named(params, before, truth)
    try:
        after = tables(_value(sample.world.after, params, {}), params.format)
    except TooManyRows as error:
        return _result(params, 0.0, {}, (f"the last state has {error}",))
    except NoTables as error:
        raise InvalidSpec(f"at: in the last state, {error}") from None
    graded = [table_grades(before, after, truth, params) for truth in right]
    best = max(graded, key=lambda found: (scored(found, params), -sum(len(one.mismatches) for one in found.values())))
    return _result(params, scored(best, params), best, ())


def table_grades(before: Tables, after: Tables, truth: Tables, params: TablesParams) -> dict[str, TableGrade]:
    """Return the outcome of each table."""
    return {name: table_grade(name, before.get(name), after.get(name), truth.get(name), params.classes(name),
                              name in params.allowed)
            for name in sorted({*before, *after, *truth}) if params.columns.get(name) != "exempt"}


def table_grade(
    name: str, before: StoredTable | None, after: StoredTable | None, truth: StoredTable | None, classes: TableClasses,
    allowed: bool = False,
) -> TableGrade:
    """Compare a table with the right one. None: a state lacks it.

    An object that the reference adds, removes or changes has to change. Any other object that differs from the
    reference counts as collateral damage. Where rows have no key, a lost row and a new row are a single change.
    """
    first, last, wanted = before or _EMPTY, after or _EMPTY, truth or _EMPTY
    task, done = paired(first, wanted, classes), paired(last, wanted, classes)
    due = {*task.wrong, *task.missing}  # places in the truth of what is added and changed; task.extra is removed
    kept = _kept(first, last, task, done, classes)
    required, undone = len(due) + len(task.extra), len(due - done.right.keys())
    lost, new = sum(place not in due for place in done.missing), len(done.extra) - len(kept)
    if not done.keyed:
        new = max(0, new - undone)  # a row that should have changed and became another one
    rows = (lost + new if done.keyed else max(lost, new)) + sum(place not in due for place in done.wrong)
    forbidden = rows or int((after is None) != (truth is None))
    counted = _of_task(done, due, kept) if allowed else done
    return TableGrade(required, required - undone - len(kept), 0 if allowed else forbidden,
                      list(mismatches(name, last, wanted, counted, classes)))


def scored(found: Mapping[str, TableGrade], params: TablesParams) -> float:
    """Return the score of graded tables."""
    if params.score == "all":
        return float(all(one.right for one in found.values()))
    asked = {name: params.weights.get(name, 1.0) for name, one in found.items() if one.required}
    whole = sum(asked.values())
    share = sum(weight * found[name].value for name, weight in asked.items()) / whole if whole else 1.0
    return max(0.0, share - params.forbidden_penalty * sum(one.forbidden for one in found.values()))


def _kept(
    first: StoredTable, last: StoredTable, task: Pairs, done: Pairs, classes: TableClasses
) -> list[int]:
    """Return the places of rows in the last state that have to go and are still there."""
    gone = StoredTable([first.rows[place] for place in task.extra], first.key, first.columns)
    there = StoredTable([last.rows[place] for place in done.extra], last.key or first.key, last.columns)
    pairs = paired(there, gone, classes)
    return [done.extra[place] for place in sorted({*pairs.right.values(), *pairs.wrong.values()})]


def _of_task(done: Pairs, due: set[int], kept: Sequence[int]) -> Pairs:
    return Pairs(done.right, {place: other for place, other in done.wrong.items() if place in due},
                 [place for place in done.missing if place in due], kept, done.keyed)


def _result(params: TablesParams, score: float, found: Mapping[str, TableGrade], reasons: Sequence[str]) -> Result:
    values = {name: float(one.right) if params.score == "all" else one.value for name, one in found.items()}
    given = {name: values[name] for name in params.columns if name in values}
    others = [value for name, value in values.items() if name not in params.columns]
    components = dict.fromkeys(params.columns, 0.0) | given | {OTHERS: min(others, default=float(bool(found)))}
    wrong = [one for graded in found.values() for one in graded.mismatches]
    said = (*reasons, *(reason for name, one in found.items() for reason in _reasons(name, one)),
            *map(_worded, wrong[:_MOST_REASONS]))
    evidence = ({"mismatches": [_short(one.shown()) for one in wrong[:_MOST_SHOWN]], "more": max(
        0, len(wrong) - _MOST_SHOWN)},) if wrong else ()
    return Result(Status.OK, score, components, said, decided_by="tables", evidence=evidence)


def _reasons(name: str, one: TableGrade) -> list[str]:
    missed = [f"{name}: {one.made} of {one.required} objects that have to change are as expected"]
    beside = [f"{name}: {one.forbidden} other objects were changed"]
    return [*(missed if one.made < one.required else []), *(beside if one.forbidden else [])]


def _worded(one: Mismatch) -> str:
    key = ", ".join(f"{column}={value!r}" for column, value in one.key.items())
    at = f"{one.table}[{key[:_LONGEST]}]"
    if one.column:
        return f"{at}.{one.column}: found {one.got!r:.100}, expected {one.expected!r:.100}"
    return f"{at}: found {'no row, expected a row' if one.got is None else 'a row, expected no row'}"


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…"
    if isinstance(value, Mapping):
        return {key: _short(inner) for key, inner in value.items()}
    return _short(repr(value)) if isinstance(value, list) else value


def _first(state: Mapping[str, Any], params: TablesParams) -> Tables:
    """Return the tables of the first state. Raises InvalidSpec."""
    try:
        return tables(_value(state, params, MISSING), params.format)
    except (NoTables, TooManyRows) as error:
        raise InvalidSpec(f"at: in the first state, {error}") from None


def _value(state: Mapping[str, Any], params: TablesParams, lacking: Any) -> Any:
    if params.at is None:
        return state
    value = at_path(state, params.at)
    if value is MISSING and lacking is MISSING:
        raise InvalidSpec(f"at: found {params.at!r}, expected a path of the first state: {', '.join(state)}")
    return lacking if value is MISSING else value


def _check_named(params: TablesParams, before: Tables, truth: Tables) -> None:
    """Raise InvalidSpec for a table or a column that the params name and the states lack."""
    for name in params.named:
        if name not in before and name not in truth:
            raise InvalidSpec(f"found table {name!r}, expected one of {', '.join(sorted({*before, *truth}))}")
        known = {column for state in (before, truth) if name in state for column in columns_of(state[name])}
        given = params.columns.get(name, {})
        for column in [*({} if isinstance(given, str) else given), *params.keys.get(name, ())]:
            if known and column not in known:
                raise InvalidSpec(f"{name}: found column {column!r}, expected one of {', '.join(sorted(known))}")


def components(params: TablesParams, of_inner: Mapping[str, Names]) -> Names:  # noqa: ARG001
    """Return the tables with classes, and `others`."""
    return frozenset([*params.columns, OTHERS])


def prepare() -> None:
    """Test the comparison on known cells."""
    if not hard_equal("2026-01-01T01:00:00+01:00", "2026-01-01T00:00Z") or not semantic_equal("a  b", "a b"):
        raise RuntimeError("cells that are equal are not found to be")


GRADER = Grader(TablesParams, grade_sample=grade_sample, reads=frozenset({Reads.WORLD}), reads_output=False,
                pooled=True, prepare=prepare, components=components)
