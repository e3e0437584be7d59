"""The kind of jobs that make fits, and the outcome of a fit that could not be made."""

from hone.graders.questions import JudgeFailed
from hone.jobs.job import Again, Done, Failed, Job, Kind, Outcome
from hone.judges.asking import AskedJudges
from hone.process.line import StillWaiting
from hone.spec.problems import Invalid
from hone.store.objects import StoreAway
from services.simulation.audiences import rows
from services.simulation.audiences.making import FitMaker
from services.simulation.audiences.reasoners import OutOfTokens
from services.simulation.audiences.rows import AudienceRows

_AT_ONCE = 4
"""Fits in work, as a reasoner may be slow; one of them computes."""
_PAUSES_S = (10.0, 20.0, 30.0)


class AudienceFits:
    """Makes the fits of jobs."""

    def __init__(self, fits: AudienceRows, judges: AskedJudges, objects_url: str) -> None:
        self._fits, self._maker = fits, FitMaker(fits, judges, objects_url)
        self.kind = Kind(self._work, rows.record, at_once=_AT_ONCE, pauses_s=_PAUSES_S)

    async def _work(self, job: Job) -> Outcome:
        """Make a fit, or say why it has to be made later. Raises NotReady while the database is away."""
        fit = await self._fits.begin(job)
        if fit is None:
            return Done()
        try:
            return Done(await self._maker.make(fit))
        except (Invalid, OutOfTokens) as unfit:
            return Failed(str(unfit))
        except (JudgeFailed, StillWaiting, StoreAway, ChildProcessError) as away:
            return Again(str(away))
