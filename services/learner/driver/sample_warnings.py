"""Warnings about the samples of a step or an evaluation: most were cut off at max_tokens, or few are left."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hone.spec.run import RunSpec
from hone.store.database import Row
from services.learner.driver.planning import Choice
from services.learner.driver.reporting import Event

MOST_CUT_OFF, FEWEST_LEFT = 0.5, 0.5
"""Shares of samples: above the first a step warns of truncated samples, below the second of few samples."""
_EVALUATION = "evaluation"


@dataclass(frozen=True)
class StepSamples:
    """The samples of a step, by what became of them. `kept` holds samples of the groups that the step trains on."""

    kept: Sequence[Row]
    filtered: int  # samples of groups that the filter removed
    missing: int  # samples of groups that were never ready
    drops_truncated: bool  # samples that were cut off do not count

    @property
    def asked(self) -> int:
        """Number of samples that the step was to have."""
        return len(self.kept) + self.missing

    @property
    def left(self) -> int:
        """Number of samples that the step trains on."""
        return sum(row["score"] is not None and not (self.drops_truncated and _cut_off(row)) for row in self.kept)


def of_step(spec: RunSpec, stage: str, size: int, choice: Choice) -> list[Event]:
    """Return the warnings about the chosen samples of a step that was to have `size` groups. `spec` is its stage's.

    A run records each kind of warning once for a stage: `data.of` names it.
    """
    filtered, missing = sum(map(len, choice.filtered)), max(0, size - len(choice.kept)) * spec.batch.samples
    samples = StepSamples(choice.samples, filtered, missing, spec.algorithm.truncated == "drop")
    return [*_truncated(samples.kept, spec, stage, "samples of the step"), *_few(samples, stage)]


def of_evaluation(spec: RunSpec, rows: Sequence[Row]) -> list[Event]:
    """Return the warning about an evaluation's answers, if most of them were cut off."""
    return list(_truncated(rows, spec, _EVALUATION, "held-out answers"))


def of_whole_answers(rows: Sequence[Row]) -> Event:
    """Return the event that ends the warning about earlier evaluations: most of these answers came to their end."""
    cut = sum(map(_cut_off, rows))
    return Event("whole_answers", f"held-out answers come to their end: {cut} of {len(rows)} were cut off",
                 {"of": _EVALUATION})


def _truncated(rows: Sequence[Row], spec: RunSpec, of: str, named: str) -> Iterator[Event]:
    cut = sum(map(_cut_off, rows))
    if cut <= MOST_CUT_OFF * len(rows):
        return
    limit = spec.sampling.max_tokens
    if of == _EVALUATION:
        mend = "Their scores are those of unfinished texts. Raise sampling.max_tokens"
    elif spec.algorithm.truncated == "drop":
        mend = "The step leaves them out (algorithm.truncated: drop). Raise sampling.max_tokens"
    else:
        mend = ("The policy learns from unfinished texts. Raise sampling.max_tokens, or leave them out with "
                "algorithm.truncated: drop")
    share = f"{cut} of {len(rows)} {named} ({cut / len(rows):.0%})"
    yield Event("truncated_samples", f"{share} were cut off before their end, at sampling.max_tokens {limit} or at the "
                f"model's positions. {mend}; a base that never ends its answers needs a warm-up (a supervised stage)",
                {"of": of, "truncated": cut, "samples": len(rows)})


def _few(samples: StepSamples, of: str) -> Iterator[Event]:
    if not samples.asked or samples.left >= FEWEST_LEFT * samples.asked:
        return
    yield Event("few_samples", f"{samples.left} of {samples.asked} samples of the step are left to train on: "
                + "; ".join(_losses(samples)), {"of": of, "left": samples.left, "samples": samples.asked})


def _losses(samples: StepSamples) -> Iterator[str]:
    """Yield each cause why samples are missing, with its number and how to mend it."""
    unscored = Counter(row["status"] or "not graded" for row in samples.kept if row["score"] is None)
    if unscored:
        causes = ", ".join(f"{count} {status}" for status, count in unscored.most_common())
        yield (f"{unscored.total()} have no score ({causes}), see their reasons with hone runs trajectories RUN "
               f"--status {unscored.most_common(1)[0][0]}")
    if cut := sum(row["score"] is not None and samples.drops_truncated and _cut_off(row) for row in samples.kept):
        yield f"{cut} were cut off and algorithm.truncated is drop, so raise sampling.max_tokens"
    if samples.missing:
        removed = f", after the filter removed {samples.filtered}," if samples.filtered else ""
        yield (f"{samples.missing} are of groups that were not ready or did not vary{removed} so take easier or harder "
               "tasks, more batch.samples, or another algorithm.filter")


def _cut_off(row: Row) -> bool:
    return bool(row["finish_reason"] == "length")
