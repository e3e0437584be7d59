"""A judge scores an answer criterion by criterion."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import ConfigDict, Field, model_validator

from hone.graders.contract import Grader, GraderParams, Names, Needs, Result, Status, Tools
from hone.graders.judge_answers import ask, read_object, unreadable
from hone.graders.judge_messages import Content, Message, SamplingParams, answer_of, asked, evidence, is_opener
from hone.graders.questions import Question, Reply
from hone.graders.sample import Sample
from hone.graders.templates import Template
from hone.spec.parameters import Strict

_TASK = "You judge an answer by a list of criteria. Judge each one by itself, by what the answer says and nothing else."
_FORM = """Answer with a JSON object. "reasons": an object with one sentence for each criterion, by its name. Then \
"verdicts": an object with one of the choices for each criterion, by its name."""


class Criterion(Strict):
    """One thing that an answer is judged by."""

    model_config = ConfigDict(strict=True)

    name: str = Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$", description="Its name, under which its value is a component.")
    text: str = Field(min_length=1, max_length=4000, description="The criterion as the judge reads it.")
    weight: float = Field(1.0, ge=0, le=1e6, description="Weight of its value in the score.")
    choices: list[str] = Field(
        ["no", "yes"], min_length=2, max_length=16, description="Verdicts, from the worst to the best. The value of "
        "the i-th of n is i / (n - 1), from 0 on.")

    @model_validator(mode="after")
    def _has_different_choices(self) -> "Criterion":
        if len(set(self.choices)) < len(self.choices) or not all(self.choices):
            raise ValueError(f"choices: found {self.choices}, expected different texts")
        return self

    def value(self, choice: str) -> float:
        """Return the value of a verdict, from 0 to 1."""
        return self.choices.index(choice) / (len(self.choices) - 1)


class RubricParams(GraderParams):
    """The criteria, the judge, and what it is shown."""

    type: Literal["rubric"] = Field(description="Name of the grader.")
    model: str = Field(min_length=1, max_length=300, description="Name of a judge, or of a model of yours.")
    task: Template = Field(min_length=1, description="The question as the judge sees it: {{ item.question }}.")
    answer: Template = Field("{{ sample.output_text }}", description="The answer, as the judge sees it.")
    criteria: list[Criterion] = Field(min_length=1, max_length=32, description="Criteria by which the answer is "
                                      "judged.",
                                      examples=[[{"name": "polite", "text": "The answer is polite."}]])
    agreed: bool = Field(
        True, description="Whether the judge is asked twice, the second time with the choices from the best to the "
        "worst. Where its verdicts differ, the worse counts.")
    least_characters: int = Field(
        3, ge=0, le=1000, description="Letters and digits below which an answer scores 0, and no judge is asked.")
    sampling_params: SamplingParams = Field(default_factory=SamplingParams, description="How the judge answers.")

    @model_validator(mode="after")
    def _weighs_something(self) -> "RubricParams":
        names = [one.name for one in self.criteria]
        if len(set(names)) < len(names):
            raise ValueError(f"criteria: found {names}, expected different names")
        if not any(one.weight for one in self.criteria):
            raise ValueError("criteria: found only weights of 0, expected at least one weight above 0")
        return self


async def grade_sample(sample: Sample, params: RubricParams, tools: Tools) -> Result:
    """Return sum_k w_k v_k / sum_k w_k over the criteria k. The value of each is a component.

    Raises NoAnswer, InvalidSpec, and JudgeFailed where a criterion has no verdict, or more than one.
    """
    answer = answer_of(sample)
    if is_opener(answer, params.least_characters):
        return Result(Status.OK, 0.0, dict.fromkeys((one.name for one in params.criteria), 0.0), extracted=answer,
                      decided_by="opener", reasons=("the answer is an opener",))
    found, replies, shown = list[dict[str, float]](), list[Reply](), list[dict[str, Any]]()
    for backwards in (False, True) if params.agreed else (False,):
        question = _question(sample, answer, params, backwards)
        reply = await ask(tools, question)
        found.append(_values(reply, params.criteria))
        replies.append(reply)
        shown.append(evidence(params.model, question.messages, reply.text, reply.model))
    values = {one.name: min(each[one.name] for each in found) for one in params.criteria}
    return Result(Status.OK, weighted_mean(params.criteria, values), values, extracted=answer, decided_by="judge",
                  tokens={replies[0].model: sum(reply.tokens for reply in replies)}, evidence=tuple(shown))


def weighted_mean(criteria: Sequence[Criterion], values: Mapping[str, float]) -> float:
    """Return the mean of values by name, weighed by their criteria: weights 2, 1, 1 and values 1, 0, 0.5 give 0.625."""
    return sum(one.weight * values[one.name] for one in criteria) / sum(one.weight for one in criteria)


def _question(sample: Sample, answer: str, params: RubricParams, backwards: bool) -> Question:
    lines = [f"- {one.name}: {one.text} Choices: {', '.join(_choices(one, backwards))}." for one in params.criteria]
    said: Content = ["The task:", params.task, "", "The answer:", params.answer]
    messages = asked(
        [Message(role="system", content=_TASK), Message(role="user", content=said)], sample.item, answer,
        "\n".join(["The criteria:", *lines, "", _FORM]), fence=True)
    sampling = params.sampling_params
    return Question(
        params.model, messages, sampling.max_completions_tokens or 2048, sampling.temperature or 0.0,
        sampling.top_p or 1.0, sampling.seed or 0, _schema(params.criteria, backwards), sampling.reasoning_effort)


def _choices(criterion: Criterion, backwards: bool) -> list[str]:
    return criterion.choices[::-1] if backwards else criterion.choices


def _schema(criteria: Sequence[Criterion], backwards: bool) -> dict[str, Any]:
    names = [one.name for one in criteria]
    reasons = {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": names,
               "additionalProperties": False}
    verdicts = {**reasons, "properties": {
        one.name: {"type": "string", "enum": _choices(one, backwards)} for one in criteria}}
    return {"type": "object", "properties": {"reasons": reasons, "verdicts": verdicts},
            "required": ["reasons", "verdicts"], "additionalProperties": False}


def _values(reply: Reply, criteria: Sequence[Criterion]) -> dict[str, float]:
    """Return the value of each criterion. Raises JudgeFailed unless each has one verdict, and nothing else has one."""
    verdicts = read_object(reply).get("verdicts")
    names = {one.name for one in criteria}
    if not isinstance(verdicts, dict) or set(verdicts) != names:
        raise unreadable(reply, f"expected verdicts for {', '.join(sorted(names))}")
    wrong = [one.name for one in criteria if verdicts[one.name] not in one.choices]
    if wrong:
        raise unreadable(reply, f"expected one of its choices as the verdict of {wrong[0]}")
    return {one.name: one.value(verdicts[one.name]) for one in criteria}


def components(params: RubricParams, of_inner: Mapping[str, Names]) -> Names:  # noqa: ARG001
    """Return the names of the criteria."""
    return frozenset(one.name for one in params.criteria)


GRADER = Grader(RubricParams, grade_sample=grade_sample, components=components, needs=frozenset({Needs.JUDGE}),
                limit_s=120.0)
