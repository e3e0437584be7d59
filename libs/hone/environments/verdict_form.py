r"""How a judge is asked about an answer, and how its verdict is written: self-verify, arXiv 2602.07594.

The same words train a policy to judge its own answers, and ask it for its vote.
"""

import re
from typing import Literal, TypeAlias

from pydantic import Field, field_validator, model_validator

from hone.spec.parameters import Strict
from hone.text.boxes import last_boxed

Label: TypeAlias = Literal["Yes", "No"]

_TAIL = 300
_TEXT = re.compile(r"\\text\s*\{([^{}]*)\}")
_PROMPT = r"""You are a teacher. A student answered the question below. Judge whether the answer is correct.

Question:
{question}

Student's answer:
{judged}

Analyse the answer first. Then end with \boxed{Yes} if it is correct, or \boxed{No} if it is not."""
_PLACES = re.compile(r"\{(question|judged)\}")


class JudgePrompt(Strict):
    """The prompt of a judge."""

    judged: Literal["answer", "response"] = Field(
        "answer", description="Part that is judged: the final answer or the whole text.")
    template: str = Field(
        _PROMPT, max_length=20_000, description="The prompt; {question} and {judged} are replaced by both texts.")
    suffixes: list[str] = Field([
        r"Please reason step by step, and put your final answer within \boxed{}.",
        r"Let's think step by step and output the final answer within \boxed{}.",
    ], description="Instructions at the end of a question, which are removed.")

    @field_validator("template")
    @classmethod
    def _asks_about_both(cls, template: str) -> str:
        if set(_PLACES.findall(template)) != {"question", "judged"}:
            raise ValueError("expected a text with {question} and {judged}")
        return template


class VerdictForm(Strict):
    """How a verdict is written."""

    verdict: Literal["boxed", "word"] = Field(
        "boxed", description=r"boxed: the verdict is in the last \boxed{} of the last 300 characters; word: it is the "
        "output's last word.")
    yes_text: str = Field("Yes", min_length=1, max_length=100, description="Verdict that the answer is correct.")
    no_text: str = Field("No", min_length=1, max_length=100, description="Verdict that the answer is not correct.")

    @model_validator(mode="after")
    def _can_be_read(self) -> "VerdictForm":
        if self.yes_text.lower() == self.no_text.lower():
            raise ValueError("expected yes_text and no_text to differ by more than case")
        for text in (self.yes_text, self.no_text):
            if self._said(rf"\boxed{{{text}}}" if self.verdict == "boxed" else text) != text:
                raise ValueError("expected yes_text and no_text without blanks around them and without a final "
                                 f"period{', a word each' if self.verdict == 'word' else ''}")
        return self

    def read(self, text: str) -> Label | None:
        """Return the verdict at the end of a judge's output, in upper or lower case; None where there is none."""
        labels: dict[str, Label] = {self.yes_text.lower(): "Yes", self.no_text.lower(): "No"}
        return labels.get((self._said(text) or "").lower())

    def _said(self, text: str) -> str | None:
        return boxed_answer(text) if self.verdict == "boxed" else last_word(text)


def verification_prompt(question: str, judged: str, params: JudgePrompt) -> str:
    """Return the user message that asks for a verdict on `judged`, without suffixes of the question."""
    question = question.rstrip()
    for suffix in params.suffixes:
        question = question.removesuffix(suffix).rstrip()
    texts = {"question": question, "judged": judged}
    return _PLACES.sub(lambda place: texts[place[1]], params.template)


def boxed_answer(text: str) -> str | None:
    r"""Return the last box in the last 300 characters, without \text{}, $, outer blanks and final period, or None."""
    box = last_boxed(text[-_TAIL:])
    return None if box is None else _TEXT.sub(r"\1", box).replace("$", "").strip().removesuffix(".").rstrip()


def last_word(text: str) -> str | None:
    """Return the last word without a final period, or None."""
    words = text.split()
    return words[-1].removesuffix(".") if words else None
