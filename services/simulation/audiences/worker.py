"""Claims fits that are due, has them made, and says what becomes of one that could not be."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from hone.graders.questions import JudgeFailed
from hone.judges.asking import AskedJudges
from hone.process import ending
from hone.process.line import StillWaiting
from hone.rpc.errors import NotReady
from hone.spec.problems import Invalid
from hone.store.objects import StoreAway
from services.simulation.audiences.making import FitMaker
from services.simulation.audiences.reasoners import OutOfTokens
from services.simulation.audiences.rows import LEASE_S, AudienceRows, ClaimedFit

_AT_ONCE = 4
_LOOK_S, _MOST_ATTEMPTS, _AGAIN_S = 1.0, 4, 10.0
_log = logging.getLogger(__name__)


class AudienceFits:
    """Takes fits that are due. A few are in work at a time, as a reasoner may be slow, and one of them computes."""

    def __init__(self, rows: AudienceRows, judges: AskedJudges, objects_url: str) -> None:
        self._rows, self._maker = rows, FitMaker(rows, judges, objects_url)
        self._working = set[asyncio.Task[None]]()

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Work until the context ends; then others may take what is not done."""
        taking = asyncio.create_task(self._take_forever())
        try:
            yield
        finally:
            await ending.cancelled([taking, *self._working])
            with suppress(NotReady):
                await self._rows.release()

    async def _take_forever(self) -> None:
        with suppress(NotReady):
            await self._rows.release()  # of an earlier process of this name
        while True:
            try:
                if len(self._working) < _AT_ONCE and (fit := await self._rows.claim()) is not None:
                    task = asyncio.create_task(self._work(fit))
                    self._working.add(task)
                    task.add_done_callback(self._working.discard)
                    continue
            except NotReady as away:
                _log.warning("no fits of audiences are taken: %s", away)
            except Exception:  # of one row: those that are due after it are taken at the next looks
                _log.exception("a fit of an audience cannot be taken")
            await asyncio.sleep(_LOOK_S)

    async def _work(self, fit: ClaimedFit) -> None:
        """Make a fit, or say why it has to be made later. While the database is away its lease ends by itself."""
        making = asyncio.create_task(self._maker.make(fit))
        holding = asyncio.create_task(self._hold(fit, making))
        try:
            await asyncio.wait([making])
        finally:
            await ending.cancelled([making, holding])
        try:
            await self._settle(fit, None if making.cancelled() else making.exception())
        except NotReady as away:
            _log.warning("the fit %s is taken again: %s", fit.id, away)

    async def _settle(self, fit: ClaimedFit, error: BaseException | None) -> None:
        """Say what becomes of a fit whose work ended with an error. Raises NotReady."""
        match error:
            case Invalid() | OutOfTokens() as unfit:
                await self._rows.fail(fit, str(unfit))
            case NotReady() as away:
                raise away
            case JudgeFailed() | StillWaiting() | StoreAway() | ChildProcessError() as away:
                await self._later(fit, str(away))
            case BaseException():
                _log.error("the fit %s fails", fit.id, exc_info=error)
                await self._later(fit, f"{type(error).__name__}: {error}")

    async def _hold(self, fit: ClaimedFit, making: "asyncio.Task[None]") -> None:
        """Keep the lease of a fit, and give the work up where it was lost."""
        while True:
            await asyncio.sleep(LEASE_S / 4)
            with suppress(NotReady):
                if not await self._rows.keep(fit):
                    making.cancel()

    async def _later(self, fit: ClaimedFit, reason: str) -> None:
        if fit.attempts >= _MOST_ATTEMPTS:
            await self._rows.fail(fit, reason)
        else:
            await self._rows.again(fit, _AGAIN_S * fit.attempts, reason)
