"""Another grader, with how skills were called as components: SelSkill's metrics, arXiv 2606.00510."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field

from hone.graders.contract import Bounds, Grader, GraderParams, InvalidSpec, Names, Result, Tools, all_names
from hone.graders.sample import Conversation, Item, Reads, Sample

_FIGURES = frozenset({"calls", "execution_precision", "steps"})


class SkillUseParams(GraderParams):
    """The grader that scores."""

    type: Literal["skill_use"] = Field(description="Name of the grader.")
    grader: dict[str, Any] = Field({"type": "environment"}, description="JSON of the grader that gives the score.")
    facts: list[str] = Field([], max_length=16, description="Numbers in the task's item, as the episode left it, that "
                             "are components, too.")


def inner(params: SkillUseParams) -> dict[str, dict[str, Any]]:
    """Return the grader that scores."""
    return {"grader": params.grader}


async def grade_sample(sample: Sample, params: SkillUseParams, tools: Tools) -> Result:
    """Return the other grader's result with components of the episode, without what was played from its turns again.

    calls: attempted calls of skills; execution_precision: the share of them that completed, missing without one; it
    says whether calls are valid, not whether they are needed; steps: of the environment. Raises InvalidSpec without a
    conversation, and where a fact is no number.
    """
    if sample.conversation is None:
        raise InvalidSpec("found no conversation, expected the calls of a sample")
    trunk = _trunk(sample.conversation)
    [result] = await tools.graded([("grader", replace(sample, conversation=trunk))])
    if result.score is None:
        return result
    return replace(result, components={
        **result.components, **_figures(trunk), **{name: _fact(sample.item, name) for name in params.facts}})


def _fact(item: Item, name: str) -> float:
    value = item.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidSpec(f"item.{name}: found {value!r}, expected a number, because facts names it")
    return float(value)


def _trunk(whole: Conversation) -> Conversation:
    """Return the calls outside of forks, and their steps."""
    return whole.model_copy(update={
        "calls": [call for call in whole.calls if "." not in call.number],
        "steps": [step for step in whole.steps if "." not in step.call]})


def _figures(trunk: Conversation) -> dict[str, float]:
    statuses = [call.notes.get("status") for call in trunk.policy if "skill" in call.notes]
    figures = {"calls": float(len(statuses)), "steps": float(len(trunk.steps))}
    return {**figures, "execution_precision": statuses.count("completed") / len(statuses)} if statuses else figures


def components(params: SkillUseParams, of_inner: Mapping[str, Names]) -> Names:
    """Return its own, and those of the other grader."""
    return of_inner["grader"] | _FIGURES | frozenset(params.facts)


def bounds(params: SkillUseParams, of_inner: Mapping[str, Bounds]) -> Bounds:  # noqa: ARG001
    """Return those of the other grader."""
    return of_inner["grader"]


GRADER = Grader(SkillUseParams, grade_sample=grade_sample, reads=frozenset({Reads.CONVERSATION}), reads_output=False,
                bounds=bounds, inner=inner, components=components, turn_scores=all_names,
                step_scores=all_names)
