"""SelSkill's builder, arXiv 2606.00510 (reconstruction): from the samples of a step to pairs of trajectories.

A sample is a trunk, the episode that was played, and continuations of its turns: each side of a branch, `invoke` and
`skip`, once or several times. The harness `skills` makes both. What it noted of their calls says which is which:

    branch   on the first call of a continuation: {before, side, skill, entropy, invoked, repeat}
    outcome  on the last call of a trunk or a continuation: {success, steps}
    skill    on a call that calls a skill, with its `status`
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from random import Random
from typing import Any, Literal

from pydantic import Field, model_validator

from hone.algorithms.method import Metrics, Params
from hone.algorithms.preferences import (
    SIDES,
    WINDOW,
    Continuation,
    agreed,
    balanced,
    degenerate,
    episode_pairs,
    repeats,
    verdict,
)
from hone.harnesses.branching import Candidate, branches
from hone.harnesses.seat import POLICY, number_key
from hone.trajectory.records import Call, Trajectory


class SelskillPairs(Params):
    """How many branches are played, and how many pairs are made of a task's samples."""

    branches: int = Field(1, ge=0, le=16, description="Most turns of an episode that are branched, in groups that are "
                          "trained on; 0: episode pairs alone.")
    repeats: int = Field(1, ge=1, le=8, description="Continuations of each side of a branch. All have to agree on the "
                         "winner.")
    episode_pairs: int = Field(2, ge=0, le=64, description="p_ep, most episode pairs of a task; 0: step pairs alone.")
    step_pairs: int = Field(4, ge=1, le=64, description="c_max, most branches of a task that are compared.")

    @model_validator(mode="after")
    def _makes_pairs(self) -> "SelskillPairs":
        if not self.branches and not self.episode_pairs:
            raise ValueError("expected branches or episode_pairs above 0: there are no other pairs")
        return self


@dataclass(frozen=True)
class Played:
    """An episode or a continuation: the sample that it belongs to, its policy calls in order, and how it ended."""

    sample: Trajectory
    calls: Sequence[Call]

    @property
    def end(self) -> Continuation | None:
        """How it ended; None: it was given up."""
        found = self.calls[-1].notes.get("outcome") if self.calls else None
        return None if found is None else Continuation(bool(found["success"]), int(found["steps"]))

    @property
    def ids(self) -> list[int]:
        """The ids of what was said."""
        return [token for call in self.calls for token in call.completion_ids]

    def first(self, count: int) -> "Played":
        """Return its first calls alone."""
        return Played(self.sample, self.calls[:count])

    def reference(self) -> dict[str, Any]:
        """Return, as JSON, which calls of which sample it consists of."""
        numbers = [call.number for call in self.calls]
        return {"group": self.sample.group_id, "index": self.sample.index, "calls": numbers}


@dataclass(frozen=True)
class Pair:
    """Two sides of which one is preferred: whole episodes of a task, or the first turns after a branch."""

    granularity: Literal["episode", "step"]
    chosen: Played
    rejected: Played
    reason: Literal["outcome", "steps"]  # why it is preferred
    branch: dict[str, Any] = field(default_factory=dict)  # verdict, turn, skill and entropy of a step pair

    def body(self) -> dict[str, Any]:
        """Return the pair as an item of a collection."""
        return {"granularity": self.granularity, "task_hash": self.chosen.sample.task_hash, "reason": self.reason,
                "chosen": self.chosen.reference(), "rejected": self.rejected.reference(), **self.branch}

    def trajectories(self, number: int) -> list[Trajectory]:
        """Return both sides as trajectories of request `number`, the chosen one with index 0. Every call is trained."""
        return [replace(side.sample, request_no=number, index=place, steps=[], calls=[
            replace(call, index=at) for at, call in enumerate(side.calls)])
            for place, side in enumerate((self.chosen, self.rejected))]


@dataclass(frozen=True)
class Round:
    """The pairs of a step, in the order in which minibatches take them, and figures about how they were made."""

    pairs: Sequence[Pair]
    discarded: Counter[str]  # branches without a pair, by the reason
    metrics: Metrics

    def trajectories(self) -> list[Trajectory]:
        """Return the sides of all pairs."""
        return [side for number, pair in enumerate(self.pairs) for side in pair.trajectories(number)]


@dataclass(frozen=True)
class Branch:
    """A turn of an episode from which both sides were played, by repeat."""

    candidate: Candidate
    skill: str
    invoke: Sequence[Played]
    skip: Sequence[Played]

    @property
    def finished(self) -> bool:
        """Whether both sides came to an end, in equally many repeats."""
        sides = [*self.invoke, *self.skip]
        return bool(sides) and len(self.invoke) == len(self.skip) and all(side.end for side in sides)


def pairs_of_round(groups: Sequence[Sequence[Trajectory]], params: SelskillPairs, seed: str) -> Round:
    """Return the pairs of a step's groups. The caller leaves out masked samples.

    Of either verdict at most 70 % of the step pairs are kept, drawn with `seed`. Where step pairs are fewer than a
    tenth, each is used several times. The order is drawn with `seed`, so that minibatches hold both kinds.
    """
    random, discarded = Random(seed), Counter[str]()
    trunks = [[_trunk(sample) for sample in group] for group in groups]
    whole = [pair for group in trunks for pair in _episode_pairs(group, params.episode_pairs)]
    steps = [pair for group in groups for pair in _step_pairs(group, params.step_pairs, discarded)]
    kept = [steps[place] for place in balanced([pair.branch["verdict"] for pair in steps], random.getrandbits(32))]
    discarded["unbalanced"] += len(steps) - len(kept)
    times = repeats(len(whole), len(kept))
    ordered = [*whole, *kept * times]
    random.shuffle(ordered)
    figures = {"pairs/episode": float(len(whole)), "pairs/step": float(len(kept)), "pairs/step_uses": float(times),
               **{f"pairs/discarded/{reason}": float(discarded[reason]) for reason in DISCARDED}}
    if steps:
        figures["pairs/invoke_share"] = sum(pair.branch["verdict"] == "invoke" for pair in steps) / len(steps)
    return Round(ordered, +discarded, {**figures, **_figures([one for group in trunks for one in group])})


