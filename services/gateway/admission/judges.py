"""The judges that a run's graders name: each is a judge, a verify server or a model of the tenant, before anything is
sampled.
"""

from collections.abc import Iterator

from hone.graders.specs import NAMED_BY
from hone.models.architecture import RATERS
from hone.resolution import graders
from hone.spec.problems import Problem, found
from hone.spec.run import RunSpec
from hone.store.database import AsyncTransaction
from services.gateway.admission import task_rows
from services.gateway.openai import names
from services.gateway.openai.refusals import ModelNotFound

WORLDS = frozenset({"openenv", "mcp"})
"""Environments that play what tenants set beside their judges."""


async def problems(transaction: AsyncTransaction, spec: RunSpec, trained: str | None = None) -> list[Problem]:
    """Return a problem for each name that nobody answers to, and for each judge whose secret is not set.

    `trained` is the id of the model or version that the run starts from: no judge may be the same one. A role may.
    """
    named = dict(_named(spec))
    return [wrong for at, (name, protocol) in named.items()
            if (wrong := await problem(
                transaction, at, name, protocol, None if at.startswith("roles.") else trained)) is not None]


def _named(spec: RunSpec) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the fields that name judges or endpoints of roles, with the names and the protocols."""
    for role, endpoint in spec.roles.endpoints.items():
        yield f"roles.asked.{role}.endpoint", (endpoint, "chat")
    if spec.eval is not None and spec.eval.noise is not None and spec.eval.noise.judge is not None:
        yield "eval.noise.judge", (spec.eval.noise.judge, "chat")
    for part in (*task_rows.parts(spec), *task_rows.held_out(spec)):
        prefix = part.at.removesuffix("task") if part.at.endswith("task") else f"{part.at}."
        if part.spec.task.environment in WORLDS:
            yield f"{part.at}.params.world", (str(part.spec.task.params.get("world")), part.spec.task.environment)
        for at, grader in graders.of_run(part.spec):
            for field, protocol in (NAMED_BY[need] for need in grader.grader.needs if need in NAMED_BY):
                yield f"{prefix}{at}.{field}", (str(getattr(grader.params, field)), protocol)


async def problem(
    transaction: AsyncTransaction, at: str, name: str, protocol: str, trained: str | None = None,
) -> Problem | None:
    """Return the fault of the name of a judge in the field `at`. `trained`: see `problems`."""
    judge = await transaction.one("judges.known", name=name)
    if judge is not None and judge["protocol"] != protocol:
        return Problem(at, f"judge {name} with the protocol {judge['protocol']}", "a judge with the protocol "
                       f"{protocol}")
    if judge is not None:
        return None if judge["ready"] else Problem(
            at, f"judge {name}, whose secret {judge['secret']} is not set", f"`hone secrets set {judge['secret']}`")
    if protocol in WORLDS:
        return None  # the operator may have a world of that name, which the simulation service knows
    if protocol == "verify":
        return Problem(at, found(name), "the name of a verify server (`hone judges set NAME URL --protocol verify`)")
    return await _of_model(transaction, at, name, protocol, trained)


async def _of_model(
    transaction: AsyncTransaction, at: str, name: str, protocol: str, trained: str | None,
) -> Problem | None:
    """Return why a model of the tenant is no judge.

    Judge and policy are different checkpoints: AJ-Bench, arXiv 2604.18240. Who judges what it says itself prefers it.
    """
    try:
        located = await names.locate(transaction, name)
    except ModelNotFound:
        return Problem(at, found(name), "the name of a judge (`hone judges list`) or of a model of yours")
    if located.subject_id == trained:
        return Problem(at, f"{name}, which the run trains (model.base)", "a judge that is another checkpoint")
    rates = located.run is None and located.row["origin"].get("architecture") in RATERS
    if rates == (protocol == "pooling"):
        return None
    kinds = "a reward model", "a model that writes text"
    return Problem(at, f"{name}, {kinds[not rates]}", kinds[rates])
