"""An environment with one question: write the digits of a number from the last to the first."""

from pydantic import Field

from hone.environments.contract import EnvironmentParams, Message, Row
from hone.environments.hashing import splitmix
from hone.environments.single_turn import Asks, Question, SingleTurn


class MirrorParams(EnvironmentParams):
    """The difficulty. Users see the schema of this class, with the descriptions."""

    digits: int = Field(3, ge=2, le=12, description="Number of digits to write.")


class Mirror(Asks):
    """`s529=` asks for `925`. The task of a seed is the same in every process."""

    summary = "Write a number from its last digit to its first: s529= asks for 925."
    params = MirrorParams

    def messages(self, params: MirrorParams, seed: int, item: Row | None) -> list[Message]:
        return [{"role": "user", "content": f"s{_digits(params, seed)}="}]

    def episode(self, params: MirrorParams, seed: int, item: Row | None) -> SingleTurn:
        row = {"answer": _digits(params, seed)[::-1]}
        return SingleTurn(Question(self.messages(params, seed, item), row, {"type": "exact"}))


def _digits(params: MirrorParams, seed: int) -> str:
    return f"{splitmix(seed) % 10**params.digits:0{params.digits}d}"
