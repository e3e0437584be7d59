"""Profiles: which JSON is none, by the path of its field, and how phrases and forms are found."""

from typing import Any

import pytest

from hone.users.profile import Fact, WrongProfile, admits, found, profile
from tests.unit.users.callers import CALLER, caller


@pytest.mark.parametrize(("changes", "message"), [
    ({"goal": {"text": ""}}, "goal.text: found '', expected text of at least 1 character"),
    ({"goal": {"text": "a", "hears": ["a*b"]}}, "goal.hears.0: found 'a*b', expected phrases separated by |"),
    ({"goal": {"text": "a", "hears": ["a||b"]}}, "goal.hears.0: found 'a||b', expected phrases separated by |"),
    ({"knowledge": [{"name": "A", "value": "1"}]}, "knowledge.0.name: found 'A', expected "),
    ({"knowledge": [{"name": "a", "value": 1}]}, "knowledge.0.value: found 1, expected a valid string"),
    ({"knowledge": [{"name": "a", "value": "1", "reveal": "late"}]}, "knowledge.0.reveal: found 'late', expected "),
    ({"knowledge": 2 * [{"name": "a", "value": "1"}]}, "expected names of facts that differ"),
    ({"knowledge": [{"name": "a", "value": "1", "after": ["b"]}]}, "with `reveal: after` alone, at fact a"),
    ({"knowledge": [{"name": "a", "value": "1", "reveal": "after", "after": ["b"]}]}, "other facts in `after` of a"),
    ({"knowledge": [{"name": "a", "value": "1", "reveal": "after", "after": ["a"]}]}, "other facts in `after` of a"),
    ({"knowledge": [{"name": "a", "value": "1", "reveal": "after", "after": ["b"]},
                    {"name": "b", "value": "2", "reveal": "after", "after": ["a"]}]}, "as a, b, a do"),
    ({"knowledge": [{"name": "a", "value": " \n"}]}, "knowledge.0.value: found ' \\n', expected text with a character"),
    ({"goal": {"text": "\u3000"}}, "expected text with a character that is seen"),
    ({"knowledge": [{"name": "a", "value": "1", "reveal": "never"}, {"name": "c", "value": "3", "reveal": "after",
      "after": ["b"]}, {"name": "b", "value": "2", "reveal": "after", "after": ["a"]}]}, "in `after` of b, not a"),
    ({"knowledge": [{"name": f"a{place}", "value": "1"} for place in range(1001)]}, "at most 1000"),
    ({"knowledge": [{"name": "a", "value": "1", "asked": ["b"] * 21}]}, "knowledge.0.asked: found "),
    ({"turns": 0}, "turns: found 0, expected greater than or equal to 1"), ({"hang_up": 1.5}, "hang_up: found 1.5"),
    ({"lines": {"bye": ["a"]}}, "lines.bye.[key]: found 'bye'"), ({"tempo": 1}, "tempo: found 1"),
])
def test_a_wrong_field_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(WrongProfile) as refused:
        profile({**CALLER, **changes})
    assert message in str(refused.value)


@pytest.mark.parametrize(("phrases", "text", "is_in"), [
    ("cancel*", "It is CANCELLED.", True), ("cancel", "It is cancelled.", False), ("a b", "A\n B", True),
    ("no | not yet", "Not  yet", True), ("no", "nothing", False), ("34.50", "34.50 is paid", True),
    ("34.50", "134.50", False), ("-3.00", "the difference is -3.00.", True), ("取消", "已经取消了", True),
])
def test_phrases_are_found_as_whole_words(phrases: str, text: str, is_in: bool) -> None:
    assert found(phrases, text) == is_in


def test_a_form_finds_values_of_it_alone() -> None:
    fact = Fact(name="a", value="W1", form="AA-99")
    assert fact.of_form("xy-12, AB-34x, A-12 and cd-567") == ["xy-12"]


def test_a_fact_is_asked_for_by_its_name_unless_phrases_are_given() -> None:
    known = caller()
    assert known.fact("card_number").is_asked("Your Card number?")
    assert known.fact("card_number").is_asked("card_number")
    assert not known.fact("order").is_asked("Your order?")


def test_who_admits_to_be_a_machine_is_heard() -> None:
    assert admits("As I said, I'm a virtual assistant.")
    assert not admits("I am a person.")


@pytest.mark.parametrize(("phrases", "text", "expected"), [
    ("да", "Когда придёт заказ?", False), ("да", "Да, конечно", True), ("gef", "Er wurde geführt", False),
    ("geführ*", "Er wurde geführt", True), ("caf\u00e9", "ein Cafe\u0301, bitte", True), ("pay", "c'est payé", False),
    ("订单", "您的订单号", True), ("الطلب", "رقم الطلب؟", True), ("100%", "ok 100%!", True)])
def test_words_of_other_alphabets_are_whole_words(phrases: str, text: str, expected: bool) -> None:
    assert found(phrases, text) is expected


def test_a_thousand_facts_are_read_in_one_pass() -> None:
    chain = [{"name": "f0", "value": "v"}, *({"name": f"f{place}", "value": "v", "reveal": "after",
             "after": [f"f{place - 1}"]} for place in range(1, 1000))]
    assert len(profile({**CALLER, "knowledge": chain}).knowledge) == 1000
