"""The reasoning branch: what a reasoner is asked about a persona, how its answer is read, and who is left out.

The prompt is a reconstruction: arXiv 2604.15190 says that the reasoner reads policies and does not see the offline
context and the habits of users.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from pydantic import Field, model_validator

from hone.audiences.anchoring import sigmoid
from hone.audiences.columns import Features, Floats
from hone.spec.parameters import Strict
from hone.spec.problems import Invalid, Problem, one_of

UNKNOWN = ("where the user is and what happens there, outside of the application",
           "the user's habits: when and how often the user orders without comparing",
           "what the user has seen at other merchants")
"""Facts that a reasoner is told it does not know."""
MOST_DROPPED = 0.2
"""Share of personas without a readable answer above which a group has no reasoned rate."""


Message = dict[str, str]


@dataclass(frozen=True)
class Prompt:
    """A chat whose last message is answered, the JSON schema of the answer, if it is JSON, and its longest form."""

    messages: Sequence[Message]
    schema: Mapping[str, Any] | None
    max_tokens: int


@dataclass(frozen=True)
class Question:
    """Question to a reasoner: how likely a persona is to reach each step."""

    features: Features
    policies: tuple[str, ...]
    steps: tuple[str, ...]

    @property
    def messages(self) -> list[Message]:
        """The question as messages of a chat."""
        said = {part: dict(known) for part, known in self.features.items()}
        lines = ["What users did in the past:", *(f"- {text}" for text in self.policies or ("nothing is recorded",)),
                 "Not known:", *(f"- {text}" for text in UNKNOWN),
                 f"What is known, as JSON: {json.dumps(said, sort_keys=True)}",
                 f"Answer with a JSON object alone: a probability from 0 to 1 for each of {', '.join(self.steps)}."]
        return [{"role": "system", "content": "You estimate how one user of an application reacts to what a merchant "
                                              "offers. Users act by habit more often than they reason."},
                {"role": "user", "content": "\n".join(lines)}]


    def prompt(self, max_tokens: int) -> Prompt:
        """Return the question with the form of its answer."""
        return Prompt(self.messages, {
            "type": "object", "additionalProperties": False, "required": list(self.steps),
            "properties": {step: {"type": "number", "minimum": 0, "maximum": 1} for step in self.steps}}, max_tokens)


class Reasoner(Protocol):
    """Answers questions about personas in words, JSON at best. What it says is not trusted."""

    async def answer(self, questions: Sequence[Question]) -> list[str]:
        """Return one text for each question. Raises what its model's outage raises: no answer is made up."""


class Writer(Protocol):
    """A model that answers prompts in words. What it says is not trusted."""

    async def write(self, prompts: Sequence[Prompt]) -> list[str]:
        """Return one text for each prompt. Raises what its model's outage raises: no answer is made up."""


class Formula(Strict):
    """A stand-in for a model, for tests and demonstrations: sigmoid(intercept + weights x numbers) for each step."""

    intercept: float = 0.0
    weights: dict[str, float] = Field(default_factory=dict)


@dataclass(frozen=True)
class FormulaReasoner:
    """Answers by a formula for each step. It reads no policy."""

    formulas: Mapping[str, Formula]

    async def answer(self, questions: Sequence[Question]) -> list[str]:
        return [json.dumps({step: self._chance(step, one.features) for step in one.steps}) for one in questions]

    def _chance(self, step: str, features: Features) -> float:
        formula = self.formulas[step]
        terms = [weight * float(features[part][name]) for field, weight in formula.weights.items()
                 for part, _, name in [field.partition(".")]]
        return float(sigmoid(np.array(formula.intercept + sum(terms))))


class ReasonerSpec(Strict):
    """Who answers in the role `simulator`: a judge or model of the tenant's, by name, or a formula for each step."""

    judge: str | None = Field(None, min_length=1, max_length=300, description="Name of an endpoint that is set as a "
                              "judge, or of a model that can be asked.")
    max_tokens: int = Field(256, ge=1, le=8192, description="Longest answer of the judge.")
    temperature: float = Field(0.0, ge=0, le=2)
    tokens: int = Field(0, ge=0, le=10**12, description="Tokens that a fit may use of the judge, its simulations "
                        "included; 0: as many as the judge's own terms allow.")
    formulas: dict[str, Formula] | None = Field(None, min_length=1, description="A stand-in for a model: by step, "
                                                "sigmoid(intercept + weights x numbers).")

    @model_validator(mode="after")
    def _one(self) -> "ReasonerSpec":
        if (self.judge is None) == (self.formulas is None):
            raise ValueError("expected either judge or formulas")
        return self


def expect_formulas(formulas: Mapping[str, Formula], steps: Sequence[str], numbers: Sequence[str]) -> None:
    """Raise Invalid for formulas of other steps than those of the rows, or of numbers that the rows lack."""
    if set(formulas) != set(steps):
        raise Invalid([Problem("reasoner.formulas", ", ".join(sorted(formulas)), f"the steps {', '.join(steps)}")])
    for step, one in formulas.items():
        for field in one.weights:
            if field not in numbers:
                raise Invalid([Problem(f"reasoner.formulas.{step}.weights", repr(field), one_of(field, numbers))])


def read(text: str, steps: Sequence[str]) -> list[float] | None:
    """Return the probability of each step that an answer gives; None where it is no JSON or lacks a step."""
    said = first_object(text)
    if said is None:
        return None
    values: list[Any] = [said.get(step) for step in steps]
    if not all(isinstance(one, int | float) and not isinstance(one, bool) and math.isfinite(one) and 0 <= one <= 1
               for one in values):
        return None
    return [float(one) for one in values]


def first_object(text: str) -> Mapping[str, Any] | None:
    """Return the JSON object that stands in a text, None where there is none."""
    try:
        found = json.loads(text[text.index("{"):text.rindex("}") + 1])
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


async def ask(reasoner: Reasoner, questions: Sequence[Question]) -> Floats:
    """Return the probabilities [S, K] of S questions, all of the same K steps. An answer that cannot be read is asked
    for once more; NaN: it could not be read then either.
    """
    answers = await _readable(reasoner, questions)
    if unread := [place for place, found in enumerate(answers) if found is None]:
        for place, found in zip(unread, await _readable(reasoner, [questions[one] for one in unread]), strict=True):
            answers[place] = found
    steps = len(questions[0].steps)
    return np.array([found if found is not None else [math.nan] * steps for found in answers], np.float64)


async def _readable(reasoner: Reasoner, questions: Sequence[Question]) -> list[list[float] | None]:
    texts = await reasoner.answer(questions)
    return [read(text, one.steps) for text, one in zip(texts, questions, strict=True)]
