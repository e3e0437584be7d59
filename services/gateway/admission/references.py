"""Resolves the names in a spec: its models, versions, runs and datasets must exist and fit together."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from hone.algorithms import presets
from hone.algorithms.slots import BUILDERS
from hone.environments.catalogue import ENVIRONMENTS
from hone.graders import specs, templates
from hone.models.architecture import RATERS
from hone.resolution.sources import Source
from hone.spec.problems import Invalid, Problem, found
from hone.spec.roles import TeacherSpec
from hone.spec.run import RunSpec, TaskSource
from hone.spec.settings import Settings
from hone.store.database import AsyncTransaction, Row
from hone.text.files import FILES
from services.gateway.admission import dataset_rows, grader_checks, judges, knowledge, manifests, splits, task_rows
from services.gateway.admission.task_rows import CheckedDataset
from services.gateway.middleware.tenancy import TenantSession


class DataFindings(Protocol):
    """Findings in a dataset, and the field of the spec that names it."""

    @property
    def at(self) -> str:
        """The field."""

    def problems(self) -> list[Problem]:
        """Return why a run cannot use the dataset."""


_TEACHER = "roles.teacher.model"


@dataclass(frozen=True)
class Base:
    """The start of a model of a run: a registered model or a version, with the facts that must fit other models."""

    artifact_id: str | None = None
    version_id: str | None = None
    adapter: bool = False
    tokenizer: str | None = None  # sha256 of its tokenizer.json
    vocab_size: int = 0
    max_positions: int = 0
    text: Mapping[str, Any] = field(default_factory=dict)  # of hone.client.resources.ModelText
    text_files: Mapping[str, Any] = field(default_factory=dict)  # entries of the manifest that a tokenizer reads

    @property
    def trained_id(self) -> str | None:
        """The id of the registered model or of the version."""
        return self.version_id or self.artifact_id


@dataclass(frozen=True)
class References:
    """The resolved names of a spec: the policy's base, the frozen models by role, and what its user should know.

    `bad_rows` are sentences about rows that are left out, `split` about rows that are held out.
    """

    base: Base
    roles: Mapping[str, Base]
    bad_rows: Sequence[str]
    split: Sequence[str]

    def dated(self, spec: RunSpec) -> RunSpec:
        """Return the spec with today's date where a template writes one and the spec names none."""
        writes = any(base.text.get("dated") for base in (self.base, *self.roles.values()))
        if spec.chat.date is not None or not writes:
            return spec
        today = datetime.now(UTC).date().isoformat()
        return spec.model_copy(update={"chat": spec.chat.model_copy(update={"date": today})})


async def resolve(
    transaction: AsyncTransaction, settings: Settings, spec: RunSpec, rows: Sequence[CheckedDataset],
    graded: Sequence[DataFindings] = (),
) -> References:
    """Return everything that the spec names. Raises Invalid with every name that does not exist or does not fit.

    `rows` are the findings on the rows of its datasets, `graded` those on their references and on what can be trained.
    """
    problems = list[Problem]()
    base = await base_of(transaction, spec, problems)
    roles = await roles_of(transaction, settings, spec, base, problems)
    for one in task_rows.parts(spec):
        problems += await dataset_problems(
            transaction, settings, one.spec.task, one.at, columns(one.spec, trained=True),
            demonstrated=presets.builder_of(one.spec.algorithm) == "dataset")
        problems += length_problems(one, base, settings)
        problems += _shown_tools(one, base)
    for one in task_rows.held_out(spec):
        wanted = columns(one.spec, trained=False)
        problems += await dataset_problems(transaction, settings, one.spec.task, one.at, wanted)
    problems += await judges.problems(transaction, spec, base.trained_id if base else None)
    problems += await grader_checks.of_run(transaction, spec)
    problems = [*dict.fromkeys(problems), *await manifests.problems(transaction, spec),
                *await knowledge.problems(transaction, spec)]
    named = {problem.field for problem in problems}  # a missing column is not reported again row by row
    problems += [problem for found_there in rows if f"{found_there.at}.dataset" not in named
                 for problem in found_there.problems()]
    undivided, split = splits.check(spec, rows)
    problems += [problem for problem in undivided if problem.field not in named]
    named = {problem.field.removesuffix(".dataset") for problem in problems}
    problems += [problem for of_data in graded if of_data.at not in named for problem in of_data.problems()]
    if problems or base is None:
        raise Invalid(problems)
    return References(base, roles, list(dict.fromkeys(one.message for one in rows if one.message)), split)


async def lacks(session: TenantSession, spec: RunSpec) -> Mapping[str, str]:
    """Return the messages that the chat template of the policy's base cannot show, with reasons; {} without a base."""
    async with session.transaction() as transaction:
        base = await find_base(transaction, spec.model.base, "model.base")
    return {} if isinstance(base, Problem) else base.text.get("lacks", {})


