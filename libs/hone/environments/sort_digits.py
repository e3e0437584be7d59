"""The demo's task: sort the digits of a number. A model of half a million weights can learn it."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from hone.environments.contract import EnvironmentParams, Message, Row
from hone.environments.hashing import splitmix
from hone.environments.single_turn import Asks, Question, SingleTurn


class SortDigitsParams(EnvironmentParams):
    """The difficulty."""

    digits: int = Field(6, ge=2, le=12, description="Number of digits to sort.")


class SortDigits(Asks):
    """`s529170=` asks for `012579`."""

    summary = "Sort the digits of a number: s529170= asks for 012579."
    params = SortDigitsParams
    example_params: ClassVar[Mapping[str, Any]] = {"digits": 5}

    def messages(self, params: SortDigitsParams, seed: int, item: Row | None) -> list[Message]:
        return [{"role": "user", "content": f"s{_digits(params, seed)}="}]

    def episode(self, params: SortDigitsParams, seed: int, item: Row | None) -> SingleTurn:
        asked = self.messages(params, seed, item)
        answer = "".join(sorted(_digits(params, seed)))
        return SingleTurn(Question(asked, {"prompt": asked[0]["content"], "answer": answer}, {"type": "exact"}))


def _digits(params: SortDigitsParams, seed: int) -> str:
    return f"{splitmix(seed) % 10**params.digits:0{params.digits}d}"
