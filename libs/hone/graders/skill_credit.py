"""Another grader, with the rewards of Skill1's stages as components `r_rank` and `r_dist`: arXiv 2605.06130."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field

from hone.graders.contract import Bounds, Grader, GraderParams, InvalidSpec, Names, Result, Tools, all_names
from hone.graders.sample import Conversation, Reads, Sample, Spoken

_SMALLEST_IDEAL = 1e-8
_COMPONENTS = frozenset({"r_rank", "r_dist"})


class SkillCreditParams(GraderParams):
    """The grader of the outcome, and what actions cost that the environment did not understand."""

    type: Literal["skill_credit"] = Field(description="Name of the grader.")
    grader: dict[str, Any] = Field({"type": "environment"}, description="JSON of the grader that gives the outcome, "
                                   "from 0 to 1.")
    penalty: float = Field(0.0, ge=0, le=10, description="Taken from the score, times the share of play calls with an "
                           "action that was not understood; Skill1 has 0.1 in ALFWorld and 0.5 in WebShop.")


def inner(params: SkillCreditParams) -> dict[str, dict[str, Any]]:
    """Return the grader of the outcome."""
    return {"grader": params.grader}


async def grade_sample(sample: Sample, params: SkillCreditParams, tools: Tools) -> Result:
    """Return R_util as the score, and the components of an episode of the harness `library`.

    The other grader sees the play alone. r_rank: NDCG of the order that the policy gave the retrieved skills, by their
    utilities. r_dist: outcome - the largest of them, and 0 where the distilled text cannot be read. Raises InvalidSpec
    for an episode of another harness, and for an outcome that is not in [0, 1].
    """
    if sample.conversation is None:
        raise InvalidSpec("found no conversation, expected the calls of a sample")
    noted = _notes(sample.conversation.policy)
    if "retrieved" not in noted:
        raise InvalidSpec("found no call that retrieved skills, expected an episode of the harness library")
    play = _play(sample.conversation)
    [result] = await tools.graded([("grader", replace(sample, conversation=play))])
    if result.score is None:
        return result
    if not 0 <= result.score <= 1:
        raise InvalidSpec(f"grader: found an outcome of {result.score:g}, expected a score from 0 to 1")
    utilities = [one["utility"] for one in noted["retrieved"]]
    readable = noted.get("distilled", True)
    credits = {"r_rank": ndcg(noted.get("order"), utilities),
               "r_dist": distillation_reward(result.score, utilities) if readable else 0.0}
    score = utilisation_reward(result.score, _invalid(play), len(play.policy), params.penalty)
    return replace(result, score=score, components={**result.components, **credits})


def _notes(calls: Sequence[Spoken]) -> dict[str, Any]:
    return {name: value for call in calls for name, value in call.notes.items()}


def _play(whole: Conversation) -> Conversation:
    return whole.model_copy(update={"calls": [call for call in whole.calls if call.kind == "play"]})


def _invalid(play: Conversation) -> int:
    return sum(any(not step.valid for step in play.after(call)) for call in play.policy)


def ndcg(order: Sequence[int] | None, utilities: Sequence[float]) -> float:
    """R_rank = DCG(order) / DCG(best order), DCG = sum_p U(order_p) / log2(p + 2), p from 0.

    0 if unparsable (None), with fewer than two candidates, or where the best order's DCG is below 1e-8.
    """
    ideal = _dcg(sorted(utilities, reverse=True))
    if order is None or len(utilities) < 2 or ideal < _SMALLEST_IDEAL:
        return 0.0
    return _dcg([utilities[place] for place in order]) / ideal


def distillation_reward(outcome: float, utilities: Sequence[float]) -> float:
    """R_dist = r - max U of the candidates; r where none was retrieved."""
    return outcome - max(utilities, default=0.0)


def utilisation_reward(outcome: float, invalid: int, plays: int, penalty: float) -> float:
    """R_util = r - penalty * share of play turns with an invalid action."""
    return outcome - penalty * invalid / max(1, plays)


def _dcg(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(place + 2) for place, gain in enumerate(gains))


def components(params: SkillCreditParams, of_inner: Mapping[str, Names]) -> Names:  # noqa: ARG001
    """Return its own, and those of the other grader."""
    return of_inner["grader"] | _COMPONENTS


def bounds(params: SkillCreditParams, of_inner: Mapping[str, Bounds]) -> Bounds:
    """Return those of the other grader, the lower one less the penalty."""
    low, high = of_inner["grader"]
    return low - params.penalty, high


GRADER = Grader(SkillCreditParams, grade_sample=grade_sample, reads=frozenset({Reads.CONVERSATION}), reads_output=False,
                bounds=bounds, inner=inner, components=components, turn_scores=all_names, step_scores=all_names)
