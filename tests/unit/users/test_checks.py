"""A model's words against the user's state: planted contradictions of every kind are found, faithful words pass."""

from dataclasses import replace

import pytest

from hone.text.keywords import says
from hone.users.checks import fault
from hone.users.reactions import Cue, UserState, begun, hear
from tests.unit.users.callers import caller


def at(*texts: str) -> tuple[UserState, Cue]:
    state, cue = begun(caller()), Cue()
    for text in texts:
        state, cue = hear(caller(), state, text, 0)
    return state, cue


ASKED, TALKED, DONE = at("Which order?"), at("Well, tell me."), at("Cancelled. The refund is on its way.")
FAITHFUL = [
    (ASKED, "It is w1234, please."), (ASKED, "I am Ada Berg, order W1234."), (TALKED, "I want to cancel my order."),
    (TALKED, "Can you cancel it for Ada Berg?"), (DONE, "Thanks, that is all. ###STOP###"), (DONE, "###STOP### Bye"),
    (at("Is it W9999?"), "No, not W9999."), (at("Your reason?"), "It comes too late."),
    (at("Your card number?"), "I do not want to say that."),
]
PLANTED = [
    ("empty", ASKED, "  "), ("empty", DONE, " ###STOP### "),
    ("agent", ASKED, "Agent: W1234"), ("agent", TALKED, "How can I help you?"),
    ("agent", TALKED, "<tool_call>{}</tool_call>"), ("agent", TALKED, "I am your assistant."),
    ("reveals", TALKED, "The order is W1234."), ("reveals", ASKED, "W1234, and mail me at ada@mail.org"),
    ("reveals", at("Your card number?"), "Well, 4417."), ("reveals", TALKED, "It came too  late."),
    ("contradicts", ASKED, "It is W1234, no, W1235."), ("contradicts", at("Your reason?"), "Too late and too dear."),
    ("contradicts", TALKED, "The order W7777."), ("contradicts", at("Your card number?"), "1111"),
    ("withholds", ASKED, "I do not know."),
    ("claims", TALKED, "Great, my problem is solved."), ("claims", TALKED, "That's all."),
    ("claims", TALKED, "I have what I need."), ("early", TALKED, "Goodbye. ###STOP###"),
    ("early", ASKED, "It is W1234 ###STOP###"), ("late", DONE, "And now?"),
]


@pytest.mark.parametrize(("heard", "words"), FAITHFUL)
def test_faithful_words_pass(heard: tuple[UserState, Cue], words: str) -> None:
    assert fault(caller(), *heard, words) is None


@pytest.mark.parametrize(("kind", "heard", "words"), PLANTED)
def test_a_contradiction_is_found(kind: str, heard: tuple[UserState, Cue], words: str) -> None:
    wrong = fault(caller(), *heard, words)
    assert wrong is not None
    assert wrong.kind == kind
    assert wrong.reason


def test_who_leaves_without_the_goal_does_not_claim_it() -> None:
    state, cue = at("Well.")
    left = replace(cue, ends="hang_up")
    assert fault(caller(), state, left, "I have to go. ###STOP###") is None
    wrong = fault(caller(), state, left, "That is all, thanks. ###STOP###")
    assert wrong is not None
    assert wrong.kind == "claims"


def test_values_are_whole_words() -> None:
    assert says("order W1234.", "w1234")
    assert not says("order W12345", "W1234")
    assert not says("Которые?", "кот")
    assert says("Ich bin Jose\u0301.", "jos\u00e9")
    assert says("我是李雷。", "李雷")
