"""Dialogues without tools: the users of a dataset's rows, who decide themselves whether their goal is reached."""

from collections.abc import Mapping
from typing import Any

from hone.environments.contract import WrongParams
from hone.environments.dialogues.scenario import NO_CLASSES, NO_COLUMNS, Figure, Scenario, Store
from hone.environments.tools import Tool


class Talk:
    """It makes no scenario of its own."""

    policy = ""
    classes = NO_CLASSES
    columns = NO_COLUMNS
    figures: tuple[Figure, ...] = ("goal", "repetition", "identity")
    forbidden: tuple[str, ...] = ()

    def tools(self, store: Store) -> Mapping[str, Tool]:
        """Return none."""
        return {}

    def scenario(self, params: Any, seed: int) -> Scenario:
        """Raise WrongParams: its users come from rows."""
        raise WrongParams("dataset", None, "rows with goal and knowledge, because the domain talk has no users")
