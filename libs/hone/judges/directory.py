"""Who answers under the name of a judge: an endpoint that the tenant set, or a model, which the gateway asks."""

import asyncio
from dataclasses import dataclass
from functools import partial
from urllib.parse import quote

import httpx

from hone import sealing
from hone.client.judge_resources import JudgeTerms
from hone.graders.error_kinds import ErrorKind
from hone.graders.questions import JudgeFailed
from hone.judges.endpoint import Endpoint
from hone.passes import Pass, issue
from hone.process.line import Turn
from hone.rpc import outage
from hone.sealing import Unsealable
from hone.spec.settings import Settings
from hone.stack.record import reachable
from hone.store.database import AsyncDatabase

_OWN = JudgeTerms(timeout_s=300)
_VERSION_S, _MOST_KEYS = 5.0, 10_000


@dataclass(frozen=True)
class Named:
    """A judge by its name. `pinned` says what answers, as equal answers need; None: nobody can say."""

    name: str
    endpoint: Endpoint
    pinned: str | None
    own: bool = False  # a model of the tenant's


class Directory:
    """Finds judges. Each method raises JudgeFailed where there is none, and NotReady while the database is away."""

    def __init__(self, settings: Settings, database: AsyncDatabase, client: httpx.AsyncClient) -> None:
        self._token, self._database, self._client = settings.stack_token, database, client
        self._gateway = f"http://{reachable(settings.addresses.gateway)}/v1"
        self._keys = dict[str, str]()  # of runs
        self._versions = dict[tuple[str, str], tuple[float, str | None]]()

    async def find(self, name: str, turn: Turn) -> Named:
        """Return who answers under a name for the tenant of a turn."""
        with outage.reported():
            row = await self._database.one("judges.asked", tenant_id=turn.tenant, name=name)
        if row is None:
            return await self._own(name, turn)
        terms, authorization = JudgeTerms.model_validate(row["terms"]), ""
        if row["secret"] is not None:
            authorization = f"Bearer {self._opened(turn.tenant, row['secret'], row['sealed'])}"
        endpoint = Endpoint(row["url"], row["model"], terms, lambda: authorization)
        return Named(name, endpoint, f"{row['url']} {row['model']} {terms.answers}")

    def _opened(self, tenant_id: str, name: str, sealed: bytes | None) -> str:
        if sealed is None:
            raise JudgeFailed(ErrorKind.MODEL_SERVER, f"no secret {name!r} is set: `hone secrets set {name}` does it")
        try:
            return sealing.opened(self._token, tenant_id, sealed)
        except Unsealable as error:
            raise JudgeFailed(ErrorKind.MODEL_SERVER, f"the secret {name!r} cannot be opened: {error}") from error

    async def _own(self, name: str, turn: Turn) -> Named:
        """Return a model of the tenant. What it uses is counted to the key that requested the run."""
        holder = Pass(turn.tenant, turn.key or await self._key(turn))
        endpoint = Endpoint(self._gateway, name, _OWN, partial(_bearer, self._token, holder))
        return Named(name, endpoint, await self._version(endpoint, turn.tenant), own=True)

    async def _key(self, turn: Turn) -> str:
        if turn.run not in self._keys:
            with outage.reported():
                row = await self._database.one("judges.key_of_run", run_id=turn.run, tenant_id=turn.tenant)
            if len(self._keys) >= _MOST_KEYS:
                self._keys.clear()
            self._keys[turn.run] = str(row["key_id"] or "") if row else ""
        return self._keys[turn.run]

    async def _version(self, endpoint: Endpoint, tenant_id: str) -> str | None:
        """Return the version that answers now under the name of a model. It is asked again after some seconds."""
        now, key = asyncio.get_running_loop().time(), (tenant_id, endpoint.model)
        known = self._versions.get(key)
        if known is None or known[0] < now - _VERSION_S:
            if len(self._versions) >= _MOST_KEYS:
                self._versions.clear()
            known = self._versions[key] = now, await self._asked_version(endpoint)
        return known[1]

    async def _asked_version(self, endpoint: Endpoint) -> str | None:
        try:
            answer = await self._client.get(f"{endpoint.url}/models/{quote(endpoint.model, safe='')}",
                                            headers={"Authorization": endpoint.authorization()}, timeout=10.0)
            found = answer.json() if answer.status_code == 200 else {}
        except (httpx.HTTPError, ValueError):
            return None
        return f"{found['id']} {found.get('version_id') or ''}" if isinstance(found, dict) and "id" in found else None


def _bearer(token: str, holder: Pass) -> str:
    return f"Bearer {issue(token, holder)}"
