"""What a spec names must exist and fit: its models, its datasets, its lengths."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hone.environments import ENVIRONMENTS
from hone.graders import templates
from hone.spec.problems import Problem, found
from hone.spec.run import RunSpec, TaskSource, TeacherSpec
from hone.spec.settings import Settings
from hone.spec.supervision import builder_of, supervised
from hone.store.database import AsyncTransaction
from services.gateway import bases, graders, task_rows
from services.gateway.bases import Base
from services.gateway.task_rows import Sifted

_TEACHER = "roles.teacher.model"


@dataclass(frozen=True)
class References:
    """What a run's models start from: its policy, and by role those beside it; and what of its rows is left out."""

    base: Base
    roles: Mapping[str, Base]
    bad_rows: Sequence[str]


async def resolve(
    transaction: AsyncTransaction, spec: RunSpec, settings: Settings, sifted: Sequence[Sifted]
) -> tuple[References, list[Problem]]:
    """Return what the spec names, and every problem with it. The references mean nothing if there are any."""
    base, problems = await _base(transaction, spec)
    roles, unfit = await _roles(transaction, spec, base, settings)
    problems += unfit
    for at, held in task_rows.trained(spec):
        problems += await _dataset(transaction, held.task, f"{at}task", _columns(held, held.task, trained=True))
        problems += _lengths(held, at, base, settings)
    if spec.eval is not None and spec.eval.source is not None:
        wanted = _columns(spec, spec.eval.source, trained=False)
        problems += await _dataset(transaction, spec.eval.source, "eval.source", wanted)
    problems += _rows(sifted, {problem.field for problem in problems})
    bad_rows = dict.fromkeys(one.message for one in sifted if one.message)
    return References(base or Base(), roles, list(bad_rows)), problems


async def _base(transaction: AsyncTransaction, spec: RunSpec) -> tuple[Base | None, list[Problem]]:
    """Return the policy's base where there is one, and what is wrong with it."""
    base = await bases.resolve(transaction, spec.model.base, "model.base")
    if isinstance(base, Problem):
        return None, [base]
    return base, list(_misfits(spec, base))


def _lengths(spec: RunSpec, at: str, base: Base | None, settings: Settings) -> Iterator[Problem]:
    tokens, field = spec.sampling.max_tokens, f"{at}sampling.max_tokens"
    if tokens >= settings.engine_max_tokens:
        yield Problem(field, str(tokens),
                      f"less than the engine's {settings.engine_max_tokens} positions, prompt included")
    if base is not None and tokens >= base.max_positions:
        yield Problem(field, str(tokens), f"less than the model's {base.max_positions} positions")


def _misfits(spec: RunSpec, base: Base) -> Iterator[Problem]:
    if spec.contexts.top_k > base.vocab_size:
        yield Problem("contexts.top_k", str(spec.contexts.top_k), f"at most the vocabulary's {base.vocab_size} ids")
    if base.adapter and spec.model.kind == "lora":
        yield Problem("model.base", f"{spec.model.base}, which is an adapter beside its base",
                      "a model of whole weights; or kind: full, which merges the adapter")


async def _roles(
    transaction: AsyncTransaction, spec: RunSpec, policy: Base | None, settings: Settings
) -> tuple[dict[str, Base], list[Problem]]:
    """Return the models beside the policy by their role, and what is wrong with them."""
    found_bases, problems = dict[str, Base](), list[Problem]()
    for role, model in spec.roles.models.items():
        at = _TEACHER if role == "teacher" else f"roles.asked.{role}.model"
        base = await bases.resolve(transaction, model, at)
        if isinstance(base, Problem):
            problems.append(base)
            continue
        found_bases[role] = base
        if policy is not None:
            problems += _unfit(model, at, base, policy, settings.engine_max_tokens)
            problems += _misread(spec.roles.teacher, base, policy) if spec.roles.teacher and role == "teacher" else []
    return found_bases, problems


def _unfit(model: str, at: str, base: Base, policy: Base, positions: int) -> Iterator[Problem]:
    """Say why a model cannot be beside this policy: it is served by itself, and reads as long texts."""
    if base.adapter:
        yield Problem(at, f"{model}, which is an adapter beside its base", "a model of whole weights")
    wanted = min(positions, policy.max_positions)
    if base.max_positions < wanted:
        yield Problem(at, f"{model}, which has {base.max_positions} positions",
                      f"at least {wanted}, which the policy's texts may have")


def _misread(teacher: TeacherSpec, base: Base, policy: Base) -> Iterator[Problem]:
    """Say why a model cannot judge what this policy writes: it reads the very ids."""
    if base.tokenizer != policy.tokenizer:
        yield Problem(_TEACHER, f"{teacher.model}, whose tokenizer.json is {_digest(base)}",
                      f"a model with the policy's tokenizer, whose tokenizer.json is {_digest(policy)}")
    elif base.vocab_size < policy.vocab_size or (teacher.top_k and base.vocab_size > policy.vocab_size):
        than = "exactly the policy's, since likeliest ids are kept" if teacher.top_k else "at least the policy's"
        yield Problem(_TEACHER, f"{teacher.model}, which has {base.vocab_size} ids", f"{than}: {policy.vocab_size}")
    if teacher.top_k > policy.vocab_size:
        yield Problem("roles.teacher.top_k", str(teacher.top_k), f"at most the vocabulary's {policy.vocab_size} ids")


def _digest(base: Base) -> str:
    return "nothing" if base.tokenizer is None else f"sha256 {base.tokenizer[:12]}…"


async def _dataset(
    transaction: AsyncTransaction, source: TaskSource, at: str, wanted: set[str],
) -> list[Problem]:
    if source.dataset is None:
        return []
    row = await transaction.one("gateway.artifact", kind="dataset", name=source.dataset)
    if row is None:
        return [Problem(f"{at}.dataset", found(source.dataset), "an uploaded dataset (`hone data list`)")]
    rows, columns = row["manifest"]["rows"], row["manifest"]["columns"]
    return [
        Problem(f"{at}.dataset", f"{source.dataset}, where {columns.get(column, 0)} of {rows} rows have {column}",
                f"{column} in every row")
        for column in sorted(wanted) if columns.get(column, 0) < rows
    ]


def _rows(sifted: Sequence[Sifted], refused: set[str]) -> Iterator[Problem]:
    """Say where no row is a task; of a dataset that lacks a whole key, that is said already."""
    for one in sifted:
        if f"{one.at}.dataset" not in refused:
            yield from one.problems()


def _columns(spec: RunSpec, source: TaskSource, trained: bool) -> set[str]:
    """Name what every row needs: completions to imitate, or what its grader and the privileged texts read."""
    if trained and supervised(spec):
        return {"chosen", "rejected"} if builder_of(spec.algorithm) == "pairs" else {"completion"}
    told = _told(spec) if trained else set()
    of_environment = ENVIRONMENTS[source.kind].columns or frozenset()
    if source.environment is not None and spec.grader is None:
        return {*of_environment} | told
    graded = graders.columns(spec.grader or source.params.get("grader") or {"type": "exact"})
    return {*of_environment} | graded | told


def _told(spec: RunSpec) -> set[str]:
    texts = (one.text for one in spec.contexts.privileged)
    return {variable.split(".")[1] for text in texts for variable in templates.variables(text)}
