"""Lives: drawn ones keep all rules of acceptance, and broken ones are refused with the field."""

from dataclasses import replace

import pytest

from hone.remembering.generator import life
from hone.remembering.lives import Life, Sizes, faults
from hone.remembering.phrases import PHRASES, Manner, pairs
from hone.remembering.vocabulary import VARIABLES

BASE = Sizes()
SMALL = Sizes(variables=2, values=2, questions=1, required=1, periods=3, changes=1, options=2)


def drawn(seed: int = 0, sizes: Sizes = BASE, manner: Manner = "plain") -> Life:
    return life(sizes, seed, PHRASES[manner])


@pytest.mark.parametrize("sizes", [BASE, SMALL, Sizes(variables=20, values=4, questions=20, required=3, periods=20)])
def test_drawn_lives_keep_all_rules(sizes: Sizes) -> None:
    for seed in range(20):
        assert faults(drawn(seed, sizes), sizes) == []


def test_a_variable_changes_more_often_than_the_cap_only_where_too_few_others_are_left() -> None:
    for seed in range(40):
        counts = dict.fromkeys(drawn(seed).schema, 0)
        for period in drawn(seed).periods[1:]:
            free = [name for name, count in counts.items() if count < BASE.most_changes]
            above = [name for name in period.changes if name not in free]
            assert not above or len(free) < BASE.changes - 1
            counts = {name: count + (name in period.changes) for name, count in counts.items()}


def test_a_seed_says_all_of_a_life() -> None:
    assert drawn(3) == drawn(3)
    assert drawn(3) != drawn(4)
    english = drawn(3, manner="english")
    assert (english.schema, english.states) == (drawn(3).schema, drawn(3).states)


def test_openers_say_the_new_values_of_their_variables() -> None:
    one, english = drawn(5), drawn(5, manner="english")
    for period, state, sentences in zip(one.periods, one.states, english.periods, strict=True):
        for session, other in zip(period.sessions, sentences.sessions, strict=True):
            assert pairs(session.opener) == {name: state[name] for name in session.exposes}
            assert all(state[name] in other.opener for name in session.exposes)
            assert 1 <= len(session.exposes) <= 3


def test_sessions_are_on_the_last_evenings_of_their_period() -> None:
    first, second, *_ = drawn().periods
    assert first.sessions[-1].time.startswith("2026-03-31 ")
    assert second.sessions[-1].time.startswith("2026-06-30 ")
    assert all("19:00" <= session.time[11:] < "22:00" for session in first.sessions)
    days = [session.time[:10] for session in first.sessions]
    assert len({*days}) == len(days)


def test_every_state_that_occurs_is_an_option_and_one_is_right() -> None:
    one = drawn(1)
    for question in one.questions:
        for state in one.states:
            assert question.options[question.right(state)] == question.golden(state)
        assert len(question.options) >= BASE.options


def test_no_sentence_says_a_value_of_another_variable() -> None:
    values = {name: texts.split() for name, (texts, _) in VARIABLES.items()}
    everything = [value for own in values.values() for value in own]
    assert len({*everything}) == len(everything)


def test_a_broken_life_is_refused_with_the_field() -> None:
    one = drawn()
    first, second, *others = one.periods
    name = next(iter(second.changes))
    same = replace(second, changes={**second.changes, name: ("x", "x")})
    assert any(str(one).startswith(f"periods.1.changes.{name}: found 'x' to 'x'")
               for one in faults(replace(one, periods=(first, same, *others)), BASE))
    silent = replace(second, sessions=second.sessions[1:])
    assert any(str(one).startswith("periods.1.sessions: found")
               for one in faults(replace(one, periods=(first, silent, *others)), BASE))
    doubled = replace(one.questions[0], options=(*one.questions[0].options, one.questions[0].options[0]))
    assert any(str(one).startswith("questions.0.options")
               for one in faults(replace(one, questions=(doubled, *one.questions[1:])), BASE))
