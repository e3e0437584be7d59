"""How far rollouts run ahead of training. Numbers in, numbers out.

Step n trains version n - 1. A group is as stale as the oldest version that sampled one of its tokens lies behind that.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hone.spec.run import MOST
from services.learner.driver.view import Count


def staleness(n: int, version: int) -> int:
    """Return how many versions a sample of version number `version` is old when step `n` trains on it."""
    return n - 1 - version


def expiry(gone: Sequence[Mapping[str, Any]]) -> str:
    """Return what is told of groups that expired: how many for each cause."""
    late = Counter(row["waited_for"] or "" for row in gone if row["ready_at"] is None)
    told = [f"{_groups(count)} not ready within the deadline" + (f": {cause}" if cause else "")
            for cause, count in sorted(late.items())]
    if stale := len(gone) - late.total():
        told.append(f"{_groups(stale)} staler than training may go on with")
    return "; ".join(told)


def expired(gone: Sequence[Mapping[str, Any]]) -> str:
    """Return the groups that expired as an event's data: each with what it waited for last; null where it was ready."""
    return json.dumps({"groups": [{"request_no": row["request_no"], "waited_for": row["waited_for"]} for row in gone]})


def _groups(count: int) -> str:
    return "1 group was" if count == 1 else f"{count} groups were"


@dataclass(frozen=True)
class Pace:
    """A run's bound: nothing is trained on that is staler than `max_staleness`; 0 is synchronous."""

    max_staleness: int
    sizes: Sequence[int]  # groups of each step

    @property
    def steps(self) -> int:
        """Steps of the run."""
        return len(self.sizes)

    def size(self, n: int) -> int:
        """Return the groups of step `n`; beyond the last step, of that."""
        return self.sizes[min(n, self.steps) - 1]

    def change(self, n: int) -> str:
        """Say how step `n` differs in size from the step before; "" if it does not."""
        before, now = self.size(max(1, n - 1)), self.size(n)
        return "" if before == now else f"{now} groups a step from here on, {before} before"

    def before(self, n: int) -> int:
        """Return the groups of all steps before step `n`."""
        return sum(self.sizes[:n - 1])

    @property
    def runs_ahead(self) -> bool:
        """Whether samples may come from older versions, several in one sequence."""
        return self.max_staleness > 0

    def room(self, committed: int, last: int = MOST) -> int:
        """Return how many groups may be open: no more than the bound allows to use, nor than steps to `last` need."""
        return sum(self.sizes[committed:min(committed + self.max_staleness + 1, last)])

    def plannable(self, n: int, committed: int) -> bool:
        """Tell whether step `n` may be planned; ahead of the trainer at most one, so that it finds its next work."""
        return n <= min(self.steps, committed + (2 if self.runs_ahead else 1))

    def waits(self, n: int, open: Count) -> bool:
        """Tell whether step `n` has to wait for a group that is not ready: each when synchronous, else such as would
        be too stale for the step after.
        """
        if not self.runs_ahead:
            return not open.total or open.requested > 0
        return open.begun is not None and staleness(n, open.begun) >= self.max_staleness

    def oldest(self, n: int) -> int:
        """Return the number of the oldest version that step `n` may have samples of."""
        return n - 1 - self.max_staleness

    def expires(self, n: int, open: Count) -> bool:
        """Tell whether a group is past its deadline, or too stale for step `n`. Time never ends a synchronous one."""
        outlived = open.oldest is not None and open.oldest < self.oldest(n)
        return self.runs_ahead and (open.late > 0 or outlived)

    def ends(self, evaluation: Count) -> bool:
        """Tell whether nothing of a requested evaluation is waited for any more: all is ready, or past its deadline."""
        return evaluation.total > 0 and evaluation.requested <= (evaluation.late if self.runs_ahead else 0)
