"""The tenant of a call that came through the door. Such a call is served with rows of its tenant alone.

The door names tenant and key in the metadata. Calls between services name no tenant and may touch every row.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from typing import Any, NamedTuple

import grpc
from google.protobuf.message import Message

from hone.rpc import outage
from hone.rpc.access import RULES, Rule
from hone.rpc.border import Continuation, answers, refusal
from hone.rpc.errors import NotFound
from hone.rpc.metering import Meter, amounts
from hone.store.database import AsyncDatabase
from hone.store.ownership import OwnedRows

TENANT, KEY = "hone-tenant", "hone-key"
_NO_RULE = NotFound("there is no such RPC for callers from outside")


class Caller(NamedTuple):
    """Who called the door."""

    tenant_id: str
    key_id: str


def caller(metadata: Iterable[Any] | None) -> Caller | None:
    """Return who called the door, None if another service of the stack made the call."""
    found = {name: value for name, value in metadata or () if name in (TENANT, KEY)}
    return Caller(found[TENANT], found.get(KEY, "")) if TENANT in found else None


def calling(context: Any) -> Caller | None:
    """Return who called the door, by the context of a servicer's method."""
    return caller(context.invocation_metadata())


class Tenancy:
    """A service's view of its tenants' rows and usage. Make it inside the running loop, and close it at the end."""

    def __init__(self, database: AsyncDatabase) -> None:
        self.rows, self.meter = OwnedRows(database), Meter(database)

    async def close(self) -> None:
        await self.meter.close()


class TenantCalls(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]  # not generic at run time
    """Lets a tenant's call name rows of the tenant alone, and counts what it uses. Without `tenancy`, the service
    looks up the rows itself.
    """

    def __init__(self, tenancy: Tenancy | None) -> None:
        self._tenancy = tenancy

    async def intercept_service(self, continuation: Continuation, handler_call_details: Any) -> Any:
        handler = await continuation(handler_call_details)
        who = caller(handler_call_details.invocation_metadata)
        if who is None or handler is None:
            return handler
        rule = RULES.get(handler_call_details.method)
        if rule is None:
            return refusal(_NO_RULE)
        method = handler_call_details.method.rpartition("/")[2]
        if handler.response_streaming:
            return handler._replace(unary_stream=self._streamed(handler.unary_stream, method, rule, who))
        return handler._replace(unary_unary=self._answered(handler.unary_unary, method, rule, who))

    def _answered(
        self, behaviour: Callable[..., Awaitable[Any]], method: str, rule: Rule, who: Caller
    ) -> Callable[..., Awaitable[Any]]:
        async def call(request: Message, context: Any) -> Any:
            await self._check(request, rule, who)
            response = await behaviour(request, context)
            self._count(who, amounts(method, request, response, True))
            return response

        return call

    def _streamed(
        self, behaviour: Callable[..., AsyncIterator[Any]], method: str, rule: Rule, who: Caller
    ) -> Callable[..., AsyncIterator[Any]]:
        async def call(request: Message, context: Any) -> AsyncIterator[Any]:
            await self._check(request, rule, who)
            first = True
            async for response in answers(behaviour(request, context)):
                self._count(who, amounts(method, request, response, first))
                first = False
                yield response

        return call

    def _count(self, who: Caller, used: dict[str, float]) -> None:
        if used and self._tenancy:
            self._tenancy.meter.add(who.tenant_id, who.key_id, used)

    async def _check(self, request: Message, rule: Rule, who: Caller) -> None:
        """Raise NotFound for a row that is not the tenant's, and give the request the tenant's id."""
        for field, found in named(request, rule.tenant):
            if found not in ("", who.tenant_id):
                raise NotFound(f"{field}: found {found!r}, expected nothing: the tenant is that of the key")
        _assign(request, rule.tenant, who.tenant_id)
        await self._expect_own("model", request, rule.model, who)
        await self._expect_own("run", request, rule.run, who)

    async def _expect_own(self, kind: str, request: Message, path: str, who: Caller) -> None:
        wanted = list(named(request, path))
        if not wanted or self._tenancy is None:
            return
        with outage.reported():
            strange = await self._tenancy.rows.strange(who.tenant_id, kind, {found for _, found in wanted})
        for field, found in wanted:
            if found in strange:
                raise NotFound(f"{field}: found {found!r}, expected the id of a {kind} of yours")


def named(message: Any, path: str, before: str = "") -> Iterator[tuple[str, str]]:
    """Yield the name and the value of each field at `path`: requests.model_id is requests[0].model_id and so on."""
    name, _, rest = path.partition(".")
    if not name:
        return
    value = getattr(message, name)
    if not rest:
        yield before + name, value
    elif isinstance(value, Message):
        yield from named(value, rest, f"{before}{name}.")
    else:
        for place, one in enumerate(value):
            yield from named(one, rest, f"{before}{name}[{place}].")


def _assign(message: Any, path: str, value: str) -> None:
    *outer, name = path.split(".")
    for each in outer:
        message = getattr(message, each)
    if name:
        setattr(message, name, value)
