"""Costs of samples and steps, as our benchmarks measured them. A test compares every figure with its result's file."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Measured:
    """A cost of one sample, measured at two mean lengths of an answer in tokens; elsewhere it is on their line."""

    tokens: tuple[float, float]
    costs: tuple[float, float]

    def at(self, tokens: float) -> float:
        """Return the cost of a sample of so many tokens. It does not fall below the cost of the shortest."""
        slope = (self.costs[1] - self.costs[0]) / (self.tokens[1] - self.tokens[0])
        return max(self.costs[0], self.costs[0] + slope * (tokens - self.tokens[0]))


@dataclass(frozen=True)
class Source:
    """Where figures come from: the result's file, its date, its machine."""

    file: str
    date: str
    machine: str

    def __str__(self) -> str:
        return f"{self.file} ({self.date}, {self.machine})"


_MACHINE = "2 cores of AMD EPYC"
OVERHEAD = Source("benchmarks/results/overhead.json", "2026-11-25", _MACHINE)
INGEST = Source("benchmarks/results/ingest.json", "2026-11-22", _MACHINE)
FOOTPRINT = Source("benchmarks/results/footprint.json", "2026-11-25", _MACHINE)

OVERHEAD_TOKENS = (5.995, 59.97)
PROCESSOR_MS: Mapping[str, Measured] = {
    "rollout": Measured(OVERHEAD_TOKENS, (0.12054, 0.29948)),
    "reward": Measured(OVERHEAD_TOKENS, (0.023438, 0.052083)),
    "simulation": Measured(OVERHEAD_TOKENS, (0.018973, 0.039063)),
    "value": Measured(OVERHEAD_TOKENS, (0.0044643, 0.019531)),
    "driver": Measured(OVERHEAD_TOKENS, (0.035714, 0.13021)),
    "gateway": Measured(OVERHEAD_TOKENS, (0.011161, 0.084635)),
    "postgres": Measured(OVERHEAD_TOKENS, (0.098214, 0.26042)),
}
"""Milliseconds of processor time of each kind of process for one sample (OVERHEAD: steps of 256 samples)."""

GROUPS_A_SECOND = 2421.0
"""Groups of 8 samples of 64 tokens that four writers stored in one PostgreSQL (INGEST)."""

_FOOTPRINT_TOKENS = (5.6553, 47.976)
ROW_BYTES = Measured(_FOOTPRINT_TOKENS, (1316.8, 1840.0))
"""Bytes of a sample in PostgreSQL's tables, indexes included (FOOTPRINT)."""

LOG_BYTES = Measured(_FOOTPRINT_TOKENS, (1639.2, 2195.8))
"""Bytes of a sample in PostgreSQL's log of writes (FOOTPRINT)."""

PART_BYTES = Measured(_FOOTPRINT_TOKENS, (110.45, 369.12))
"""Bytes of a sample in the files of trajectories (FOOTPRINT)."""

VERSION_BYTES, SNAPSHOT_BYTES = 4.005, 12.0
"""Bytes of a weight in a version and in a snapshot, which holds the optimizer's moments too (FOOTPRINT)."""
