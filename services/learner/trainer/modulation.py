"""The modulation of advantages token by token (slot S5): once for a step, or anew in each of its updates.

A modulation that reads the current weights is applied in each update, over the tokens of the update's minibatch.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hone.algorithms.catalogue import MODULATIONS
from hone.algorithms.inputs import ModulationInputs, Track
from hone.algorithms.method import Metrics, State
from hone.algorithms.slots import method, needs
from hone.trajectory.packing import Batch, Flags, Floats, Ints
from hone.trajectory.plan import StepPlan
from services.learner.trainer.reference_pass import BeforeUpdate, PolicyValues


@dataclass(frozen=True)
class Modulation:
    """The modulation of a step's tracks, and what it reads from before the first update."""

    tracks: Sequence[Track]
    batch: Batch
    plan: StepPlan
    before: BeforeUpdate

    @property
    def every_update(self) -> bool:
        """Whether each of the step's updates applies it anew."""
        return self.plan.updates > 1 and method(self.plan.slots, "modulation").every_update

    def advantages(
        self, now: PolicyValues, chosen: Flags, states: dict[str, State]
    ) -> tuple[list[Floats], Metrics]:
        """Return the advantage [M] of each track with the chosen trajectories' tokens modulated, and the metrics.

        `chosen` is bool [B]. `now` holds the values of the chosen trajectories' tokens under the current weights.
        Tokens that a track does not count are in no statistic and stay as they are. So do tracks with a loss of their
        own. The slot's state in `states` is replaced.
        """
        filling, metrics, made = self.plan.slots["modulation"], Metrics(), []
        for track in self.tracks:
            advantage = track.advantage.copy()
            if track.loss == "policy":
                own = track.counts & np.repeat(chosen, self.batch.tokens)
                advantage[own], states["modulation"], found = MODULATIONS[filling["name"]](
                    self._inputs(track, now, own), filling["params"], states.get("modulation", {}))
                metrics |= {f"modulation/{name}": value for name, value in found.items()}
            made.append(advantage)
        return made, metrics

    def _inputs(self, track: Track, now: PolicyValues, own: Flags) -> ModulationInputs:
        def taken(values: Floats | None) -> Floats | None:
            return None if values is None else values[own]

        (low, high), (segment, score), before = self._ratio_bounds(), self._scored(), self.before
        owner = np.repeat(np.arange(len(self.batch.tokens)), self.batch.tokens)
        return ModulationInputs(
            track.advantage[own], np.bincount(owner[own], minlength=len(self.batch.tokens)), taken(now.logp),
            taken(before.logp_old), taken(now.entropy), taken(now.expected), taken(before.logp_teacher),
            None if before.teacher is None else before.teacher.known[own], step=self.plan.nth - 1, clip_low=low,
            clip_high=high, segment=None if segment is None else segment[own], score=score,
            logp_sampler=taken(self._sampler()), group=self.batch.group,
            kind=[rows[0].kind for rows in self.batch.rows])

    def _ratio_bounds(self) -> tuple[float, float]:
        """Return how far below and above 1 the loss lets a token's ratio move; no bounds if it clips no ratio."""
        loss = method(self.plan.slots, "loss")
        return loss.params.model_validate(self.plan.slots["loss"]["params"]).token_band()

    def _scored(self) -> tuple[Ints | None, Floats | None]:
        """Return the number of each token's step, [M], -1: none, and each step's score, in [0, 1]; None: not needed.

        They are the steps inside answers that the grader scored. Of a trajectory without these they are its turns, by
        their rules.
        """
        if "steps" not in needs(self.plan.slots, "modulation"):
            return None, None
        spans, turns, tokens = self.batch.spans, self.batch.turns, self.batch.tokens
        inside = np.full(int(tokens.sum()), -1) if spans.step is None else spans.step
        given = np.zeros(0) if spans.score is None else spans.score
        scores = np.clip(given, 0.0, 1.0)
        if not turns.rules:
            return inside, scores
        owner, turn = np.repeat(np.arange(len(tokens)), tokens), np.repeat(np.arange(len(turns.tokens)), turns.tokens)
        stepped = np.bincount(owner[inside >= 0], minlength=len(tokens)) > 0
        by_rules = np.clip(1 + np.mean(list(turns.rules.values()), axis=0), 0.0, 1.0)
        return np.where(stepped[owner], inside, len(scores) + turn), np.concatenate([scores, by_rules])

    def _sampler(self) -> Floats | None:
        """Return the sampler's log-probabilities, [M], if the loss's ratio compares with them."""
        return (self.batch.logp_sample if method(self.plan.slots, "correction").old_policy == "sampler" else None)
