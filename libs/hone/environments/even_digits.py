"""A task with answers of any length: write even digits only. The reward does not depend on the length."""

from pydantic import Field

from hone.environments.contract import EnvironmentParams, Message, Row
from hone.environments.hashing import splitmix
from hone.environments.single_turn import Asks, Question, SingleTurn

_GRADER = {"type": "character_share", "wanted": "02468", "among": "0123456789"}


class EvenDigitsParams(EnvironmentParams):
    """The number of different prompts."""

    digits: int = Field(4, ge=2, le=12, description="Number of digits in the prompt.")


class EvenDigits(Asks):
    """`4821:` asks for digits. The score is the share of even digits."""

    summary = "Answer with digits, as many as you like: the score is the share of even ones."
    params = EvenDigitsParams

    def messages(self, params: EvenDigitsParams, seed: int, item: Row | None) -> list[Message]:
        return [{"role": "user", "content": f"{splitmix(seed) % 10**params.digits:0{params.digits}d}:"}]

    def episode(self, params: EvenDigitsParams, seed: int, item: Row | None) -> SingleTurn:
        asked = self.messages(params, seed, item)
        return SingleTurn(Question(asked, {"prompt": asked[0]["content"]}, _GRADER))
