"""Names of models in requests: a registered model, a version, a run, `RUN@latest` or `RUN@STEP`.

An engine serves one version of a model and follows the newest. So the newest version of a run is asked under the run's
own model, and every other version, and every registered model, under a model of its own that nothing trains. It is
published here at the first request, as the files that are stored already.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from psycopg.types.json import Jsonb

from hone import ids
from hone.store.database import AsyncTransaction, Row
from hone.text.files import FILES
from hone.text.rules import TextRules
from services.gateway.middleware.tenancy import TenantSession
from services.gateway.openai.refusals import unknown_model

_STEP = re.compile(r"\d{1,9}")
_TUNED = re.compile(r"ft:(?P<base>[^:]+):[^:]*:[^:]*:(?P<run>run_\w+)(?::ckpt-step-(?P<step>\d{1,9}))?")
"""OpenAI's form, ft:BASE:ORGANIZATION:SUFFIX:RUN, and with :ckpt-step-STEP. Organization and suffix are free."""
_PUBLISHED = ("files", "probe", "weights_sha256")


@dataclass(frozen=True)
class AskedModel:
    """Model or version of a name."""

    name: str  # as the request gives it
    model_id: str  # that engines know
    version_id: str  # that they must serve; empty: the newest
    shown: Mapping[str, tuple[str, int]]  # the version's id and number that clients see, by the id that engines name
    positions: int  # of the model
    vocabulary: int  # number of ids
    text_files: Mapping[str, Any]  # entries of its manifest, by name
    lacks: Mapping[str, str] = field(default_factory=dict)  # what its chat template cannot show, with reasons
    rules: TextRules = field(default_factory=TextRules)

    def with_effort(self, effort: str) -> "AskedModel":
        """Return the same model with a reasoning effort for its chat template, which may know such a variable."""
        template = {**self.rules.template, "reasoning_effort": effort}
        return replace(self, rules=self.rules.model_copy(update={"template": template}))


@dataclass(frozen=True)
class Located:
    """The row of what a name stands for: of a registered model, or of a version with its run."""

    row: Row
    run: Row | None = None
    follows: bool = False  # newer versions may answer as well

    @property
    def subject_id(self) -> str:
        """The id of the registered model or of the version."""
        return str(self.row["shown"])


async def find(session: TenantSession, name: str) -> AskedModel:
    """Return the model that a name stands for. Raises NotFound, with OpenAI's code `model_not_found`."""
    async with session.transaction() as transaction:
        found = await locate(transaction, name)
        if found.run is None:
            return await _own_model(session, transaction, found.row, name, found.row["origin"], TextRules())
        return await _of_run(session, transaction, found.run, found.row, name, found.follows)


async def locate(transaction: AsyncTransaction, name: str) -> Located:
    """Return the row of what a name stands for, and publish nothing. Raises NotFound as `find` does."""
    if not name or "\0" in name or len(name) > 300:
        raise unknown_model(name, "no name of a model")
    if tuned := _TUNED.fullmatch(name):
        return await _tuned(transaction, name, tuned)
    run, at, step = name.rpartition("@")
    if at:
        return await _at_step(transaction, name, run, step)
    if name.startswith("ver_"):
        return await _version(transaction, name)
    base = await transaction.one("asked.base", name=name)
    return Located(base) if base is not None else await _at_step(transaction, name, name, "latest")


async def _tuned(transaction: AsyncTransaction, name: str, tuned: re.Match[str]) -> Located:
    """Return the version of a run that OpenAI's form of its name means."""
    found = await _at_step(transaction, name, tuned["run"], tuned["step"] or "latest")
    origin = await transaction.one("versions.origin", version_id=found.subject_id)
    if origin is None or tuned["base"] not in (origin["id"], origin["name"]):
        raise unknown_model(name, f"the run does not train {tuned['base']}")
    return found


