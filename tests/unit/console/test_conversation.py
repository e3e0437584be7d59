"""A played task as a person reads it."""

from typing import Any

from hone.client.play_resources import PlayState, PlayStep
from services.console.widgets import conversation

SEEN: dict[str, Any] = {"messages": [], "tools": [], "turns_left": 2, "next_index": 1, "item": {"answer": "<b>"},
                        "grader": {"type": "exact"}}


def test_what_is_said_is_shown_as_text_and_the_rest_of_a_step_in_words() -> None:
    given: list[dict[str, Any]] = [
        {"role": "tool", "content": "<script>1</script>\n"}, {"role": "user", "content": [1]}]
    said = conversation.messages(given)
    assert "&lt;script&gt;1&lt;/script&gt;</pre>" in said
    assert "<script>" not in said
    assert conversation.outcome(PlayStep(**SEEN, done=False, valid=True)) == ""
    noise = {"type": "error", "original": "42"}
    shown = conversation.outcome(PlayStep(**SEEN, done=True, ended="goal", valid=False, reward=0.5, injection=noise))
    for words in ("not understood", "noise: error", "without noise", "42", "reward 0.5", "ended: goal"):
        assert words in shown


def test_a_state_without_a_score_names_who_decides_and_one_that_is_large_its_size() -> None:
    own: dict[str, Any] = {"id": "ses_1", "environment": "sqlite", "next_index": 1, "done": False, "turns_left": 2,
                           "grader": {"type": "exact"}, "item": {"answer": "<b>"}, "state_hash": "h"}
    shown = conversation.state(PlayState(**own, state={"turn": 1}, state_bytes=9))
    assert "here exact" in shown
    assert "&lt;b&gt;" in shown
    shown = conversation.state(PlayState(**own, score=0.25, components={"goal": 1.0}, state_bytes=400_000))
    for words in ("0.25", "by the environment itself", "goal", "more than the gateway sends"):
        assert words in shown
