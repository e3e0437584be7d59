"""Deletes runs, models, datasets, exports and checkpoints: the rules, then a mark and a row in one transaction.

A driver removes the rows and the objects (services.learner.driver.deletions). What an open run uses is refused.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from hone.client.deletion_resources import Deletion, DeletionKind
from hone.client.resources import Page
from hone.store.database import AsyncTransaction, Row
from services.gateway.admission.artifacts import Kind
from services.gateway.admission.parameters import page
from services.gateway.middleware import permission
from services.gateway.middleware.errors import Conflict, NotFound
from services.gateway.middleware.tenancy import TenantSession

_OPEN = {"queued", "running", "paused"}
_ARTIFACTS: dict[Kind, DeletionKind] = {"base_model": "model", "dataset": "dataset"}

Mark = Callable[[AsyncTransaction], Awaitable[Row | None]]
"""Checks the rules and marks a subject. Returns its `id`, its `name`, and as `key_id` the key that made it or its run.

None if there is no such subject.
"""


async def run(session: TenantSession, run_id: str, force: bool) -> Deletion:
    """Delete a run with its samples, metrics, events and checkpoints. With `force` an open run is cancelled first.

    Raises NotFound, and Conflict if the run is open, or if an open run starts from one of its versions.
    """
    async def mark(transaction: AsyncTransaction) -> Row | None:
        row = await transaction.one("deletions.lock_run", id=run_id)
        if row is None:
            return None
        if row["state"] in _OPEN and not force:
            raise Conflict(f"Run {run_id} is {row['state']}. Cancel it first, or delete it with force.")
        _expect_unused(f"Run {run_id}", await transaction.all(
            "deletions.runs_from_run", id=run_id, model_id=row["policy_model_id"]))
        await transaction.run("deletions.mark_run", id=run_id)
        await transaction.one("server.notify", channel="runs", payload=run_id)
        return row

    return await _deleted(session, "run", run_id, mark)


async def samples(session: TenantSession, run_id: str) -> Deletion:
    """Delete the samples of a run that has ended; the run stays. Raises NotFound, and Conflict if the run is open."""
    async def mark(transaction: AsyncTransaction) -> Row | None:
        row = await transaction.one("deletions.lock_samples", id=run_id)
        if row is None:
            return None
        if row["state"] in _OPEN:
            raise Conflict(f"Run {run_id} is {row['state']} and may need its samples. Cancel it first.")
        await transaction.run("deletions.mark_samples", id=run_id)
        return row

    return await _deleted(session, "samples", f"{run_id}-samples", mark)


async def artifact(session: TenantSession, kind: Kind, name: str) -> Deletion:
    """Delete a base model or a dataset by its name or id. Raises NotFound, and Conflict if an open run uses it."""
    called = _ARTIFACTS[kind]

    async def mark(transaction: AsyncTransaction) -> Row | None:
        row = await transaction.one("deletions.lock_artifact", kind=kind, name=name)
        if row is None:
            return None
        _expect_unused(f"The {called} {row['name']}", await transaction.all(
            "deletions.runs_from_artifact", kind=kind, id=row["id"], name=row["name"]))
        await transaction.run("deletions.mark_artifact", id=row["id"])
        return row

    return await _deleted(session, called, name, mark)


async def export(session: TenantSession, export_id: str) -> Deletion:
    """Delete an export and its files; one that is queued is not made any more. Raises NotFound."""
    async def mark(transaction: AsyncTransaction) -> Row | None:
        return await transaction.one("deletions.mark_export", id=export_id)

    return await _deleted(session, "export", export_id, mark)


async def checkpoint(session: TenantSession, run_id: str, version_id: str) -> Deletion:
    """Delete the weights of a version of a run's policy. Raises NotFound, and Conflict if something needs them."""
    async def mark(transaction: AsyncTransaction) -> Row | None:
        row = await transaction.one("deletions.lock_version", run_id=run_id, id=version_id)
        if row is None or not row["stored"]:
            return None
        await _expect_unneeded(transaction, row)
        await transaction.run("deletions.mark_version", id=version_id)
        return {"id": version_id, "name": f"{run_id} version {row['number']}", "key_id": row["key_id"]}

    return await _deleted(session, "checkpoint", version_id, mark)


async def _expect_unneeded(transaction: AsyncTransaction, version: Row) -> None:
    subject = f"Version {version['number']} of run {version['run_id']}"
    if version["run_state"] in _OPEN and (version["newest"] or version["number"] == 0):
        raise Conflict(f"{subject} is in use: the run is {version['run_state']} and needs its first and last version.")
    _expect_unused(subject, await transaction.all("deletions.runs_from_version", id=version["id"]))
    asked = await transaction.one(
        "deletions.waiting_for_version", id=version["id"], run_id=version["run_id"], model_id=version["model_id"])
    if asked and (asked["groups"] or asked["exports"]):
        raise Conflict(f"{subject} is in use: {asked['groups']} groups and {asked['exports']} exports wait for it.")


def _expect_unused(subject: str, users: Sequence[Row]) -> None:
    if users:
        named = ", ".join(f"{user['id']} ({user['name']})" for user in users)
        raise Conflict(f"{subject} is in use by {named}.", extra={"users": [user["id"] for user in users]})


async def _deleted(session: TenantSession, kind: DeletionKind, name: str, mark: Mark) -> Deletion:
    """Mark a subject and write its deletion, or return the deletion of an earlier request.

    Raises NotFound, and Forbidden for what another key made, unless this key is an admin's.
    """
    async with session.transaction() as transaction:
        subject = await mark(transaction)
        if subject is not None:
            session.about(subject["id"])
            if subject["key_id"] != session.key_id:
                permission.check(session, "admin", because="Another key made it. ")
            await transaction.run("deletions.add", id=subject["id"], tenant_id=session.tenant_id, kind=kind,
                                  key_id=session.key_id, name=subject["name"])
        return await _one(transaction, kind, subject["id"] if subject else name)


async def one(session: TenantSession, subject_id: str) -> Deletion:
    """Return a deletion by the id or name of its subject. Raises NotFound."""
    async with session.transaction() as transaction:
        return await _one(transaction, None, subject_id)


async def _one(transaction: AsyncTransaction, kind: DeletionKind | None, name: str) -> Deletion:
    row = await transaction.one("deletions.named", kind=kind, name=name)
    if row is None:
        raise NotFound(f"There is no {kind or 'deletion of'} {name}.")
    return _resource(row)


async def listed(session: TenantSession, limit: int, after: str | None) -> Page[Deletion]:
    """Return a page of deletions, newest first."""
    async with session.transaction() as transaction:
        rows = await transaction.all("deletions.page", after=after, limit=limit + 1)
    return page([_resource(row) for row in rows], limit, "id")


def _resource(row: Row) -> Deletion:
    facts: dict[str, Any] = {**row, "state": "deleted" if row["finished_at"] else "deleting"}
    return Deletion.model_validate(facts)
