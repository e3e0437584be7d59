"""The contract of a harness: a coroutine that plays one sample through its seat."""

from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, ClassVar, Protocol, runtime_checkable

from pydantic import ConfigDict, Field

from hone.environments.contract import Message
from hone.harnesses.seat import Ask, Fork, HarnessFailed, Heard, Seat, Together, Tools, advanced
from hone.harnesses.spans import Marks
from hone.spec.parameters import Strict


class HarnessParams(Strict):
    """Parameters of a harness. Unknown keys and values of another type are errors."""

    model_config = ConfigDict(strict=True)
    marked: ClassVar[frozenset[str]] = frozenset()
    """Names of spans that the harness marks itself, beside `spans`."""

    max_turns: int | None = Field(
        None, ge=1, description="Most model calls after each other, from the first to the last; the calls of each "
        "fork are counted together with the calls before the fork; null: no limit.")
    max_context: int | None = Field(
        None, ge=2, description="Most tokens of a prompt and its completion together; null: the engine's or the "
        "model's limit, whichever is smaller. "
        "An episode that would need more ends.")
    spans: list[Marks] = Field(
        [], description="Named parts of completions, which methods read or which have another weight in the loss.")

    @property
    def temperatures(self) -> Mapping[str, float]:
        """Temperatures of calls of their own, by the names of the parameters."""
        return {}

    @property
    def tags(self) -> Sequence[str]:
        """Names of the tags in completions that the harness reads: a stop text must not take them off."""
        return ()


class Harness(Protocol):
    """A way for a policy to act in an environment. It works with any environment and any algorithm.

    It depends on nothing but its seat: it has no clock, no randomness and no input or output of its own. After a crash
    it is played again from the start, and what was answered before is answered again.
    """

    @property
    def summary(self) -> str:
        """One sentence that tells a user what it does."""

    @property
    def params(self) -> type[HarnessParams]:
        """Type of the parameters."""

    async def play(self, seat: Seat, params: Any) -> None:
        """Play one sample. It has ended when this returns, or when it lets Over pass."""


@runtime_checkable
class NamesKinds(Protocol):
    """A harness that says of which kinds its calls are."""

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of its calls."""


@runtime_checkable
class Evaluates(Protocol):
    """A harness for evaluations: no step may train on its calls."""

    @property
    def evaluates(self) -> bool:
        """True."""


@runtime_checkable
class Collects(Protocol):
    """A harness that reads collections and offers to them."""

    @property
    def collections(self) -> frozenset[str]:
        """The names of the collections."""


def kinds(harness: Harness) -> frozenset[str] | None:
    """Return the kinds of its calls, where a harness names them in an attribute `kinds`; None: it does not say."""
    return harness.kinds if isinstance(harness, NamesKinds) else None


def evaluates_only(harness: Harness) -> bool:
    """Return whether no step may train on its calls, as a harness says by an attribute `evaluates`."""
    return isinstance(harness, Evaluates) and harness.evaluates


RESERVED = frozenset({"pairs", "verification"})
"""Collections of the driver's own."""


def collections(harness: Harness | None) -> frozenset[str]:
    """Return the collections that a harness reads and offers to, where it names some in an attribute `collections`."""
    return harness.collections if isinstance(harness, Collects) else frozenset()


def first_prompt(
    harness: Harness, params: HarnessParams, said: list[Message], tools: Tools
) -> tuple[list[Message], Tools]:
    """Return the messages, and the tools shown by the template, that a harness asks first after `said`.

    Raises HarnessFailed when it does something else before.
    """
    seat = Seat(said, tools, Heard(said), "", collections=dict.fromkeys(collections(harness), ()))
    plays: list[Coroutine[Any, Any, Any]] = [harness.play(seat, params)]
    try:
        effect = advanced(plays[0])
        while isinstance(effect, Fork | Together):
            if isinstance(effect, Together):
                plays = [*effect.plays, *plays]
            effect = advanced(plays[0])
    finally:
        for play in plays:
            play.close()
    if not isinstance(effect, Ask):
        raise HarnessFailed(f"its first effect is {type(effect).__name__}, expected a call")
    asked = effect.said.messages if isinstance(effect.said, Heard) else effect.said
    return list(asked), effect.tools