async def base_of(transaction: AsyncTransaction, spec: RunSpec, problems: list[Problem]) -> Base | None:
    """Return the base of the policy, None if it does not exist. Append its problems to `problems`."""
    base = await find_base(transaction, spec.model.base, "model.base")
    if isinstance(base, Problem):
        problems.append(base)
        return None
    if spec.contexts.top_k > base.vocab_size:
        problems.append(Problem(
            "contexts.top_k", str(spec.contexts.top_k), f"at most the {base.vocab_size} tokens of the vocabulary"))
    if base.adapter and spec.model.kind == "lora":
        problems.append(Problem("model.base", f"{spec.model.base}, an adapter (LoRA)",
                                "a model of whole weights; or kind: full, which merges the adapter"))
    return base


async def roles_of(
    transaction: AsyncTransaction, settings: Settings, spec: RunSpec, policy: Base | None, problems: list[Problem],
) -> dict[str, Base]:
    """Return the frozen models beside the policy, by role. Append their problems to `problems`."""
    bases = dict[str, Base]()
    for role, model in spec.roles.models.items():
        at = _TEACHER if role == "teacher" else f"roles.asked.{role}.model"
        base = await find_base(transaction, model, at)
        if isinstance(base, Problem):
            problems.append(base)
            continue
        bases[role] = base
        if policy is not None:
            problems += _role_misfits(model, at, base, policy, settings.engine.max_tokens)
            if role == "teacher" and spec.roles.teacher is not None:
                problems += _teacher_misfits(spec.roles.teacher, base, policy)
    return bases


def _role_misfits(model: str, at: str, base: Base, policy: Base, engine_tokens: int) -> Iterator[Problem]:
    """Check that an engine can serve the model by itself, and that it can read texts as long as the policy's."""
    if base.adapter:
        yield Problem(at, f"{model}, an adapter (LoRA)", "a model of whole weights")
    wanted = min(engine_tokens, policy.max_positions)
    if base.max_positions < wanted:
        yield Problem(at, f"{model}, which has {base.max_positions} positions",
                      f"at least {wanted} positions, the longest text of the policy")


def _teacher_misfits(teacher: TeacherSpec, base: Base, policy: Base) -> Iterator[Problem]:
    """Check that the teacher can read the token ids that the policy writes."""
    if base.tokenizer != policy.tokenizer:
        yield Problem(_TEACHER, f"{teacher.model} with the tokenizer.json {_digest(base)}",
                      f"a model with the policy's tokenizer.json {_digest(policy)}")
    elif base.vocab_size < policy.vocab_size or (teacher.top_k and base.vocab_size > policy.vocab_size):
        wanted = ("exactly the policy's, because the teacher's likeliest tokens are stored" if teacher.top_k
                  else "at least the policy's")
        yield Problem(_TEACHER, f"{teacher.model} with a vocabulary of {base.vocab_size} tokens",
                      f"{wanted}: {policy.vocab_size}")
    if teacher.top_k > policy.vocab_size:
        yield Problem("roles.teacher.top_k", str(teacher.top_k),
                      f"at most the {policy.vocab_size} tokens of the vocabulary")


def _digest(base: Base) -> str:
    return "missing" if base.tokenizer is None else f"sha256 {base.tokenizer[:12]}…"


def length_problems(source: Source, base: Base | None, settings: Settings) -> Iterator[Problem]:
    """Yield why answers as long as a source allows do not fit an engine or the model."""
    tokens, field = source.spec.sampling.max_tokens, source.path("sampling.max_tokens")
    if tokens >= settings.engine.max_tokens:
        yield Problem(field, str(tokens),
                      f"less than the {settings.engine.max_tokens} positions of an engine, prompt included")
    if base is not None and tokens >= base.max_positions:
        yield Problem(field, str(tokens), f"less than the {base.max_positions} positions of the model")


def _shown_tools(source: Source, base: Base | None) -> Iterator[Problem]:
    """Check that the model's template shows the tools where the harness leaves that to it."""
    spec = source.spec
    if spec.harness is None or spec.harness.params.get("describe") != "template" or base is None:
        return
    if "tools" in base.text.get("lacks", {}):
        yield Problem(source.path("harness.params.describe"), '"template"',
                      f"true, because the chat template of {spec.model.base} shows no tools")


