"""Calls of one package that wait at the same time: one program of the sandbox makes them, each in fresh names.

Only calls of one tenant and one source share a program, and only where the source can keep nothing between calls
(`hone.environments.packages.plain_source`). A call that does not return there is made once more in a program of its
own, and only that counts: what comes of a call does not depend on the calls beside it.
"""

import asyncio
import hashlib
from collections import Counter, OrderedDict, deque
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from hone.environments.packages.calling import PREAMBLE, sharing_check
from hone.sandbox.client import SandboxBusy, request
from hone.sandbox.program import MOST_SOURCE_BYTES, Ended, Limits, Program, Ran

MOST_CALLS, MOST_BYTES = 64, 2**19
"""Of one program: half of what it may answer, because a call answers about as much as it was given."""
PROGRAMS = 2
"""Programs of one source at a time; calls that come meanwhile wait for the next."""
_LONGEST_SOURCE = 2**17
_VERDICTS = 1024
_AFRESH = """_code = compile({source!r}, "program.py", "exec")


def _hone_afresh(*call):
    names = {{"__name__": "program"}}
    exec(_code, names)
    return names[{function!r}](*call)
"""


class Programs(Protocol):
    """The sandbox."""

    async def run(self, program: Program, tenant_id: str = "") -> Ran:
        """Return the result of a program."""


@dataclass(frozen=True)
class _Owned:
    """Whose calls of which code may share a program."""

    tenant_id: str
    source: str  # its sha256
    function: str
    limits: Limits


@dataclass(frozen=True)
class _Waiting:
    program: Program
    size: int  # bytes of its arguments
    ran: "asyncio.Future[Ran]" = field(default_factory=asyncio.Future)


class CallBatches:
    """Runs programs, those of one call beside others of the same source. Use it on one loop."""

    def __init__(self, sandbox: Programs) -> None:
        self._sandbox = sandbox
        self._waiting: dict[_Owned, deque[_Waiting]] = {}
        self._verdicts = OrderedDict[_Owned, asyncio.Task[bool]]()
        self._running, self._tasks = Counter[_Owned](), set[asyncio.Task[None]]()

    async def run(self, program: Program, tenant_id: str) -> Ran:
        """Return the result of a program. Without a tenant it runs alone. Raises the sandbox's errors."""
        owned = _Owned(tenant_id, hashlib.sha256(program.source.encode()).hexdigest(), program.function, program.limits)
        if len(program.calls) != 1 or not tenant_id or not await self._may_share(owned, program.source):
            return await self._sandbox.run(program, tenant_id)
        one = _Waiting(program, sum(map(len, request(program).calls_json)))
        self._waiting.setdefault(owned, deque()).append(one)
        if self._running[owned] < PROGRAMS:
            self._running[owned] += 1
            self._begin(self._work(owned))
        return await one.ran

    async def _may_share(self, owned: _Owned, source: str) -> bool:
        """Return whether a source keeps nothing between calls. The sandbox reads it, once."""
        if owned not in self._verdicts:
            self._verdicts[owned] = asyncio.create_task(self._judged(owned, source))
            while len(self._verdicts) > _VERDICTS:
                self._verdicts.popitem(last=False)
        return await asyncio.shield(self._verdicts[owned])

    async def _judged(self, owned: _Owned, source: str) -> bool:
        joined = _afresh(source, owned.function)
        if len(source) > _LONGEST_SOURCE or len(joined.encode()) > MOST_SOURCE_BYTES or not source.startswith(PREAMBLE):
            return False
        try:
            ran = await self._sandbox.run(sharing_check(source.removeprefix(PREAMBLE), owned.limits), owned.tenant_id)
        except SandboxBusy:
            ran = Ran(Ended.INFRA_ERROR)
        if ran.status is Ended.INFRA_ERROR:
            self._verdicts.pop(owned, None)  # the next call asks again
        return len(ran.outcomes) == 1 and ran.outcomes[0].value is True

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _work(self, owned: _Owned) -> None:
        """Run programs while calls wait for one."""
        try:
            while batch := self._taken(owned):
                await (self._alone(owned, batch[0]) if len(batch) == 1 else self._together(owned, batch))
        finally:
            self._running[owned] -= 1
            if not self._running[owned]:
                del self._running[owned]

    def _taken(self, owned: _Owned) -> list[_Waiting]:
        waiting, taken, size = self._waiting.get(owned, deque[_Waiting]()), list[_Waiting](), 0
        while waiting and len(taken) < MOST_CALLS and (not taken or size + waiting[0].size <= MOST_BYTES):
            taken.append(waiting.popleft())
            size += taken[-1].size
        if not waiting:
            self._waiting.pop(owned, None)
        return taken

    async def _together(self, owned: _Owned, batch: Sequence[_Waiting]) -> None:
        """Make the calls of a batch together. Those that do not return are made once more, each alone."""
        try:
            ran = await self._sandbox.run(_joined([one.program for one in batch]), owned.tenant_id)
        except Exception as error:  # it is raised in the callers, which await it
            _refuse(batch, error)
            return
        for one, outcome in zip(batch, ran.outcomes, strict=False):
            if not outcome.error:
                _answer(one, Ran(Ended.FINISHED, outcomes=(outcome,)))
        for one in batch:
            if not one.ran.done():
                self._begin(self._alone(owned, one))

    async def _alone(self, owned: _Owned, one: _Waiting) -> None:
        try:
            _answer(one, await self._sandbox.run(one.program, owned.tenant_id))
        except Exception as error:  # it is raised in the caller, which awaits it
            _refuse([one], error)


def _joined(programs: Sequence[Program]) -> Program:
    """Return a program that makes the calls of programs of one source, each as if it were alone."""
    first = programs[0]
    return replace(first, source=_afresh(first.source, first.function), function="_hone_afresh",
                   calls=[call for one in programs for call in one.calls])


def _afresh(source: str, function: str) -> str:
    return _AFRESH.format(source=source, function=function)


def _answer(one: _Waiting, ran: Ran) -> None:
    if not one.ran.done():  # its caller may have left
        one.ran.set_result(ran)


def _refuse(batch: Sequence[_Waiting], error: Exception) -> None:
    for one in batch:
        if not one.ran.done():
            one.ran.set_exception(error)
