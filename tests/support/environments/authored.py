"""Lives of a scripted author."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hone.environments.contract import Row
from hone.environments.written_lives.authored import AuthoredLives
from tests.unit.environments.written_lives import keeper

Says = Callable[[str], Mapping[str, Any]]


def asked(says: Says) -> Callable[[Sequence[Mapping[str, str]], int], Mapping[str, Any]]:
    return lambda messages, _: says(messages[-1]["content"])


def lives(says: Says, checks: Says = keeper.answer) -> AuthoredLives:
    return AuthoredLives(asked(says), asked(checks), keeper.SIZES)


def made(says: Says = keeper.answer, wanted: int = 1) -> list[Row]:
    return lives(says).made(keeper.HINT, wanted)
