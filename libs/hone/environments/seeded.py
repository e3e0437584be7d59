"""Environments of several turns whose tasks come from seeds alone: what is seen first is the whole prompt."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from hone.environments.contract import Episode, Message, Row


class Seeded(ABC):
    """Base of environments of several turns without rows, without rules for turns, and without other roles."""

    columns: frozenset[str] | None = None
    asked_roles: frozenset[str] = frozenset()
    foreign = False

    def rules(self, params: Any) -> Mapping[str, float]:
        return {}

    def messages(self, params: Any, seed: int, item: Row | None) -> list[Message]:
        return self.episode(params, seed, item).reset().messages

    @abstractmethod
    def episode(self, params: Any, seed: int, item: Row | None) -> Episode:
        """Return the episode of a seed, which has not been reset."""
