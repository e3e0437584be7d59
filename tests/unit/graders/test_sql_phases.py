"""The three rewards of an exploration, from its conversation and its last item."""

from typing import Any

import pytest

from hone.graders.contract import Result, Status
from hone.graders.judgement import judged_together
from hone.graders.sample import Conversation, Sample, Spoken, Taken
from hone.graders.specs import spec

PHASES = ["explore_schema", "propose_schema", "generate_sql", "confirm_answer"]
GOLD = {"tables": ["orders", "customers"], "columns": {"orders": ["amount"], "customers": ["name"]}}
WIDER = {"tables": ["Orders", "customers", "items"],
         "columns": {"Orders": ["id", "AMOUNT"], "customers": ["name"], "items": ["id"]}}
ITEM: dict[str, Any] = {"executed": 1.0, "done": PHASES, "schema": GOLD, "proposed": GOLD, "sql": "SELECT 1"}


def graded(item: dict[str, Any], notes: dict[str, Any] | None = None, valid: bool = True, **params: str) -> Result:
    conversation = Conversation(
        calls=[Spoken(number="0", text="", notes=notes or {})],
        steps=[Taken(call="0", action="", said=[{"role": "tool", "content": "syntax error\n"}], valid=valid)])
    grader = spec('{"type": "sql_phases"' + "".join(f', "{key}": "{value}"' for key, value in params.items()) + "}")
    [result] = judged_together(grader, [Sample(item, "", conversation=conversation)])
    return result


def test_a_right_result_with_an_exact_proposal_gets_everything() -> None:
    result = graded(ITEM)
    assert (result.score, result.components) == (1.0, {"exec": 1.0, "fmt": 0.1, "schema": 1.0})
    assert graded(ITEM, score="reward").score == pytest.approx(1.1)


@pytest.mark.parametrize(("change", "components"), [
    ({"executed": 0.2}, {"exec": 0.2, "fmt": 0.1, "schema": 1.0}),
    ({"executed": 0}, {"exec": 0, "fmt": 0.1, "schema": 1.0}),
    ({"done": PHASES[:3]}, {"exec": 1.0, "fmt": 0.0, "schema": 1.0}),
    ({"proposed": None}, {"exec": 1.0, "fmt": 0.1, "schema": 0.0}),
    ({"proposed": WIDER}, {"exec": 1.0, "fmt": 0.1, "schema": 0.0})])
def test_each_reward_is_a_component_of_its_own(change: dict[str, Any], components: dict[str, float]) -> None:
    assert graded({**ITEM, **change}).components == components


@pytest.mark.parametrize(("mode", "score"), [("f1", 0.72), ("recall_then_precision", 0.566667), ("exact", 0.0)])
def test_a_proposal_can_be_scored_in_parts(mode: str, score: float) -> None:
    assert graded({**ITEM, "proposed": WIDER}, proposal=mode).components["schema"] == pytest.approx(score, abs=1e-6)


def test_a_turn_that_broke_the_format_costs_its_reward_and_is_named() -> None:
    noted, invalid = graded(ITEM, {"malformed": "found 2 tags"}), graded(ITEM, valid=False)
    assert (noted.components["fmt"], noted.reasons) == (0.0, ("call 0: found 2 tags",))
    assert (invalid.components["fmt"], invalid.reasons) == (0.0, ("call 0: syntax error",))


def test_an_episode_of_another_environment_has_no_score() -> None:
    assert graded({"answer": "3"}).status is Status.INVALID_SPEC
