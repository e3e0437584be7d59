"""Creates runs and changes their desired state: the checks in order, then the rows."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from psycopg.types.json import Jsonb

from hone import ids
from hone.client.resources import Desired, Run
from hone.crashpoints import reach
from hone.environments.hashing import canonical
from hone.spec.files import as_json
from hone.spec.money import money
from hone.spec.run import RunSpec
from hone.spec.settings import Settings
from hone.store.database import AsyncTransaction, Row
from hone.store.objects import Objects
from hone.telemetry import tracing
from services.gateway.admission import knowledge, manifests, references, row_references, task_rows, trained_rows
from services.gateway.admission.reference_findings import ReferenceFindings
from services.gateway.admission.references import Base, References
from services.gateway.admission.trained_rows import TrainedRows
from services.gateway.middleware.errors import Conflict, unknown_run
from services.gateway.middleware.idempotency import JsonAnswer, once, stored
from services.gateway.middleware.tenancy import TenantSession

DataEvent = tuple[str, str, str | None]
"""Kind and message of an event, and the dataset that it is about where the driver would record it too."""
_MODEL_FIELDS = ("seed", "optimizer", "critic", "snapshot_every", "keep_versions", "checkpoint_every")
"""Fields of a spec that the trainer reads from the model's row."""


async def check(
    session: TenantSession, objects: Objects, settings: Settings, spec: RunSpec,
) -> tuple[list[str], list[str]]:
    """Check everything that `create` checks, and create nothing.

    Return the warnings that the run would have, and sentences about its held-out rows. Raises Invalid.
    """
    rows = await task_rows.check(session, objects, spec, await references.lacks(session, spec))
    graded = await row_references.check(session, objects, settings, spec)
    trained = await trained_rows.check(session, objects, spec)
    async with session.transaction() as transaction:
        named = await references.resolve(transaction, settings, spec, rows, [*graded, *trained])
    return [message for _, message, _ in _warnings(named, graded, trained)], list(named.split)


async def create(
    session: TenantSession, objects: Objects, settings: Settings, spec: RunSpec, key: str | None, request_sha: bytes,
) -> JsonAnswer:
    """Create the run of a spec, or return the answer that is stored under the idempotency key.

    Raises Invalid with every problem of the spec, and Unusable when the key came with other content.
    """
    if known := await stored(session, key, request_sha):
        return known  # a repeated request reads no dataset and needs no object store
    rows = await task_rows.check(session, objects, spec, await references.lacks(session, spec))
    graded = await row_references.check(session, objects, settings, spec)
    trained = await trained_rows.check(session, objects, spec)
    async with session.transaction() as transaction:
        async def work() -> JsonAnswer:
            named = await references.resolve(transaction, settings, spec, rows, [*graded, *trained])
            run = await _insert(transaction, session, spec, named, _warnings(named, graded, trained))
            return JsonAnswer(201, run.model_dump(mode="json"))

        answer = await once(session, transaction, key, request_sha, work)
    reach("run.row-answer")
    return answer


def _warnings(
    named: References, graded: Sequence[ReferenceFindings], trained: Sequence[TrainedRows],
) -> list[DataEvent]:
    """Return the events about the run's data."""
    events: list[DataEvent] = [("bad_rows", message, None) for message in named.bad_rows]
    events += [(*event, None) for one in graded if (event := one.event())]
    return events + [(kind, message, one.dataset) for one in trained for kind, message in one.events]


async def _insert(
    transaction: AsyncTransaction, session: TenantSession, spec: RunSpec, named: References,
    warnings: Sequence[DataEvent],
) -> Run:
    """Add the rows of a run: its models, the run itself, its first events."""
    spec = named.dated(spec)
    content = as_json(spec)
    config = {name: content[name] for name in _MODEL_FIELDS}
    policy = {**config, "base": spec.model.base, "lora": content["model"]["lora"]}
    model_id = await _add_model(transaction, session, named.base, spec.model.kind, policy)
    roles = {role: await _add_frozen(transaction, session, base, config, spec.roles.models[role])
             for role, base in named.roles.items()}
    run_id = await _add_run(transaction, session, spec, model_id, roles)
    await manifests.inherit(transaction, run_id, spec)
    await knowledge.inherit(transaction, run_id, spec)
    await _add_event(transaction, session, run_id, "created", f"run {spec.name} was created")
    for kind, message, of in [*warnings, *(("split", sentence, None) for sentence in named.split)]:
        await _add_event(transaction, session, run_id, kind, message, of)
    return Run.model_validate(await row_of(transaction, run_id))


