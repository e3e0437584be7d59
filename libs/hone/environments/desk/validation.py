"""Validation of a drafted task: the gates, and then four aspects that somebody scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from hone.environments.desk.agents import AGENTS, graded
from hone.environments.desk.gates import DeskDraft, GateResult, gates
from hone.environments.desk.task import SHARES, DeskTask

Aspect = Literal["structure", "reproducibility", "verifiability", "difficulty"]
ASPECTS: Mapping[Aspect, float] = {
    "structure": 25.0, "reproducibility": 25.0, "verifiability": 25.0, "difficulty": 25.0}
"""Weights of the aspects, equal ones: the source does not say its own."""
ACCEPTED = 80.0


@dataclass(frozen=True)
class Opinion:
    """Scores of the aspects from 0 to 100, and what is to be repaired."""

    scores: Mapping[Aspect, float]
    repair: tuple[str, ...] = ()


class Validator(Protocol):
    """Who reads a task of a family that passed the gates. Tasks by a model: `hone.environments.desk.authored`."""

    def opinion(self, task: DeskTask) -> Opinion:
        """Return the scores of a task's aspects."""


@dataclass(frozen=True)
class Validated:
    """Outcome of a draft."""

    gates: tuple[GateResult, ...]
    score: float | None  # None: a gate refused it, and nobody was asked
    repair: tuple[str, ...]

    @property
    def accepted(self) -> bool:
        """Whether the gates are passed and the score suffices."""
        return self.score is not None and self.score >= ACCEPTED


def total(scores: Mapping[Aspect, float]) -> float:
    """Return the weighted mean of the aspects' scores."""
    return sum(weight * scores[aspect] for aspect, weight in ASPECTS.items()) / sum(ASPECTS.values())


def validated(draft: DeskDraft, validator: Validator) -> Validated:
    """Return whether a draft is accepted, and else what is to be repaired."""
    found = gates(draft)
    if not all(one.passed for one in found):
        return Validated(tuple(found), None, tuple(f"{one.gate}: {one.repair}" for one in found if one.repair))
    opinion = validator.opinion(draft.set_up())
    points = total(opinion.scores)
    return Validated(tuple(found), points, () if points >= ACCEPTED else opinion.repair)


class ScriptedValidator:
    """Scores what can be counted, without a model. It says nothing of realism or of a text's clarity."""

    def opinion(self, task: DeskTask) -> Opinion:
        parts: Mapping[Aspect, Sequence[tuple[bool, str]]] = {
            "structure": _structure(task), "reproducibility": [(bool(task.now.endswith("Z")), "the time is not UTC")],
            "verifiability": _verifiability(task), "difficulty": _difficulty(task)}
        return Opinion({aspect: 100 * sum(right for right, _ in of) / len(of) for aspect, of in parts.items()},
                       tuple(repair for of in parts.values() for right, repair in of if not right))


def _structure(task: DeskTask) -> list[tuple[bool, str]]:
    kinds = {one.kind for one in task.checks}
    return [(kinds == SHARES.keys(), "a kind of checks is missing"),
            (bool(task.hint and task.prompt), "a text is empty"),
            (abs(sum(one.weight for one in task.checks) - 100) < 1e-9, "the weights do not sum to 100"),
            (len({one.id for one in task.checks}) == len(task.checks), "two checks have the same id")]


def _verifiability(task: DeskTask) -> list[tuple[bool, str]]:
    missed = {one.check for one in task.scripts.near_misses}
    return [(one.kind == "side_effect" or one.id in missed or one.kind == "core", f"no near miss is about {one.id}")
            for one in task.checks]


def _difficulty(task: DeskTask) -> list[tuple[bool, str]]:
    scores = [graded(agent, task).score for agent in AGENTS]
    return [(len(task.difficulties) >= 2, "fewer than two difficulties"),
            (scores == sorted(scores, reverse=True) and scores[0] > scores[1] > scores[2] > scores[3],
             "scripted agents do not rank as they should")]
