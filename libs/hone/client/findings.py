"""The part of the SDK's client that reads what is computed of a run's stored samples and evaluations."""

from hone.client.curation import Curation, SavedManifest
from hone.client.matrix import Matrix
from hone.client.memory import MemoryReport, RecordedTalks
from hone.client.noise import NoiseReport
from hone.client.requests import Requests
from hone.client.transport import rest_path


class Findings(Requests):
    """Methods that read findings about a run."""

    def matrix(self, run_id: str, series: str = "sampled") -> Matrix:
        """Return the scores of each source of held-out tasks after each stage, with gains, forgetting and transfer."""
        return self._get(Matrix, rest_path("runs", run_id, "matrix"), series=series)

    def noise(self, run_id: str, step: int | None = None) -> NoiseReport:
        """Return the effects of noise on held-out answers after a step; by default of the newest evaluation.
        """
        return self._get(NoiseReport, rest_path("runs", run_id, "noise"), step=step)

    def memory(self, run_id: str, step: int | None = None, series: str = "sampled") -> MemoryReport:
        """Return the memory of a policy by the held-out lives after a step; by default: of the newest evaluation."""
        return self._get(MemoryReport, rest_path("runs", run_id, "memory"), step=step, series=series)

    def talks(self, run_id: str, step: int | None = None, series: str = "sampled") -> RecordedTalks:
        """Return a policy's replies to changing users, as rows by which other memories are examined off-policy."""
        return self._get(RecordedTalks, rest_path("runs", run_id, "talks"), step=step, series=series)

    def curation(
        self, run_id: str, first_step: int = 0, last_step: int = 2**31 - 1, groups: int = 64, success: float = 1.0,
        keep: int = 2,
    ) -> Curation:
        """Return the tasks of a run's newest groups by the graphs of their rollouts, best to train on first."""
        return self._get(Curation, rest_path("runs", run_id, "curation"), first_step=first_step, last_step=last_step,
                         groups=groups, success=success, keep=keep)

    def save_curation(
        self, run_id: str, first_step: int = 0, last_step: int = 2**31 - 1, groups: int = 64, success: float = 1.0
    ) -> SavedManifest:
        """Save what `curation` finds of each task as a manifest, by which samplers of other runs draw their tasks."""
        return self._post(SavedManifest, rest_path("runs", run_id, "curation"), None, params={
            "first_step": first_step, "last_step": last_step, "groups": groups, "success": success})
