"""Next move of a user: it speaks, calls tools of its own, or has a model asked for its words."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from hone.environments.contract import Message


@dataclass(frozen=True)
class Said:
    """One of three: words, and why the user leaves with them; calls; or the messages that a model is asked."""

    words: str = ""
    ended: str = ""  # empty: it stays
    calls: Sequence[tuple[str, dict[str, Any]]] = ()  # tool and arguments
    asks: Sequence[Message] | None = None


class Participant(Protocol):
    """The user of an episode."""

    def opening(self) -> Said:
        """Begin."""

    def hear(self, text: str, leaves: Callable[[], bool]) -> Said:
        """Take a text of the agent. `leaves`: whether the user has what it wants, or was handed over."""

    def saw(self, results: Sequence[str], leaves: Callable[[], bool]) -> Said:
        """Take what its calls said."""

    def answer(self, words: str) -> Said:
        """Take the words of the model that was asked."""

    def snapshot(self) -> dict[str, Any]:
        """Return the state as JSON."""

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go to a state."""
