"""Noise of a source of tasks, and the noise of a task, after AgentNoiseBench, arXiv 2602.11348."""

import random
from typing import Annotated, Literal, get_args

from pydantic import Field, StringConstraints, model_validator

from hone.spec.parameters import Strict, is_none

ToolNoise = Literal["failure", "incomplete", "error", "redundancy", "misleading"]
UserNoise = Literal["user_ambiguity", "user_conflict", "user_redundancy", "user_topic_shift", "user_boundary",
                    "user_cognition"]
NoiseType = Literal[ToolNoise, UserNoise]
Written = Literal["incomplete", "error", "redundancy", "misleading"]
Lure = Literal["redundancy", "misleading"]
Third = Literal["anywhere", "early", "middle", "late"]
LOSES: frozenset[NoiseType] = frozenset({"failure", "incomplete", "error"})
"""Types that take something of the truth away: it has to be asked for again."""
WRITTEN: frozenset[NoiseType] = frozenset(get_args(Written))
"""Types that a model may write instead of rules."""
BUDGETS, QUOTAS = (0, 1, 2, 4), (0, 2, 4, 6)
"""Injections into the results of tools and into the words of a user, by intensity: Hone's scales."""
LONGEST_GUIDELINE = 2000
Guideline = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_GUIDELINE)]
USERS: frozenset[NoiseType] = frozenset(get_args(UserNoise))


class NoiseTerms(Strict):
    """How often and how much noise there is."""

    intensity: int = Field(
        2, ge=0, le=3, description="How much: 0, 1, 2 or 4 injections of an episode, of a user 0, 2, 4 or 6; 0 changes "
        "nothing.")
    prob: float = Field(0.7, ge=0, le=1, description="Chance that the result of a step is changed, where it may be.")
    start: int = Field(1, ge=1, description="First step whose result may be changed, from 1.")
    interval: int = Field(
        1, ge=0, description="Steps between two changed results: the next may be changed only after more steps than "
                             "this.")
    most: int | None = Field(
        None, ge=-1, description="Most injections of an episode, instead of the intensity's; -1: any.")
    most_of_tool: int = Field(2, ge=-1, description="Most injections into the results of a single tool; -1: any.")
    where: Third = Field("anywhere", description="The third of the expected episode in which results are changed.")
    expected_steps: int | None = Field(
        None, ge=1, description="Steps of a clean episode, by which its thirds are counted.")
    repair: bool = Field(
        True, description="Offer a tool `repair`: called with the name of a tool, it ends the noise in that tool's "
        "results.")
    writer: Literal["rules", "model"] = Field(
        "rules", description="Author of the noise of tools, failures aside: rules, or the model or endpoint of the "
                             "role "
        "noiser (roles.asked.noiser), whose words are checked.")
    guidelines: dict[Written, Guideline] | None = Field(
        None, exclude_if=is_none, description="Guidelines by type, which replace Hone's own, such as "
        "`hone noise evolve` finds. The noiser's words are checked as before.")
    seed: int = Field(0, ge=0, lt=2**31, description="Seed of all draws, with the task's own.")

    @model_validator(mode="after")
    def _thirds(self) -> "NoiseTerms":
        if self.where != "anywhere" and self.expected_steps is None:
            raise ValueError("expected a value of expected_steps, because where names a third of an episode")
        return self

    @property
    def budget(self) -> int | None:
        """Most injections of an episode; None: any number."""
        if self.intensity == 0:
            return 0
        if self.most is None:
            return BUDGETS[self.intensity]
        return None if self.most < 0 else self.most


class TaskNoise(NoiseTerms):
    """The noise of one task. All samples of a group share it."""

    type: NoiseType

    @property
    def written(self) -> bool:
        """Whether a model writes it."""
        return self.writer == "model" and self.type in WRITTEN

    @property
    def guideline(self) -> str | None:
        """Guideline that its writer reads instead of the type's own; None: the type's own."""
        return next((text for kind, text in (self.guidelines or {}).items() if kind == self.type), None)

    @property
    def budget(self) -> int | None:
        return QUOTAS[self.intensity] if self.type in USERS and self.most is None else super().budget


class NoiseSpec(NoiseTerms):
    """The noise of a source of tasks."""

    types: list[NoiseType] = Field(
        ["failure", "incomplete", "error", "redundancy", "misleading"], min_length=1,
        description="Types of noise in the results of tools, and in the words of a user. An episode has a single "
        "type; a type that stands here twice is drawn twice as often.")
    share: float = Field(0.5, ge=0, le=1, description="Share of the groups that have noise; the rest is clean.")

    @model_validator(mode="after")
    def _solvable(self) -> "NoiseSpec":
        """Noise that takes something of the truth away at every step would leave no task that can be done."""
        endless = self.budget is None and self.interval == 0 and self.prob == 1 and self.most_of_tool < 0
        if endless and (losing := LOSES.intersection(self.types)):
            lost = ", ".join(sorted(losing))
            raise ValueError(f"expected a clean result after some tries, and {lost} at every step leaves none: bound "
                             "most or most_of_tool, or set interval above 0 or prob below 1")
        return self

    @model_validator(mode="after")
    def _read(self) -> "NoiseSpec":
        """A guideline that nobody reads is a mistake."""
        if self.guidelines and self.writer != "model":
            raise ValueError("expected writer: model where guidelines are given, because rules do not read them")
        if unread := set(self.guidelines or {}).difference(self.types):
            raise ValueError(f"expected guidelines for the types alone, found {', '.join(sorted(unread))}")
        return self

    @property
    def written(self) -> bool:
        """Whether a model writes noise of some type."""
        return self.writer == "model" and bool(self.intensity) and not WRITTEN.isdisjoint(self.types)

    def of_task(self, key: str) -> TaskNoise | None:
        """Return the noise of the task that a key names; None: the task is clean. Equal keys draw alike."""
        drawn = random.Random(f"{self.seed}/{key}")
        if not self.intensity or drawn.random() >= self.share:
            return None
        terms = self.model_dump(include={*NoiseTerms.model_fields} - {"seed"})
        return TaskNoise(type=drawn.choice(self.types), seed=drawn.randrange(2**31), **terms)


class EvalNoise(NoiseSpec):
    """The noise under which held-out tasks are answered, too."""

    judge: str | None = Field(
        None, min_length=1, max_length=300, exclude_if=is_none, description="Name of a judge (`hone judges set`), or "
        "of a model of yours: it says of each answer under redundancy or misleading noise whether the policy was led "
        "away by it. null: no such figure.")
