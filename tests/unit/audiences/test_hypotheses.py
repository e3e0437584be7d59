"""What a model adds to a fit: its answers are checked, asked for again a bounded number of times, and never trusted."""

import json
from collections.abc import Sequence

import pytest

from hone.audiences import hypotheses, wording, world, writing
from hone.audiences.decision_policies import DecisionPolicy, Predicate
from hone.audiences.hypotheses import ContrastedPairs
from hone.audiences.reasoning import Prompt

RANGES = {"user.loyalty": (0.0, 1.0), "merchant.category=tea": (0.0, 1.0)}
LOYAL = {"column": "user.loyalty", "comparison": ">", "bound": 0.5}
POLICY = DecisionPolicy(condition=(Predicate(**LOYAL), Predicate(
    column="merchant.category=tea", comparison=">", bound=0.5)), step="order", rate=0.411, base_rate=0.2449,
    support=1405, merchants=20, transferable=True)


class Scripted:
    """Says its texts one after the other."""

    def __init__(self, *texts: str) -> None:
        self.texts, self.asked = list(texts), list[Prompt]()

    async def write(self, prompts: Sequence[Prompt]) -> list[str]:
        self.asked += prompts
        return [self.texts.pop(0) for _ in prompts]


def test_pairs_are_alike_and_differ_in_the_outcome() -> None:
    behaviour = world.behaviour(0, "train", 8, (0.0, 0.25), world.Habits.of(0))
    [found] = hypotheses.contrasted(behaviour, 20, 0)
    assert (found.step, len(found.pairs)) == ("order", 20)
    outcome = {id(row): done for row, done in zip(behaviour.rows, behaviour.outcomes[:, 0], strict=True)}
    assert {(outcome[id(one)], outcome[id(other)]) for one, other in found.pairs} == {(1.0, 0.0)}
    assert len({id(one) for one, _ in found.pairs}) == 20
    alike = sum(one["merchant"]["category"] == other["merchant"]["category"] for one, other in found.pairs)
    assert alike == 20
    assert hypotheses.of_json(json.loads(json.dumps(found.as_json()))).messages == found.messages


def test_one_outcome_alone_has_no_pairs() -> None:
    behaviour = world.behaviour(0, "train", 2, (0.0, 0.25), world.Habits.of(0))
    behaviour.outcomes[:] = 1.0
    assert hypotheses.contrasted(behaviour, 20, 0) == []


@pytest.mark.parametrize(("given", "refusal"), [
    ([], "expected a list of 1 to 3 comparisons"), ([LOYAL] * 4, "expected a list of 1 to 3 comparisons"),
    ([{**LOYAL, "column": "user.mood"}], r"hypotheses\[0\]\[0\].column: found 'user.mood'"),
    ([{**LOYAL, "comparison": "="}], r"comparison: found '=', expected <= or >"),
    ([{**LOYAL, "bound": 1.0}], r"bound: found 1.0, expected a number of at least 0 and below 1"),
    ([{**LOYAL, "bound": True}], "bound: found True"), ([7], r"hypotheses\[0\]\[0\]: found 7, expected an object"),
])
def test_a_proposal_that_says_nothing_of_the_columns_is_refused(given: list[object], refusal: str) -> None:
    found = hypotheses.read(json.dumps({"hypotheses": [given, [{**LOYAL, "rate": 0.9}]]}), RANGES)
    assert found.conditions == ((Predicate(**LOYAL),),)
    [complaint] = found.refused
    with pytest.raises(AssertionError, match=refusal):
        raise AssertionError(complaint)


async def test_a_model_is_asked_three_times_at_most_and_reads_what_was_wrong() -> None:
    pairs = [ContrastedPairs("order", [], RANGES), ContrastedPairs("click", [], RANGES)]
    good = json.dumps({"hypotheses": [[LOYAL]]})
    writer = Scripted("no idea", good, '{"hypotheses": [[]]}', "still none")
    conditions, report = await writing.proposed(writer, pairs)
    assert conditions == [(Predicate(**LOYAL),)]
    assert report == {"asked": 4, "proposed": 1, "refused": 1,
                      "complaints": ["no JSON object with a list hypotheses"]}
    assert "cannot be used: no JSON object" in writer.asked[2].messages[-1]["content"]
    assert "cannot be used: hypotheses[0]: found []" in writer.asked[3].messages[-1]["content"]


@pytest.mark.parametrize("text", [
    "Loyal tea drinkers (loyalty above 0.5, category tea) order in 41.1% of cases, others in 24.5%.",
    "With loyalty over 0.5 at tea places, 41% order, against 24% of the others (1,405 exposures, 20 merchants).",
])
def test_a_sentence_that_says_what_its_record_says_is_taken(text: str) -> None:
    assert wording.read(text, POLICY) == (text, "")


@pytest.mark.parametrize(("text", "complaint"), [
    ("", "0 characters"), ("x" * 500, "500 characters"),
    ("With loyalty over 0.5, 41.1% order, others 24.5%.", "nothing of tea"),
    ("At tea places those with loyalty over 0.5 order: 62%, others 24.5%.", "the number 62"),
    ("At tea places those with loyalty over 0.5 order: 24.5%, others 41.1%.", "not the rates 41.1% and then 24.5%"),
    ("At tea places those with loyalty over 0.5 order often.", "not the rates"),
])
def test_a_sentence_that_says_something_else_is_not(text: str, complaint: str) -> None:
    said, wrong = wording.read(text, POLICY)
    assert said == ""
    assert complaint in wrong


async def test_a_policy_without_a_usable_sentence_keeps_that_of_its_record() -> None:
    right = "Loyalty above 0.5 at tea places: 41.1% order, against 24.5% of others."
    writer = Scripted(right, "99% order", "98% order", "97% order")
    made, report = await writing.worded(writer, [POLICY, POLICY])
    assert [one.text for one in made] == [right, POLICY.measured]
    assert (report["asked"], report["written"], report["refused"]) == (4, 1, 1)