DISCARDED = ("unfinished", "quota", "disagree", "both_failed", "equal_steps", "degenerate", "unbalanced")
"""Why a branch gives no pair: a side was given up; its task has enough; repeats differ; neither side succeeded; both
took as many steps; both said the same; too many had its verdict."""


def _trunk(sample: Trajectory) -> Played:
    return Played(sample, [call for call in sample.calls if call.role == POLICY and "." not in call.number])


def _episode_pairs(trunks: Sequence[Played], most: int) -> Iterable[Pair]:
    ended = [(one, one.end) for one in trunks if one.end is not None]
    for won, lost in episode_pairs([end for _, end in ended if end], most):
        if not degenerate(ended[won][0].ids, ended[lost][0].ids):
            yield Pair("episode", ended[won][0], ended[lost][0], "outcome")


def _step_pairs(group: Sequence[Trajectory], most: int, discarded: Counter[str]) -> Iterable[Pair]:
    """Yield a pair for each chosen branch of a task that has a winner, and count the others."""
    found = [branch for place, sample in enumerate(group) for branch in _branches(place, sample)]
    finished = {branch.candidate: branch for branch in found if branch.finished}
    chosen = branches(finished, most)
    discarded["unfinished"] += len(found) - len(finished)
    discarded["quota"] += len(finished) - len(chosen)
    for candidate in chosen:
        compared = _compared(finished[candidate])
        if isinstance(compared, Pair):
            yield compared
        else:
            discarded[compared] += 1


def _branches(place: int, sample: Trajectory) -> Iterable[Branch]:
    """Yield the branches of a sample, whose number among those of its task is `place`."""
    turns = {call.number: turn for turn, call in enumerate(_trunk(sample).calls)}
    played = [one for one in _continuations(sample) if one.calls[0].notes["branch"]["before"] in turns]
    for before, sides in groupby(sorted(played, key=_before), key=_before):
        of: dict[str, list[Played]] = {side: [] for side in SIDES}
        for one in sides:
            of[one.calls[0].notes["branch"]["side"]].append(one)
            known = one.calls[0].notes["branch"]
        candidate = Candidate(place, turns[before], float(known["entropy"]), bool(known["invoked"]))
        yield Branch(candidate, known["skill"], *(sorted(of[side], key=_repeat) for side in SIDES))


def _before(one: Played) -> str:
    return str(one.calls[0].notes["branch"]["before"])


def _repeat(one: Played) -> int:
    return int(one.calls[0].notes["branch"]["repeat"])


def _continuations(sample: Trajectory) -> Iterable[Played]:
    """Yield the continuations of a sample: the policy's calls of one seat, whose first one names its branch."""
    calls = [call for call in sample.calls if call.role == POLICY and "." in call.number]
    for _, seat in groupby(sorted(calls, key=_seat), key=lambda call: call.number.rpartition(".")[0]):
        played = list(seat)
        if "branch" in played[0].notes:
            yield Played(sample, played)


def _seat(call: Call) -> tuple[str, tuple[int, ...]]:
    return call.number.rpartition(".")[0], number_key(call.number)


def _compared(branch: Branch) -> Pair | str:
    """Return the pair of a branch's first repeat, or the reason why its repeats give none."""
    ends = [(one.end, other.end) for one, other in zip(branch.invoke, branch.skip, strict=True)]
    verdicts = [verdict(one, other) for one, other in ends if one and other]
    winner = agreed(verdicts)
    if winner == "discard":
        won = any(end.success for both in ends for end in both if end)
        return "disagree" if len(set(verdicts)) > 1 else "equal_steps" if won else "both_failed"
    invoke, skip = branch.invoke[0].first(WINDOW), branch.skip[0].first(WINDOW)
    if degenerate(invoke.ids, skip.ids):
        return "degenerate"
    chosen, rejected = (invoke, skip) if winner == "invoke" else (skip, invoke)
    lost = branch.skip[0].end if winner == "invoke" else branch.invoke[0].end
    return Pair("step", chosen, rejected, "steps" if lost and lost.success else "outcome", {
        "verdict": winner, "turn": branch.candidate.turn, "skill": branch.skill, "entropy": branch.candidate.entropy,
        "invoked": branch.candidate.invoked})


def _figures(trunks: Sequence[Played]) -> Metrics:
    """Return success, environment steps, calls of skills and the share of them that completed, over episodes."""
    ended = [one for one in trunks if one.end is not None]
    if not ended:
        return {}
    ends = [one.end for one in ended if one.end is not None]
    statuses = [call.notes["status"] for one in ended for call in one.calls if "skill" in call.notes]
    figures = {"skills/success": sum(end.success for end in ends) / len(ends),
               "skills/steps": sum(end.steps for end in ends) / len(ends),
               "skills/calls": len(statuses) / len(ends)}
    if statuses:
        figures["skills/execution_precision"] = statuses.count("completed") / len(statuses)
    return figures
