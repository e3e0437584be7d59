"""The task's own verifier (reasoning-gym). The entry is generated again from its parameters and seed."""

from typing import Any, Literal

from pydantic import Field

from hone.environments import reasoning_gym
from hone.environments.contract import WrongParams
from hone.environments.gym_verifiers import Unreadable
from hone.environments.reasoning_gym import ReasoningGymParams
from hone.graders.answers import last_tagged, tag
from hone.graders.contract import (
    Grader,
    GraderParams,
    InvalidSpec,
    Mark,
    NoAnswer,
    NoReference,
    Result,
    RightOutput,
    Status,
)
from hone.graders.sample import Item

KNOWN = {"params": {"task": "chain_sum"}, "seed": 1}


class ReasoningGymGraderParams(GraderParams):
    """Where the answer is in the output."""

    type: Literal["reasoning_gym"] = Field(description="Name of the grader.")
    answer_tag: Literal["optional", "required", "ignored"] = Field(
        "optional", description="Is the last <answer>…</answer> the answer? optional: where there is one; required: "
        "always, and other outputs have no answer; ignored: never, the whole output is.")


def grade(item: Item, output_text: str, params: ReasoningGymGraderParams) -> Result:
    """Return the score that the task's own verifier gives."""
    task, seed = _task(item)
    answer = _answer(output_text, params.answer_tag)
    try:
        if item.get("prompt", question := reasoning_gym.entry(task, seed)["question"]) != question:
            raise InvalidSpec("other_error: the task asks another question than the row, which another version of the "
                              "package made")
        return Result(Status.OK, reasoning_gym.score(task, seed, answer), extracted=answer, decided_by=task.task)
    except WrongParams as error:
        raise InvalidSpec(f"invalid_variable_error: item.{error}") from error
    except Unreadable as error:
        raise NoAnswer(str(error)) from error


def _task(item: Item) -> tuple[ReasoningGymParams, int]:
    params: Any = item.get("params")
    seed: Any = item.get("seed")
    if not isinstance(params, dict) or not isinstance(params.get("task"), str) or not isinstance(seed, int):
        raise InvalidSpec("invalid_variable_error: item.params and item.seed do not name a reasoning-gym task")
    return ReasoningGymParams.model_validate(params), seed


def _answer(output_text: str, tag: str) -> str:
    tagged = None if tag == "ignored" else last_tagged(output_text)
    if tagged is None and tag == "required":
        raise NoAnswer("no <answer>…</answer> in the output")
    return (output_text if tagged is None else tagged).strip()


def right_output(item: Item, params: ReasoningGymGraderParams) -> RightOutput:
    """Return the task's own answer, in tags where they are read."""
    answer = item.get("answer")
    if not isinstance(answer, str):
        raise NoReference("the task names no answer, because several are right")
    return RightOutput(answer if params.answer_tag == "ignored" else f"<answer>{answer}</answer>")


def prepare() -> None:
    """Import the package and test that a known answer scores 1."""
    params, seed = _task(KNOWN)
    if reasoning_gym.score(params, seed, reasoning_gym.entry(params, seed)["answer"]) != 1.0:
        raise RuntimeError("reasoning-gym does not accept its own answer")


def marks(params: ReasoningGymGraderParams) -> list[Mark]:
    """Return the texts around an answer."""
    return [] if params.answer_tag == "ignored" else [tag(needed=params.answer_tag == "required")]


GRADER = Grader(ReasoningGymGraderParams, grade, pooled=True, prepare=prepare, right_output=right_output, marks=marks)