async def _at_step(transaction: AsyncTransaction, name: str, run: str, step: str) -> Located:
    """Return the newest version of a run, or the one after a step."""
    if step != "latest" and not _STEP.fullmatch(step):
        raise unknown_model(name, f"found {step!r} after the @, expected latest or the number of a step")
    found = await transaction.all("asked.runs", name=run)
    if not found:
        raise unknown_model(name)
    if found[0]["id"] != run and len(found) > 1:
        raise unknown_model(name, f"several runs are called {run}: give the run's id")
    number = None if step == "latest" else int(step)
    row = await transaction.one("asked.version", model_id=found[0]["model_id"], number=number)
    if row is None:
        raise unknown_model(name, "the run has no such version" if number is not None else "it has no version yet")
    return _stored(Located(row, found[0], follows=number is None), name)


async def _version(transaction: AsyncTransaction, name: str) -> Located:
    run = await transaction.one("asked.run_of_version", version_id=name)
    row = await transaction.one("asked.version", model_id=run["model_id"], number=run["number"]) if run else None
    if run is None or row is None:
        raise unknown_model(name)
    return _stored(Located(row, run), name)


def _stored(found: Located, name: str) -> Located:
    if not found.row["stored"]:
        raise unknown_model(name, f"the weights of version {found.subject_id} were deleted")
    return found


async def _of_run(
    session: TenantSession, transaction: AsyncTransaction, run: Row, row: Row, name: str, follows: bool,
) -> AskedModel:
    """Return a version of a run's policy. One that `follows` may be answered by a newer one."""
    origin = await transaction.one("versions.origin", version_id=row["shown"])
    facts, rules = (origin or {"manifest": {}})["manifest"], TextRules.model_validate(run["chat"] or {})
    if not row["newest"] or (run["open"] and not follows):
        return await _own_model(session, transaction, row, name, facts, rules)
    shown = {row["shown"]: (row["shown"], row["number"])}
    return _model(name, row["policy_id"], "" if follows else row["shown"], shown, row["manifest"], facts, rules)


async def _own_model(
    session: TenantSession, transaction: AsyncTransaction, row: Row, name: str, facts: Mapping[str, Any],
    rules: TextRules,
) -> AskedModel:
    """Return the model that answers for a registered model or for one version alone. Publish it if there is none."""
    model_id, version_id = row["model_id"], row["version_id"]
    if model_id is None:
        model_id, version_id = await _publish(session, transaction, row)
    return _model(name, model_id, "", {version_id: (row["shown"], row["number"])}, row["manifest"], facts, rules)


async def _publish(session: TenantSession, transaction: AsyncTransaction, row: Row) -> tuple[str, str]:
    """Add the model and its only version, unless another request just did. Return their ids."""
    base_id = row["base_artifact_id"] or row["base_version_id"]
    await transaction.one("asked.lock", base_id=base_id)
    known = await transaction.one("asked.of_base", base_id=base_id)
    if known is not None:
        return known["model_id"], known["version_id"]
    model_id, version_id = ids.new("model"), ids.new("ver")
    await transaction.run(
        "models.add", id=model_id, tenant_id=session.tenant_id, kind="full", base_artifact_id=row["base_artifact_id"],
        base_version_id=row["base_version_id"], config=Jsonb({"frozen": True, "asked": True}))
    manifest = {part: row["manifest"][part] for part in _PUBLISHED if part in row["manifest"]}
    await transaction.run(
        "versions.add", id=version_id, tenant_id=session.tenant_id, model_id=model_id, seq=0, number=0, parent_id=None,
        manifest=Jsonb(manifest))
    await transaction.one("server.notify", channel="versions", payload=model_id)
    session.about(model_id)
    return model_id, version_id


def _model(
    name: str, model_id: str, version_id: str, shown: Mapping[str, tuple[str, int]], manifest: Mapping[str, Any],
    facts: Mapping[str, Any], rules: TextRules,
) -> AskedModel:
    files = {file: manifest["files"][file] for file in FILES if file in manifest["files"]}
    return AskedModel(
        name, model_id, version_id, shown, int(facts.get("max_positions", 0)), int(facts.get("vocab_size", 0)), files,
        facts.get("text", {}).get("lacks", {}), rules)
