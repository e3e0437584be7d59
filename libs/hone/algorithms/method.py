"""The shape of every method: `(inputs, params, state) -> (outputs, state, metrics)`, and the facts it declares.

No module of `hone.algorithms` imports torch: functions on tensors use the tensors' own methods. So a process without
torch can read and check every slot.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from hone.spec.parameters import Strict

State = Mapping[str, Any]
"""JSON data that a method carries from step to step. Checkpoints hold it. {} is the state of a method without any."""

Metrics = dict[str, float]
"""Figures by name. A micro-batch's figures are means over its tokens, or maxima where the name ends in `_max`."""


class Params(Strict):
    """Parameters of a method, each with a description and a default. Unknown names are errors."""

    def needs(self) -> frozenset[str]:
        """Return the names of the inputs that the method reads beyond those that every method of its slot gets.

        A forward pass computes `logp_old`, `logp_ref`, `entropy` and `expected` (sum of p^2 (log p + entropy)).
        Trajectories hold `turns`, `components`, `rules`, `steps`, `kinds` and `spans`. Other models compute
        `logp_teacher`, `support` and `values`.
        """
        return frozenset()

    def remembers(self) -> bool:
        """Return whether the method's outputs depend on state that it carried from earlier steps."""
        return False

    def token_band(self) -> tuple[float, float]:
        """Return how far below and above 1 a loss lets a token's ratio move; (1, inf) has no bounds."""
        return 1.0, math.inf


In = TypeVar("In")
Out = TypeVar("Out")


@dataclass(frozen=True)
class Method(Generic[In, Out]):
    """A pure function, the type of its parameters, and facts about it. A call validates the parameters.

    The facts hold for every value of the parameters. Facts that depend on the parameters are methods of `Params`.
    """

    function: Callable[[Any, Any, State], tuple[Any, State, Metrics]]
    params: type[Params] = Params
    needs_peers: bool = False  # advantage: compares a sample with others of its group, so a group needs two samples
    within_group: bool = False  # advantage: reads no samples of other groups
    reads_baseline: bool = False  # advantage: reads the running mean of a prompt's earlier outcomes
    every_update: bool = False  # modulation: reads the current weights, so that each update of a step applies it anew
    components: tuple[str, ...] = ()  # advantage: names of the reward parts that it reads
    kinds: tuple[str, ...] = ()  # advantage: the kinds of calls that it tells apart; a harness has to make them
    imitated: Callable[[Any, Any], Any] | None = None  # advantage: from (inputs, params) the tokens, bool [M], that it
    #                                                    leaves to a regularizer which imitates a teacher; None: all
    builder: str | None = None  # advantage, modulation: the only builder that it works with; None: any that samples
    reads_advantage: bool = True  # loss: False where it ignores advantages
    old_policy: Literal["trainer", "sampler"] = "trainer"  # correction: whose log-probabilities are logp_old of losses
    excludes: Mapping[tuple[str, str], str] = field(default_factory=dict)  # (slot, method) it cannot go with -> reason

    def __call__(self, inputs: In, params: Mapping[str, Any], state: State) -> tuple[Out, State, Metrics]:
        """Apply the function. Raises pydantic.ValidationError when `params` has an unknown name or a wrong value."""
        outputs, state, metrics = self.function(inputs, self.params.model_validate(params), state)
        return outputs, state, metrics


@dataclass(frozen=True)
class Builder:
    """A source of a step's trajectories: the type of its parameters, and facts about it."""

    params: type[Params] = Params
    columns: tuple[str, ...] = ()  # completions that it reads from each dataset row, in order; (): it samples rollouts
    fixed: Mapping[str, str] = field(default_factory=dict)  # slot -> the only method that fits this builder
    judges_answers: bool = False  # makes a second task of the run's own answers, with steps of its own
    makes_pairs: bool = False  # trains on pairs that it makes of the samples, whose harness branches for it

    @property
    def from_rows(self) -> bool:
        """Whether it reads completions from a dataset instead of sampling them."""
        return bool(self.columns)