async def add_preflight(
    transaction: AsyncTransaction, session: TenantSession, spec: RunSpec, named: References, size: Mapping[str, int],
) -> str:
    """Add the rows of a preflight and return its id. Its base and the models that its tasks ask are never trained.

    `size` holds the tasks and the samples of each. The spec's deadline is the preflight's.
    """
    spec = named.dated(spec)
    config = {name: as_json(spec)[name] for name in _MODEL_FIELDS}
    model_id = await _add_frozen(transaction, session, named.base, config, spec.model.base)
    roles = {role: await _add_frozen(transaction, session, base, config, spec.roles.models[role])
             for role, base in named.roles.items() if role != "teacher"}
    run_id = await _add_run(transaction, session, spec, model_id, roles, size)
    await _add_event(transaction, session, run_id, "created", f"a preflight of {spec.name} was created")
    return run_id


async def _add_run(
    transaction: AsyncTransaction, session: TenantSession, spec: RunSpec, model_id: str, roles: Mapping[str, str],
    preflight: Mapping[str, int] | None = None,
) -> str:
    run_id, content = ids.new("run"), as_json(spec)
    session.about(run_id)
    await transaction.run(
        "runs.add", id=run_id, tenant_id=session.tenant_id, key_id=session.key_id, name=spec.name,
        spec=Jsonb(content), spec_sha=hashlib.sha256(canonical(content).encode()).hexdigest(), model_id=model_id,
        budget=spec.budget if preflight is None else None,
        roles=Jsonb(dict(roles)), preflight=None if preflight is None else Jsonb(dict(preflight)),
        deadline_s=spec.deadline_s, traceparent=tracing.current())
    return run_id


async def _add_frozen(
    transaction: AsyncTransaction, session: TenantSession, base: Base, config: Mapping[str, Any], name: str,
) -> str:
    frozen = {**config, "critic": None, "lora": None, "frozen": True, "base": name}
    return await _add_model(transaction, session, base, "full", frozen)


async def _add_model(
    transaction: AsyncTransaction, session: TenantSession, base: Base, kind: str, config: dict[str, Any],
) -> str:
    """Add a model of a run and return its id. A `frozen` model is published as it is and never trained."""
    model_id = ids.new("model")
    await transaction.run(
        "models.add", id=model_id, tenant_id=session.tenant_id, kind=kind,
        base_artifact_id=base.artifact_id, base_version_id=base.version_id, config=Jsonb(config))
    return model_id


async def want(session: TenantSession, run_id: str, desired: Desired) -> Run:
    """Set the desired state of a run. Raises NotFound, and Conflict when the run has ended or is being cancelled."""
    async with session.transaction() as transaction:
        before = await row_of(transaction, run_id)
        if not await transaction.run("runs.set_desired", run_id=run_id, desired=desired):
            raise Conflict(f"Run {run_id} is {before['state']} and its desired state is {before['desired']}. "
                           f"It cannot be changed to {desired}.")
        if before["desired"] != desired:
            await _add_event(transaction, session, run_id, "desired", f"the desired state is now {desired}")
        return Run.model_validate(await row_of(transaction, run_id))


async def set_budget(session: TenantSession, run_id: str, budget: float | None) -> Run:
    """Set what a run may cost; None: no bound. Raises NotFound."""
    async with session.transaction() as transaction:
        before = await row_of(transaction, run_id)
        await transaction.run("runs.set_budget", run_id=run_id, budget=budget)
        if before["budget"] != budget:
            now = "none" if budget is None else money(budget, before["currency"])
            await _add_event(transaction, session, run_id, "budget", f"the budget is now {now}")
        return Run.model_validate(await row_of(transaction, run_id))


async def _add_event(
    transaction: AsyncTransaction, session: TenantSession, run_id: str, kind: str, message: str, of: str | None = None,
) -> None:
    data = {"key_id": session.key_id} if of is None else {"key_id": session.key_id, "of": of}
    await transaction.run("events.add", tenant_id=session.tenant_id, run_id=run_id, kind=kind, message=message,
                          data=Jsonb(data))
    await transaction.one("server.notify", channel="runs", payload=run_id)


async def row_of(transaction: AsyncTransaction, run_id: str) -> Row:
    """Return the row of a run. Raises NotFound."""
    row = await transaction.one("runs.detail", run_id=run_id)
    if row is None:
        raise unknown_run(run_id)
    return row
