"""Assistants that follow a rule reproduce the spec's table, and the identities that it names."""

from functools import cache
from statistics import fmean

import pytest

from benchmarks.methods.rule_memories import Rule, RuleAssistant
from hone.remembering.examination import Examined, examined, read_number
from hone.remembering.generator import life
from hone.remembering.lives import Life, Sizes
from hone.remembering.phrases import PHRASES
from hone.remembering.scores import MemoryReport, report
from hone.remembering.talks import Talk

SIZES, PLAIN, USERS = Sizes(), PHRASES["plain"], 60


@cache
def user(seed: int) -> Life:
    return life(SIZES, seed, PLAIN)


def lived(assistant: RuleAssistant, seed: int, upper: float | None = 0.9, recorded: Talk | None = None) -> Examined:
    return examined(assistant, user(seed), PLAIN, seed, SIZES.first_rounds, SIZES.rounds, upper, recorded)


def measured(rule: Rule) -> MemoryReport:
    return report([one for seed in range(USERS) for one in lived(RuleAssistant(rule, seed), seed).results])


@pytest.mark.parametrize(("rule", "accuracy", "write", "read", "utilization", "score"), [
    ("dictionary", 0.901, 0, 0, 0.099, 1.00), ("window", 0.664, 0.090, 0.211, 0.035, 0.65),
    ("forgetful", 0.617, 0.333, 0, 0.050, 0.58), ("stubborn", 0.246, 0.722, 0, 0.032, 0.04),
])
def test_the_table_of_the_spec(
    rule: Rule, accuracy: float, write: float, read: float, utilization: float, score: float
) -> None:
    found = measured(rule)
    assert found.random == pytest.approx(0.220, abs=0.01)
    for mine, expected in zip((found.accuracy, found.write, found.read, found.utilization, found.memory_score),
                              (accuracy, write, read, utilization, score), strict=True):
        assert mine == pytest.approx(expected, abs=0.03)
    assert found.accuracy + found.write + found.read + found.utilization == pytest.approx(1.0)


def test_an_exact_reader_with_a_whole_dictionary_has_a_memory_score_of_1() -> None:
    found = report(lived(RuleAssistant("dictionary", 0, uses=1.0), 0, upper=None).results)
    assert (found.memory_score, found.upper, found.accuracy, found.json_errors) == (1.0, 1.0, 1.0, 0)


def test_the_first_value_ever_heard_is_never_a_read_failure() -> None:
    one = lived(RuleAssistant("stubborn", 1, uses=1.0), 1)
    found = report(one.results)
    wrong = fmean(not right for period in one.results for right in period.right)
    assert (found.read, found.utilization) == (0, 0)
    assert found.write == pytest.approx(wrong)


def test_a_measured_upper_bound_is_the_readers_own() -> None:
    found = report([one for seed in range(12)
                    for one in lived(RuleAssistant("dictionary", seed, uses=0.6), seed, upper=None).results])
    assert 0.3 < found.upper < 1.0  # the reader gets the values beside what it remembers


def test_off_policy_a_talk_of_another_assistant_is_taken_over() -> None:
    first = lived(RuleAssistant("dictionary", 0), 2)
    again = lived(RuleAssistant("dictionary", 0), 2, recorded=first.talk)
    assert (again.results, again.snapshots) == (first.results, first.snapshots)


class Leaking(RuleAssistant):
    def answer(self, text: str) -> str:
        self._hear("asked=1")
        return super().answer(text)


def test_an_assistant_that_remembers_probes_is_refused() -> None:
    with pytest.raises(RuntimeError, match="period 0: probing changed the memory"):
        lived(Leaking("dictionary", 0), 0)


def test_a_saved_memory_leads_back() -> None:
    one, other = RuleAssistant("window", 0), RuleAssistant("window", 0)
    one.act("city=Rome pet=cat")
    other.load(one.save())
    assert other.save() == one.save()
    assert other.answer("city? 1:Oslo 2:Rome") == '{"answer": 2}'
    one.reset()
    assert one.answer("city? 1:Oslo 2:Rome") == '{"answer": 0}'


@pytest.mark.parametrize(("text", "number"), [
    ("2", 2), (" 2\n", 2), ('{"answer": 3}', 3), ('I say {"answer": 3}.', 3), ('{"answer": "3"}', None),
    ('{"a": 1, "b": 2}', None), ("true", None), ("two", None), ("", None), ("[1]", None), ('{"answer": true}', None),
])
def test_answers_are_json_with_an_integer(text: str, number: int | None) -> None:
    assert read_number(text) == number