async def dataset_problems(
    transaction: AsyncTransaction, settings: Settings, source: TaskSource, at: str, wanted: set[str],
    demonstrated: bool = False,
) -> list[Problem]:
    """Check that a dataset exists, fits today's bounds, and that its rows have the wanted keys.

    `demonstrated` rows train their answers.
    """
    if source.dataset is None:
        return []
    row = await transaction.one("artifacts.named", kind="dataset", name=source.dataset)
    if row is None:
        return [Problem(f"{at}.dataset", found(source.dataset), "an uploaded dataset (`hone data list`)")]
    largest, most = row["manifest"].get("largest_row_bytes", 0), settings.max_row_kb * 2**10
    if largest > most:
        return [Problem(f"{at}.dataset", f"{source.dataset}, with a row of {largest} bytes from before this bound",
                        f"at most {most} bytes (HONE_MAX_ROW_KB): upload it anew without such rows")]
    if demonstrated and dataset_rows.rows_without(row["manifest"], "messages") is None:
        return []  # the messages hold the answers; the driver leaves out rows where they hold none
    return [
        Problem(f"{at}.dataset", f"{source.dataset}, where {lacking}", f"{column} in every row")
        for column in sorted(wanted) if (lacking := dataset_rows.rows_without(row["manifest"], column))
    ]


def columns(spec: RunSpec, trained: bool) -> set[str]:
    """Return the keys that every row needs, for its completion, its grader or a privileged context.

    `spec` has one source of tasks.
    """
    source = spec.task
    if trained and presets.supervised(spec.algorithm):
        return {*BUILDERS[presets.builder_of(spec.algorithm)].columns}
    read = {*(ENVIRONMENTS[source.kind].columns or ())} | (_context_columns(spec) if trained else set())
    if source.environment is not None and spec.grader is None:
        return read
    return read | grader_columns(spec.grader or source.params.get("grader") or {"type": "exact"})


def _context_columns(spec: RunSpec) -> set[str]:
    texts = (context.text for context in spec.contexts.privileged)
    return {column for text in texts for column in templates.columns(text)}


def grader_columns(grader: Mapping[str, Any]) -> set[str]:
    """Return the keys of a row that a grader reads: by templates, those of its defaults too, and by their names."""
    spec = specs.checked(grader)
    named = (one.grader.columns(one.params) for one in spec.all)
    return set().union(*map(_columns, _texts(spec.params.model_dump())), *named)


def _columns(text: str) -> set[str]:
    try:
        return templates.columns(text)
    except ValueError:  # a text that is no template
        return set()


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts of a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inside in value.values() if isinstance(value, dict) else value:
            yield from _texts(inside)


async def find_base(transaction: AsyncTransaction, name: str, at: str) -> Base | Problem:
    """Return the model that `name` means: a registered model by name or id, a version id, or the id of a finished run.

    `at` is the field of the spec, for the Problem that is returned when there is no such model.
    """
    if name.startswith("ver_"):
        return await _version(transaction, name, at)
    if name.startswith("run_"):
        return await _finished_run(transaction, name, at)
    row = await transaction.one("artifacts.named", kind="base_model", name=name)
    if row is None:
        return Problem(at, found(name), "a registered model, a version or a run (`hone models list`)")
    if row["manifest"].get("architecture") in RATERS:
        return Problem(at, f"{name}, a reward model", "a model that writes text; only the grader reward_model asks "
                       "reward models")
    tokenizer = row["manifest"]["files"].get("tokenizer.json", {}).get("sha256")
    return Base(row["id"], None, False, tokenizer, **_facts(row["manifest"]))


async def _version(transaction: AsyncTransaction, version_id: str, at: str) -> Base | Problem:
    row = await transaction.one("versions.live", version_id=version_id)
    if row is None:
        return Problem(at, found(version_id), "a live version (`hone runs checkpoints RUN`)")
    if not row["stored"]:
        return Problem(at, f"{version_id}, a version with removed weights", "a version with stored weights")
    return await _of_version(transaction, row)


async def _finished_run(transaction: AsyncTransaction, run_id: str, at: str) -> Base | Problem:
    run = await transaction.one("runs.state", run_id=run_id)
    if run is None:
        return Problem(at, found(run_id), "a run (`hone runs list`)")
    if run["state"] != "succeeded":
        return Problem(at, f"{run_id}, which is {run['state']}", "a run that succeeded")
    row = await transaction.one("versions.newest_stored", model_id=run["policy_model_id"])
    if row is None:
        return Problem(at, f"{run_id}, which has no stored version", "a run with a stored version")
    return await _of_version(transaction, row)


async def _of_version(transaction: AsyncTransaction, row: Row) -> Base:
    """Return a version as a base. Vocabulary and positions are those of the model it descends from."""
    origin = await transaction.one("versions.origin", version_id=row["id"])
    return Base(None, row["id"], row["adapter"], row["tokenizer"], **_facts(origin["manifest"] if origin else {}))


def _facts(manifest: Mapping[str, Any]) -> dict[str, Any]:
    return {"vocab_size": manifest.get("vocab_size", 0), "max_positions": manifest.get("max_positions", 0),
            "text": manifest.get("text", {}),
            "text_files": {name: entry for name, entry in manifest.get("files", {}).items() if name in FILES}}
