"""Dialogues whose user is a model: prepared words are checked, asked for again, and in the end mask the sample."""

import json
from typing import Any

from hone.environments.dialogues.episode import DialogueEpisode
from hone.environments.tasks import episode, make
from tests.support.rollout.episodes import TOKENIZER, Local, Script, played
from tests.support.rollout.groups import claim

DIALOGUE: dict[str, Any] = {
    "words": "model", "most_retries": 1, "orders": {"families": ["status"], "difficulties": [2]}}
DESK = claim(harness="dialogue", harness_params={"describe": False}, sampling={"max_tokens": 64})


def at_desk() -> tuple[Local, str, str]:
    """Return a dialogue at the order desk, its order's number, and the day that the user wants to know."""
    local = Local("dialogue", params=DIALOGUE)
    one = episode(make("dialogue", DIALOGUE, local.seed))
    assert isinstance(one, DialogueEpisode)
    _, look, said = one.solution()
    return local, json.loads(look)["arguments"]["order"], said


async def test_a_user_of_a_model_is_asked_again_where_it_contradicts_itself_and_leaves_when_it_has_its_answer() -> None:
    local, number, answer = at_desk()
    script = Script("The order number?", ["It is W1.", f"It is {number}.", answer, "Thank you. ###STOP###"],
                    before=local.restart)
    one = await played(local, script, DESK, positions=8192)
    assert [call.role for call in one.calls] == ["policy", "user", "user", "policy", "user"]
    assert [step.valid for step in one.steps] == [True, False, True, True, True]
    assert [any(call.train_mask) for call in one.calls] == [True, False, False, True, False]
    assert "That is refused: it says 'W1'" not in TOKENIZER.decode(one.calls[1].prompt_ids)
    assert "You wrote 'It is W1.'. That is refused" in TOKENIZER.decode(one.calls[2].prompt_ids)
    assert TOKENIZER.decode(one.calls[3].prompt_ids).endswith(f"The order number?<eos>It is {number}.\n")
    assert (one.ended, json.loads(one.item_json)["verified"]) == ("done", 1.0)


async def test_a_user_of_a_model_that_goes_on_contradicting_itself_masks_the_sample() -> None:
    local, *_ = at_desk()
    one = await played(local, Script("The order number?", ["", "Why?"]), DESK, positions=8192)
    assert one.ended == "refused"
    assert one.masked == "the user's model contradicted the user 2 times: it does not say the order, as it has to"
