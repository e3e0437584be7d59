"""Grades the reference of each task row by the run's own grader, before the run.

A row whose own reference is not right by its grader gives no reward, or the wrong one. The check takes bounded time and
never fails: what it could not check, it reports as not checked.
"""

import asyncio
import random
import time
from collections.abc import Sequence

from hone.environments.contract import Row
from hone.environments.rows import Sieve
from hone.environments.tasks import maker
from hone.graders import right_answers, specs
from hone.graders.specs import Spec
from hone.spec.run import RunSpec
from hone.spec.settings import Settings
from hone.store.objects import Objects
from services.gateway.admission import reference_sources, task_rows
from services.gateway.admission.reference_findings import ReferenceFindings
from services.gateway.admission.reference_sources import GradedSource
from services.gateway.admission.task_rows import RowsLost
from services.gateway.admission.task_services import ServiceAway, TaskServices
from services.gateway.middleware.tenancy import TenantSession

WITHIN_S = 3.0
"""Seconds that the checks of a new run may take together."""
DRAWN = 16
"""Tasks of an environment that are checked."""
SENT = 512
"""Rows of a dataset that are checked, drawn at random, where another service has to grade them or to make the items."""
_OVER = "the time for checks was over"

Numbered = tuple[int, Row]
"""Number of a row, from 1, and the row or the item that the environment makes of it."""


async def check(
    session: TenantSession, objects: Objects, settings: Settings, spec: RunSpec, within_s: float = WITHIN_S,
) -> list[ReferenceFindings]:
    """Grade the references of every source of a resolved spec: the run's, its stages' and the evaluation's.

    All together take about `within_s` seconds at most, and raise nothing. Of a grader that runs in this process, every
    row is checked; others as SENT and DRAWN say.
    """
    services = TaskServices(settings, session.tenant_id, time.monotonic() + within_s)
    return [await _Check(services, source).run(session, objects) for source in reference_sources.of(spec)]


class _Check:
    """The check of one source."""

    def __init__(self, services: TaskServices, source: GradedSource) -> None:
        self._services, self._source = services, source
        self._spec: Spec = specs.checked(source.grader)
        self._found = ReferenceFindings(source.at, source.name, self._spec.params.type)

    async def run(self, session: TenantSession, objects: Objects) -> ReferenceFindings:
        """Return the findings, however far the time reached."""
        found = self._found
        if reason := _unreferenced(self._spec):
            found.unchecked, found.checkable = reason, False
            return found
        try:
            if self._source.tasks.dataset is None:
                await self._graded(await self._drawn())
            else:
                async with asyncio.timeout(self._services.left_s + 1.0):  # the reader ends in time, if it is free
                    kept = await self._read(session, objects)
                await self._graded(await self._items(kept))
        except TimeoutError:
            found.unchecked = _OVER
        except (ServiceAway, RowsLost) as error:
            found.unchecked = str(error)
        return found

    @property
    def _here(self) -> bool:
        """Whether this process grades the rows as it reads them."""
        return self._source.items_are_rows and not self._spec.pooled

    async def _read(self, session: TenantSession, objects: Objects) -> list[Numbered]:
        """Read the rows that are tasks; grade them at once, or return a sample of them."""
        files = await task_rows.files(session, self._source.tasks)
        if files is None:
            raise RowsLost("there is no such dataset")
        key = files[task_rows.FILE]["key"]
        return await task_rows.read_apart(session.tenant_id, self._rows, objects, key)

    def _rows(self, objects: Objects, key: str) -> list[Numbered]:
        tasks, found, kept, drawn = self._source.tasks, self._found, list[Numbered](), random.Random(0)
        sieve = Sieve(tasks.kind, tasks.params)
        for row in task_rows.rows(objects, key, str(tasks.dataset)):
            if self._services.over:
                found.unchecked = _OVER
                break
            if sieve.content_hash(row) is None:
                continue
            found.rows += 1
            if self._here:
                found.add(sieve.rows, right_answers.checked(self._spec, row, self._source.ending))
            elif len(kept) < SENT:
                kept.append((sieve.rows, row))
            elif (place := drawn.randrange(found.rows)) < SENT:
                kept[place] = (sieve.rows, row)
        return sorted(kept, key=lambda one: one[0])

    async def _items(self, kept: Sequence[Numbered]) -> Sequence[Numbered]:
        if self._source.items_are_rows or not kept:
            return kept
        items = await self._services.observed(self._source, [row for _, row in kept])
        return [(number, item) for (number, _), item in zip(kept, items, strict=True)]

    async def _drawn(self) -> list[Numbered]:
        """Return items of tasks that an environment makes."""
        tasks = self._source.tasks
        if self._source.foreign:
            items = await self._services.drawn(self._source, DRAWN)
        else:
            made = maker(tasks.kind, tasks.params)
            items = [made.episode(seed).reset().item for seed in range(DRAWN)]
        self._found.rows = len(items)
        return list(enumerate(items, 1))

    async def _graded(self, rows: Sequence[Numbered]) -> None:
        """Grade the rows that are not graded yet."""
        found = self._found
        if rows and len(rows) < found.rows:
            found.unchecked = found.unchecked or f"{len(rows)} rows, drawn at random, are checked"
        if not self._spec.pooled:
            for number, row in rows:
                found.add(number, right_answers.checked(self._spec, row, self._source.ending))
        elif rows:
            async for place, finding in self._services.findings(self._spec, self._source, [row for _, row in rows]):
                found.add(rows[place][0], finding)


def _unreferenced(spec: Spec) -> str:
    """Return why a grader has no references; "" if it, or one of its parts, has."""
    leaves = list(spec.inner.values()) or [spec]
    if any(leaf.grader.right_output is not None for leaf in leaves):
        return ""
    return f"a grader of type {', '.join(sorted({leaf.params.type for leaf in leaves}))} has no reference"
