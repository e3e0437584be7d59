"""What a check of a grader needs before it is asked for: a grader of single outputs, its judges, a labelled set."""

from hone.graders.labelled_pairs import COLUMNS, DATASET, MOST_PAIRS
from hone.graders.labelled_sets import SETS, problem
from hone.graders.sample import Reads
from hone.graders.specs import Spec
from hone.spec.problems import Problem, found
from hone.store.database import AsyncTransaction
from services.gateway.admission import judges


async def problems(transaction: AsyncTransaction, grader: Spec, set_name: str) -> list[Problem]:
    """Return why a grader cannot be checked on a set, with the fields `grader` and `set`."""
    asked = [wrong for name, protocol in grader.judges.items()
             if (wrong := await judges.problem(transaction, "grader", name, protocol))]
    wrong = await of_set(transaction, set_name, "set")
    return [*unfit(grader, "grader.type"), *asked, *([wrong] if wrong else [])]


def unfit(grader: Spec, at: str) -> list[Problem]:
    """Return why a grader reads more than the outputs of a set."""
    beside = sorted(grader.reads - {Reads.OUTPUT})
    return [Problem(at, found(grader.params.type), f"a grader of single outputs; this one reads the {beside[0]}")
            ] if beside else []


async def of_set(transaction: AsyncTransaction, name: str, at: str) -> Problem | None:
    """Return what is wrong with a labelled set of the transaction's tenant."""
    if (wrong := problem(name, at)) or name in SETS:
        return wrong
    row = await transaction.one("artifacts.named", kind="dataset", name=name.removeprefix(DATASET))
    if row is None:
        return Problem(at, found(name), "an uploaded dataset (`hone data list`)")
    rows, columns = row["manifest"]["rows"], row["manifest"]["columns"]
    if rows > MOST_PAIRS:
        return Problem(at, f"{name}, with {rows} rows", f"at most {MOST_PAIRS} pairs")
    lacking = [column for column in COLUMNS if columns.get(column, 0) < rows]
    return Problem(at, f"{name}, where {columns.get(lacking[0], 0)} of {rows} rows have {lacking[0]}",
                   f"{lacking[0]} in every row") if lacking else None
