"""Requirements of a check of a grader: a grader of single outputs, its judges, a labelled set."""

from hone.graders.labelled_pairs import COLUMNS, DATASET, MOST_PAIRS
from hone.graders.labelled_sets import SETS, problem
from hone.graders.specs import Spec
from hone.resolution import judge_checks
from hone.spec.problems import Problem, found
from hone.spec.run import RunSpec
from hone.store.database import AsyncTransaction
from services.gateway.admission import judges
from services.gateway.admission.dataset_rows import rows_without
from services.gateway.middleware.errors import TooMany


async def problems(transaction: AsyncTransaction, grader: Spec, set_name: str) -> list[Problem]:
    """Return why a grader cannot be checked on a set, with the fields `grader` and `set`."""
    asked = [wrong for name, protocol in grader.judges.items()
             if (wrong := await judges.problem(transaction, "grader", name, protocol))]
    wrong = await of_set(transaction, set_name, "set")
    return [*judge_checks.unfit(grader, "grader.type"), *asked, *([wrong] if wrong else [])]


async def of_run(transaction: AsyncTransaction, spec: RunSpec) -> list[Problem]:
    """Return the faults of the labelled set of a run's judge_check."""
    wrong = await of_set(transaction, spec.judge_check.set, "judge_check.set") if spec.judge_check else None
    return [wrong] if wrong else []


async def of_set(transaction: AsyncTransaction, name: str, at: str) -> Problem | None:
    """Return the faults of a labelled set of the transaction's tenant."""
    if (wrong := problem(name, at)) or name in SETS:
        return wrong
    row = await transaction.one("artifacts.named", kind="dataset", name=name.removeprefix(DATASET))
    if row is None:
        return Problem(at, found(name), "an uploaded dataset (`hone data list`)")
    if (rows := row["manifest"]["rows"]) > MOST_PAIRS:
        return Problem(at, f"{name}, with {rows} rows", f"at most {MOST_PAIRS} pairs")
    return next((Problem(at, f"{name}, where {lacking}", f"{column} in every row") for column in COLUMNS
                 if (lacking := rows_without(row["manifest"], column))), None)


async def expect_room(transaction: AsyncTransaction, tenant_id: str, most: int) -> None:
    """Hold the place of one more check until the transaction ends. Raises TooMany beyond `most`, but for runs' checks.
    """
    await transaction.one("grader_checks.lock", tenant_id=tenant_id)
    row = await transaction.one("grader_checks.open", tenant_id=tenant_id)
    if row is not None and row["open"] >= most:
        raise TooMany(f"Your tenant has {row['open']} open checks of graders, expected at most {most} "
                      "(HONE_TENANT_CHECKS). Try again when a check has ended.")
