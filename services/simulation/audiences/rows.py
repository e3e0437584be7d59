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
from hone.rpc import outage
from hone.rpc.errors import NotFound
from hone.store.database import AsyncDatabase, Row

LEASE_S = 60.0
"""Seconds after which a fit whose service is silent is another one's."""
_LONGEST_REASON = 2000


@dataclass(frozen=True)
class ClaimedFit:
    """A fit that this service has taken."""

    id: str
    tenant_id: str
    key_id: str | None
    dataset: str
    params: FitParams
    reasoner: ReasonerSpec | None
    attempts: int  # this one included
    written: dict[str, Any] = field(default_factory=dict)  # what a model added in earlier attempts, by part of the fit


@dataclass(frozen=True)
class GroupRecord:
    """What a fit said of a group. `q` and `anchored` are [S, K], with None for a persona that could not be read."""

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


class AudienceRows:
    """Each method raises NotReady, with the reason, while the database is away."""

    def __init__(self, database: AsyncDatabase, owner: str) -> None:
        self._database, self._owner = database, owner

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

    async def claim(self) -> ClaimedFit | None:
        """Take a fit that is due."""
        with outage.reported():
            row = await self._database.one("audiences.claim", owner=self._owner, lease_s=LEASE_S)
        return None if row is None else ClaimedFit(
            row["id"], row["tenant_id"], row["key_id"], row["dataset"], FitParams.model_validate(row["params"]),
            ReasonerSpec.model_validate(row["reasoner"]) if row["reasoner"] else None, row["attempts"], row["written"])

    async def keep(self, fit: ClaimedFit) -> bool:
        """Hold a fit for longer. Return False if it is this service's no more."""
        with outage.reported():
            return await self._database.one("audiences.keep", **self._key(fit), lease_s=LEASE_S) is not None

    async def again(self, fit: ClaimedFit, after_s: float, reason: str) -> None:
        """Have a fit taken again later."""
        with outage.reported():
            await self._database.run("audiences.again", **self._key(fit), after_s=after_s,
                                     reason=reason[:_LONGEST_REASON])

    async def write(self, fit: ClaimedFit) -> None:
        """Store what a model added to a fit, so that another attempt does not ask for it again."""
        with outage.reported():
            await self._database.run("audiences.write", **self._key(fit), written=Jsonb(fit.written))

    async def fail(self, fit: ClaimedFit, reason: str) -> None:
        """End a fit that cannot be made."""
        with outage.reported():
            await self._database.run("audiences.finish", **self._key(fit), state="failed",
                                     reason=reason[:_LONGEST_REASON], report=Jsonb({}), simulator=None, fusion=None)

    async def done(
        self, fit: ClaimedFit, report: Mapping[str, Any], simulator: Mapping[str, Any],
        fusion: Mapping[str, Any] | None, policies: Sequence[DecisionPolicy],
    ) -> None:
        """End a fit with what it found, all in one transaction."""
        with outage.reported():
            async with self._database.transaction() as opened:
                kept = await opened.one("audiences.finish", **self._key(fit), state="done", reason=None,
                                        report=Jsonb(report), simulator=Jsonb(simulator),
                                        fusion=Jsonb(fusion) if fusion else None)
                if kept:
                    await opened.run(
                        "audiences.add_policies", fit_id=fit.id, tenant_id=fit.tenant_id,
                        ids=[one.id for one in policies], records=[one.model_dump_json() for one in policies],
                        texts=[one.text for one in policies])

    async def release(self) -> None:
        """Let others take the fits that a process of this name has."""
        with outage.reported():
            await self._database.run("audiences.release", owner=self._owner)

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

    def _key(self, fit: ClaimedFit) -> dict[str, Any]:
        return {"id": fit.id, "owner": self._owner, "attempts": fit.attempts}


_JSON = {"spec", "q", "anchored", "fitted", "reasoned", "rates"}


