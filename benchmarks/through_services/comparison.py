"""What is compared: specs that differ in the method alone, the base they start from, and the direction to expect."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Row = dict[str, Any]
START = "start"
"""What every arm of a comparison begins as, where a direction names it like an arm."""
Spec = dict[str, Any]
"""A run spec without name and seed; `model.base` and `roles.teacher.model` are keys of STARTS."""


@dataclass(frozen=True)
class Start:
    """A policy that runs start from, taught by a supervised run of its own, once."""

    origin: str  # how it came to be, for readers
    rows: Callable[[], Iterable[Row]]  # demonstrations
    steps: int
    source: Mapping[str, Any]  # where its held-out tasks come from
    of: str = ""  # what it was before, a key of STARTS; "": random weights
    lr: float = 3e-3
    policy: Mapping[str, Any] = field(default_factory=dict)  # sizes and symbols of the toy with random weights
    fields: Mapping[str, Any] = field(default_factory=dict)  # of the spec of the run that teaches it
    epochs: int = 1  # how often each demonstration is shown


@dataclass(frozen=True)
class Direction:
    """What a method's authors lead one to expect: `arm` ends above `over`; each may be START."""

    arm: str
    over: str
    figure: str = "area"  # one of curves.FIGURES, or of the comparison's `figures`

    def __str__(self) -> str:
        return f"{self.arm} > {self.over} in {self.figure}"


@dataclass(frozen=True)
class Inside:
    """A direction inside one arm: a component of its sampled answers' grades ends above another one."""

    arm: str
    component: str
    over: str

    def __str__(self) -> str:
        return f"{self.arm}: {self.component} > {self.over}"


@dataclass(frozen=True)
class Near:
    """A figure that is known beforehand: the arm's mean over seeds ends within so much of it."""

    arm: str
    figure: str
    value: float
    within: float

    def __str__(self) -> str:
        return f"{self.arm}: {self.figure} within {self.within:g} of {self.value:.3f}"


@dataclass(frozen=True)
class Comparison:
    """Arms that run on equal seeds, tasks and rollouts; the baseline is the first."""

    source: str  # the method's source
    question: str
    arms: Mapping[str, Spec]
    expects: tuple[Direction, ...]
    inside: tuple[Inside, ...] = ()
    near: tuple[Near, ...] = ()
    figures: tuple[str, ...] = ()  # beside curves.FIGURES, of those that curves.further finds
    remark: str = ""  # what was found where a direction was missed, or what limits the comparison

    @property
    def baseline(self) -> str:
        """Name of the arm that the others are compared with."""
        return next(iter(self.arms))
