r"""Self-verify's verdicts, arXiv 2602.07594: the reward of a boxed Yes or No, and the vote of several verdicts.

The vote at test time is a reconstruction: the paper names it without a formula.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from hone.algorithms.inputs import RewardInputs, Rewards
from hone.algorithms.method import Metrics, State
from hone.algorithms.rewards.overlong import Overlong, overlong
from hone.environments.verdict_form import Label
from hone.graders.verdict import Wording, worth

_BOXED = Wording()


@dataclass(frozen=True)
class VerdictInputs:
    """Verification rollouts of a step in order."""

    texts: Sequence[str | None]  # None: the system failed, and the sample is masked
    labels: Sequence[Label]  # the right verdict
    rhos: Sequence[float]  # pass rate of the source prompt, in [0, 1]
    lengths: Sequence[int]  # completion tokens


class VerdictRewardParams(Overlong):
    """The largest reward, and the overlong penalty, which only runs that only verify use (weight 1)."""

    cap: float = Field(0.5, ge=0, le=1, description="Largest reward of a right verdict, which is min(pass rate, cap).")
    max_length: int = Field(10240, ge=1, description="Tokens at which the whole overlong penalty applies.")
    buffer: int = Field(512, ge=1, description="Tokens before max_length over which the penalty grows.")
    weight: float = Field(0.0, ge=0, description="Factor of the penalty; 0 switches it off.")


def verdict_reward(inputs: VerdictInputs, params: VerdictRewardParams, state: State) -> tuple[Rewards, State, Metrics]:
    """R = 1[verdict = label] min(rho, cap) + weight min(0, -(length - (max_length - buffer)) / buffer).

    rho is constant in a group, so it cancels in an advantage divided by the group's standard deviation.
    Raises ValueError when the lists differ in length.
    """
    rows = list(zip(inputs.texts, inputs.labels, inputs.rhos, strict=True))
    raw = [None if text is None else worth(_BOXED.read(text) == label, rho, params.cap) for text, label, rho in rows]
    given = RewardInputs(raw, list(inputs.lengths), [False] * len(raw))
    shaped, state, metrics = overlong(given, params, state)
    return shaped, state, {**metrics, **_verdict_metrics(inputs)}


def _verdict_metrics(inputs: VerdictInputs) -> Metrics:
    verdicts = [(_BOXED.read(text), label)
                for text, label in zip(inputs.texts, inputs.labels, strict=True) if text is not None]
    count = max(1, len(verdicts))
    return {
        "verdict_accuracy": sum(verdict == label for verdict, label in verdicts) / count,
        "unparsable_verdicts": sum(verdict is None for verdict, _ in verdicts) / count,
    }


def vote_scores(
    answers: Sequence[str | None], verdicts: Mapping[str, Sequence[Label | None]]
) -> dict[str, float]:
    """score(a) = count(a) * mean over its M verdicts of 1[Yes], for distinct answers in order of appearance.

    None is no answer. An unparsable verdict counts as No. An answer without verdicts scores 0.
    """
    counts = Counter(answer for answer in answers if answer is not None)
    judged = {answer: verdicts.get(answer, ()) for answer in counts}
    return {answer: count * sum(verdict == "Yes" for verdict in judged[answer]) / max(1, len(judged[answer]))
            for answer, count in counts.items()}


def vote(answers: Sequence[str | None], verdicts: Mapping[str, Sequence[Label | None]]) -> str | None:
    """argmax_a score(a); ties: the higher count, then the earlier answer. None without an answer."""
    scores = vote_scores(answers, verdicts)
    return max(scores, key=lambda answer: (scores[answer], answers.count(answer)), default=None)
