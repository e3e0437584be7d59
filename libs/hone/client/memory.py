"""Memory of a changing user in a run's policy, and its failures, by the held-out lives of one evaluation."""

from typing import Any

from hone.client.matrix import Estimate
from hone.client.resources import Resource


class MemoryRow(Resource):
    """The figures after one period, or of all periods where `period` is null.

    `accuracy`, `write`, `read` and `utilization` are shares of the `questions` that were asked: answered right, or
    failed by this cause. They add up to 1. `failures` counts those that failed by cause. `known` is the share of
    diagnoses that were right. Intervals are of 95 %, over the `lives`. `random` and `upper` are the baseline and the
    bound of `memory_score`; `left_out` periods have none, because these two are equal. `json_errors` counts the answers
    that could not be read.
    """

    period: int | None
    lives: int
    samples: int
    questions: int
    failures: dict[str, int]
    accuracy: Estimate
    memory_score: Estimate
    write: Estimate
    read: Estimate
    utilization: Estimate
    known: Estimate
    random: float
    upper: float
    left_out: int = 0
    json_errors: int = 0


class MemorySource(Resource):
    """The samples of one source of held-out lives, with the `memory` of its harness; empty: another harness.

    `recorded`: talks that were recorded, off-policy. `masked` samples have no score and no part in the rest; `cut` ones
    ended before their last period, and count as far as they came. `whole` is null where no sample reached a probe.
    """

    source: str
    memory: str
    recorded: bool
    masked: int
    cut: int
    whole: MemoryRow | None
    periods: list[MemoryRow]

    @property
    def title(self) -> str:
        """Name of the source with its memory."""
        named = (self.source, f"memory {self.memory}" if self.memory else "", "recorded talks" if self.recorded else "")
        return ", ".join(one for one in named if one) or "held-out lives"


class RecordedTalks(Resource):
    """The talks of one evaluation as rows of `changing_user`: `replies` beside `life` or `user_seed`.

    `left_out`: how many samples gave no row, by reason. `step` is null where no evaluation asked about a changing user
    yet. `truncated`: there were more samples than are read.
    """

    run_id: str
    step: int | None
    series: str
    rows: list[dict[str, Any]]
    left_out: dict[str, int]
    truncated: bool = False


class MemoryReport(Resource):
    """The diagnosis of one evaluation. `step`: after which it was; null: no evaluation asked about a changing user yet.

    `truncated`: there were more samples than are read, or some were deleted.
    """

    run_id: str
    step: int | None
    series: str
    sources: list[MemorySource]
    truncated: bool = False
