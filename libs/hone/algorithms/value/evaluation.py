"""How well success is predicted for policies that nothing was trained on: each is known by a part of its outcomes."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from hone.algorithms.inputs import Floats, Ints
from hone.algorithms.value import metrics
from hone.algorithms.value.episodes import Key
from hone.algorithms.value.model import ValueModel
from hone.algorithms.value.predicting import CONTEXT_ROWS, predict

Predictor = Callable[[Ints, Floats, Ints], Floats]
"""Probabilities of queries, by the places and the outcomes of a context, and the places of the queries."""


@dataclass(frozen=True)
class Figures:
    """Over the queries of all keys: AUC overall and within keys, calibration error, and share of right labels.

    `flip_ranking` is the share of pairs that are ordered rightly, of a success and a failure that two checkpoints of
    one run had on the same prompt; NaN where there is none.
    """

    auc: float
    intra_context_auc: float
    flip_ranking: float
    calibration_error: float
    accuracy: float
    keys: int
    queries: int

    def rounded(self) -> dict[str, float]:
        """Return the figures by name, to four digits; without those that are no numbers."""
        return {name: round(value, 4) for name, value in asdict(self).items() if value == value}  # noqa: PLR0124


def evaluate(keys: Sequence[Key], predictor: Predictor, seed: int = 0, asked: Ints | None = None) -> Figures:
    """Predict a half of each key's outcomes by the other half, of which a context has at most 256 rows.

    With `asked`, places of prompts, these alone are predicted, by all others. Keys without queries are left out.
    """
    rng = np.random.default_rng(seed)
    answers = [answer for key in keys for answer in [_answer(key, predictor, rng, asked)] if len(answer.outcomes)]
    outcomes, p = (np.concatenate(side) for side in zip(*((one.outcomes, one.p) for one in answers), strict=True))
    return Figures(metrics.auc(outcomes, p), metrics.intra_context_auc([(one.outcomes, one.p) for one in answers]),
                   metrics.flip_ranking(_by_prompt(answers)), metrics.calibration_error(outcomes, p),
                   float(np.mean((outcomes >= 0.5) == (p >= 0.5))), len(answers), len(outcomes))


@dataclass(frozen=True)
class _Answer:
    """The queries of a key, and what was predicted for them; [Q] each."""

    run: str
    prompts: Ints
    outcomes: Floats
    p: Floats


def _answer(key: Key, predictor: Predictor, rng: np.random.Generator, asked: Ints | None) -> _Answer:
    order = rng.permutation(len(key.prompts))
    queried = order[len(order) // 2:] if asked is None else order[np.isin(key.prompts[order], asked)]
    context = order[~np.isin(order, queried)][:CONTEXT_ROWS]
    return _Answer(key.policy.partition("/")[0], key.prompts[queried], key.outcomes[queried],
                   predictor(key.prompts[context], key.outcomes[context], key.prompts[queried]))


def _by_prompt(answers: Sequence[_Answer]) -> list[metrics.Labelled]:
    """Return outcomes and predictions of each prompt that checkpoints of one run were asked."""
    found: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for one in answers:
        for prompt, outcome, p in zip(one.prompts.tolist(), one.outcomes.tolist(), one.p.tolist(), strict=True):
            found.setdefault((one.run, prompt), []).append((outcome, p))
    return [(np.array([outcome for outcome, _ in own]), np.array([p for _, p in own])) for own in found.values()]


def by_model(model: ValueModel, features: Floats, head: str = "ridge") -> Predictor:
    """Return the predictions of a value model; `features` [N, F] are those of all prompts."""
    return lambda context, outcomes, queries: predict(
        features[context], outcomes, features[queries], head, model.ridge).p
