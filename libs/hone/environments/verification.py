"""Judgements as tasks: the policy judges an answer to a question, and the label of that answer is known."""

from typing import Any

from pydantic import Field

from hone.environments.contract import EnvironmentParams, Message, Row, WrongParams
from hone.environments.single_turn import Asks, Question, SingleTurn


class VerificationParams(EnvironmentParams):
    """How verdicts are graded."""

    grader: dict[str, Any] = Field({"type": "verdict"}, description="JSON of the grader of every verdict.")


class Verification(Asks):
    """A row is `{"prompt": the judge's whole prompt, "label": "Yes" | "No", "rho": pass rate of the question}`."""

    summary = "Judge an answer: a row has the whole prompt, whether the answer is right (label), and a pass rate (rho)."
    params = VerificationParams
    needs_rows = True
    columns = frozenset({"prompt", "label", "rho"})

    def messages(self, params: VerificationParams, seed: int, item: Row | None) -> list[Message]:
        return [{"role": "user", "content": _prompt(item)}]

    def episode(self, params: VerificationParams, seed: int, item: Row | None) -> SingleTurn:
        return SingleTurn(Question(self.messages(params, seed, item), item or {}, params.grader))


def _prompt(item: Row | None) -> str:
    if item is None:
        raise WrongParams("dataset", item, "rows with prompt, label and rho")
    prompt = item.get("prompt")
    if not isinstance(prompt, str) or not prompt:
        raise WrongParams("item.prompt", prompt, "a text that is not empty")
    return prompt
