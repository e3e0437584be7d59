"""A task whose answers may have any length: say even digits only. Its reward is neutral to length."""

from pydantic import Field

from hone.environments.contract import EnvironmentParams, Message, Row
from hone.environments.hashing import splitmix
from hone.environments.single_turn import Asks, Question, SingleTurn

_GRADER = {"type": "character_share", "wanted": "02468", "among": "0123456789"}


class EvenDigitsParams(EnvironmentParams):
    """How many different prompts there are."""

    digits: int = Field(4, ge=2, le=12, description="Digits of the prompt.")


class EvenDigits(Asks):
    """`4821:` asks for digits; the score is the share of even ones, however many there are."""

    summary = "Answer with digits, as many as you like: the score is the share of even ones."
    params = EvenDigitsParams

    def messages(self, params: EvenDigitsParams, seed: int, item: Row | None) -> list[Message]:
        return [{"role": "user", "content": f"{splitmix(seed) % 10**params.digits:0{params.digits}d}:"}]

    def episode(self, params: EvenDigitsParams, seed: int, item: Row | None) -> SingleTurn:
        asked = self.messages(params, seed, item)
        return SingleTurn(Question(asked, {"prompt": asked[0]["content"]}, _GRADER))
