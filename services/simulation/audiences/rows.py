"""The rows of fits and of the groups that they said something of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from psycopg.types.json import Jsonb

from hone import ids
from hone.audiences.decision_policies import DecisionPolicy
from hone.audiences.reasoning import ReasonerSpec
from hone.audiences.training import FitParams
from hone.environments.hashing import digest
from hone.jobs.job import Again, Done, Failed, Job, Outcome
from hone.jobs.rows import LONGEST_REASON
from hone.rpc import outage
from hone.rpc.errors import NotFound
from hone.store.database import AsyncDatabase, AsyncTransaction, Row


@dataclass(frozen=True)
class BegunFit:
    """A fit that this service has begun."""

    id: str
    tenant_id: str
    key_id: str | None
    dataset: str
    params: FitParams
    reasoner: ReasonerSpec | None
    job: Job
    written: dict[str, Any] = field(default_factory=dict)  # what a model added in earlier attempts, by part of the fit


@dataclass(frozen=True)
class GroupRecord:
    """Answer of a fit about a group. `q` and `anchored` are [S, K], with None for a persona that could not be read."""

    purpose: str
    spec: Mapping[str, Any]
    stratum: str
    users: int
    personas: Sequence[str]
    q: Sequence[Sequence[float] | None] | None
    anchored: Sequence[Sequence[float] | None] | None
    fitted: Sequence[float]
    reasoned: Sequence[float] | None
    rates: Sequence[float] | None = None
    gap: float | None = None

    @property
    def asked(self) -> str:
        """The hash of what was asked."""
        return digest({"purpose": self.purpose, **self.spec})


@dataclass(frozen=True)
class FitFound:
    """The report of a fit, its simulator, the fusion's weights if it is calibrated, and the mined policies."""

    report: Mapping[str, Any]
    simulator: Mapping[str, Any]
    fusion: Mapping[str, Any] | None
    policies: Sequence[DecisionPolicy]


class AudienceRows:
    """Each method raises NotReady, with the reason, while the database is away."""

    def __init__(self, database: AsyncDatabase) -> None:
        self._database = database

    async def add(self, tenant_id: str, key_id: str | None, dataset: str, params: FitParams,
                  reasoner: ReasonerSpec | None) -> str:
        """Ask for a fit and return its id."""
        made = ids.new("fit")
        with outage.reported():
            await self._database.run(
                "audiences.add", id=made, tenant_id=tenant_id, key_id=key_id or None, dataset=dataset,
                params=Jsonb(params.model_dump(mode="json")),
                reasoner=Jsonb(reasoner.model_dump(mode="json")) if reasoner else None)
        return made

    async def open_fits(self, tenant_id: str) -> int:
        """Return how many fits of a tenant have not ended."""
        with outage.reported():
            row = await self._database.one("audiences.open", tenant_id=tenant_id)
        return row["open"] if row else 0

    async def dataset(self, tenant_id: str, name: str) -> Mapping[str, Any] | None:
        """Return the manifest of a tenant's dataset, None where there is none."""
        with outage.reported():
            row = await self._database.one("artifacts.dataset", tenant_id=tenant_id, name=name)
        return row["manifest"] if row else None

    async def one(self, tenant_id: str, fit_id: str) -> Row:
        """Return a fit with its simulator. Raises NotFound for one that is not the tenant's."""
        with outage.reported():
            row = await self._database.one("audiences.fitted", tenant_id=tenant_id, id=fit_id)
        if row is None:
            raise NotFound(f"fit_id: found {fit_id!r}, expected the id of a fit of yours")
        return row

    async def begin(self, job: Job) -> BegunFit | None:
        """Return the fit of a job, None if it has ended."""
        with outage.reported():
            row = await self._database.one("audiences.begin", id=job.subject)
        return None if row is None else BegunFit(
            row["id"], row["tenant_id"], row["key_id"], row["dataset"], FitParams.model_validate(row["params"]),
            ReasonerSpec.model_validate(row["reasoner"]) if row["reasoner"] else None, job, row["written"])

    async def write(self, fit: BegunFit) -> None:
        """Store what a model added to a fit, so that another attempt does not ask for it again."""
        with outage.reported():
            await self._database.run("audiences.write", id=fit.id, **fit.job.fence, written=Jsonb(fit.written))

    async def known(self, fit_id: str, asked: str) -> Row | None:
        """Return the personas of an equal question, and what the reasoner said of them."""
        with outage.reported():
            return await self._database.one("audiences.group", fit_id=fit_id, asked=asked)

    async def keep_group(self, fit_id: str, tenant_id: str, group: GroupRecord) -> str:
        """Store what was said of a group, and return its id; that of an equal question stays as it is."""
        made = ids.new("sim")
        with outage.reported():
            await self._database.run(
                "audiences.keep_group", id=made, fit_id=fit_id, tenant_id=tenant_id, asked=group.asked,
                **{name: Jsonb(value) if name in _JSON and value is not None else value
                   for name, value in vars(group).items()})
            row = await self._database.one("audiences.group", fit_id=fit_id, asked=group.asked)
        return str(row["id"]) if row else made

    async def used(self, fit_id: str) -> int:
        """Return how many tokens a fit has used of judges."""
        with outage.reported():
            row = await self._database.one("audiences.used", id=fit_id)
        return int(row["tokens"]) if row else 0

    async def gaps(self, fit_id: str, most: int) -> list[float]:
        """Return the gaps of a fit's newest simulations, the oldest first."""
        with outage.reported():
            rows = await self._database.all("audiences.gaps", fit_id=fit_id, most=most)
        return [row["gap"] for row in reversed(rows)]

    async def calibration(self, fit_id: str) -> list[Row]:
        """Return the groups by which a fusion is calibrated."""
        with outage.reported():
            return await self._database.all("audiences.calibration", fit_id=fit_id)

    async def weigh(self, tenant_id: str, fit_id: str, fusion: Mapping[str, Any], report: Mapping[str, Any]) -> Row:
        """Give a fit other weights. Raises NotFound for one that is not done, or not the tenant's."""
        with outage.reported():
            row = await self._database.one("audiences.weigh", tenant_id=tenant_id, id=fit_id, fusion=Jsonb(fusion),
                                           report=Jsonb(report))
        if row is None:
            raise NotFound(f"fit_id: found {fit_id!r}, expected the id of a fit of yours that is done")
        return row


async def record(opened: AsyncTransaction, job: Job, outcome: Outcome) -> None:
    """Write the state of a fit after an attempt, with everything that it found."""
    match outcome:
        case Again():
            await opened.run("audiences.again", id=job.subject, reason=outcome.reason[:LONGEST_REASON])
        case Failed():
            await opened.run("audiences.finish", id=job.subject, state="failed", report=Jsonb({}), simulator=None,
                             reason=outcome.reason[:LONGEST_REASON], fusion=None)
        case Done(found=FitFound() as found):
            kept = await opened.one("audiences.finish", id=job.subject, state="done", reason=None,
                                    report=Jsonb(found.report), simulator=Jsonb(found.simulator),
                                    fusion=Jsonb(found.fusion) if found.fusion else None)
            if kept:
                await opened.run(
                    "audiences.add_policies", fit_id=job.subject, tenant_id=job.tenant_id,
                    ids=[policy.id for policy in found.policies], texts=[policy.text for policy in found.policies],
                    records=[policy.model_dump_json() for policy in found.policies])


_JSON = {"spec", "q", "anchored", "fitted", "reasoned", "rates"}
