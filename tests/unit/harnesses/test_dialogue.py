"""The dialogue harness: tools are explained in the one system message, and what is no call is said to the user."""

from typing import Any

import pytest

from hone.environments.tasks import episode, make
from hone.harnesses.contract import first_prompt
from hone.harnesses.dialogue import Dialogue, DialogueParams
from hone.harnesses.seat import Act, Answer, Ask, Finished, Heard, Seat, Taken, advanced

HELLO = [{"role": "user", "content": "Yes, hello?\n"}]


def opening(seed: int = 0, describe: Any = True, **params: Any) -> list[dict[str, Any]]:
    seen = episode(make("dialogue", params, seed)).reset()
    return first_prompt(Dialogue(), DialogueParams(describe=describe), seen.messages, seen.tools or [])[0]


def test_tools_are_explained_behind_the_policy() -> None:
    system, user = opening()
    assert user["role"] == "user"
    assert system["content"].startswith("You work at the order desk")
    assert system["content"].endswith("An answer without a call is said to the user.")
    assert '"name": "cancel_order"' in system["content"]
    alone, _ = opening(show_policy=False)
    assert alone["content"].startswith("You may call tools.")


@pytest.mark.parametrize("describe", [False, "template"])
def test_tools_may_stay_unexplained(describe: Any) -> None:
    assert "call tools" not in opening(describe=describe)[0]["content"]


def test_without_tools_nothing_is_explained() -> None:
    assert opening(domain="sales", show_policy=False) == HELLO


def test_calls_go_to_the_tools_and_other_answers_to_the_user_until_it_leaves() -> None:
    answers = ['Let me see. <tool_call>{"name": "get_order", "arguments": {"order": "W1"}}</tool_call>',
               "<think>Hm.</think>Here you are.", "Goodbye."]
    play = Dialogue().play(Seat(HELLO, [], Heard(HELLO), ""), DialogueParams())
    effect, acted = advanced(play), list[str]()
    while not isinstance(effect, Finished):
        if isinstance(effect, Ask):
            effect = advanced(play, Answer(effect.number, answers[len(acted)]))
        else:
            assert isinstance(effect, Act)
            acted.append(effect.action)
            effect = advanced(play, Taken(Heard([{"role": "user", "content": "And?"}]), done=len(acted) == 3))
    assert acted == ['{"tool": "get_order", "arguments": {"order": "W1"}}', "Here you are.", "Goodbye."]
