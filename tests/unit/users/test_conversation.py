"""Conversations: scripted words by seed, a model's words with what it is asked, and states that can be kept."""

import json

import pytest

from hone.users import script
from hone.users.conversation import Conversation, Unfaithful
from hone.users.prompts import GREETING
from hone.users.reactions import UserGone
from tests.unit.users.callers import caller


def test_a_scripted_user_says_what_it_is_asked_and_leaves() -> None:
    user = Conversation(caller(), seed=3)
    assert user.opening == "I want to cancel my order. I am Ada Berg."
    assert user.hear("Which order?").words == "W1234"
    assert user.hear("Your card number?").words in script.LINES["refuses"]
    last = user.hear("It is cancelled, and refunded.")
    assert (last.words in script.LINES["goal"], last.ended, user.ended) == (True, "goal", "goal")
    with pytest.raises(UserGone):
        user.hear("Hello?")


def test_equal_seeds_say_the_same_and_others_do_not() -> None:
    def said(seed: int) -> list[str]:
        user = Conversation(caller(), seed)
        return [user.hear(text).words for text in ("Well.", "So?", "I am sorry.", "I am a bot.")]

    assert said(1) == said(1)
    assert len({tuple(said(seed)) for seed in range(20)}) > 5


def test_what_is_taken_back_was_said_for_the_first_time() -> None:
    user = Conversation(caller(), seed=3)
    user.hear("Which order?")
    before = user.user.revealed
    user.hear("Which order, please?")
    user.take_back()
    assert user.user.revealed == before, "it was said before the answer that was not understood"
    fresh = Conversation(caller(), seed=3)
    none = fresh.user.revealed
    fresh.hear("Which order?")
    fresh.take_back()
    assert fresh.user.revealed == none


def test_lines_of_a_profile_replace_the_english_ones() -> None:
    user = Conversation(caller(lines={"nothing": ["Hein? {goal}"]}, goal={"text": "Annulez."}), 0)
    assert user.hear("Well.").words == "Hein? Annulez."


def test_a_model_is_asked_with_what_it_may_say_and_without_what_it_may_not() -> None:
    user = Conversation(caller(), 0, "model", guidelines=["Ramble."])
    reply = user.hear("Which order?")
    assert reply.prompt is not None
    system, *talk = reply.prompt
    assert [message["role"] for message in talk] == ["user", "assistant", "user"]
    assert talk[-1]["content"] == "Which order?"
    for part in ("Ramble.", "You are in a hurry.", "- order: W1234", "Say your order: W1234.", "Do not say"):
        assert part in system["content"]
    for hidden in ("4417", "ada@mail.org", "too late"):
        assert hidden not in system["content"]


def test_words_that_contradict_are_asked_for_again_with_the_reason() -> None:
    user = Conversation(caller(), 0, "model", most_retries=2)
    user.hear("Which order?")
    again = user.answer("It is W9999.")
    assert again.prompt is not None
    assert "You wrote 'It is W9999.'. That is refused: it says 'W9999' for the order" in again.prompt[0]["content"]
    assert user.answer("W1234.").words == "W1234."
    assert user.cue is None
    reply = user.hear("Hm.")
    assert reply.prompt is not None
    assert "refused" not in reply.prompt[0]["content"]


def test_a_model_that_goes_on_contradicting_is_given_up() -> None:
    user = Conversation(caller(), 0, "model", most_retries=1)
    user.hear("Which order?")
    user.answer("")
    with pytest.raises(Unfaithful, match="contradicted the user 2 times: it does not say the order, as it has to"):
        user.answer("No.")


def test_the_stop_text_is_not_among_the_words() -> None:
    user = Conversation(caller(), 0, "model")
    user.hear("Cancelled, refunded.")
    assert user.ended == ""
    last = user.answer("Thanks! ###STOP###")
    assert (last.words, last.ended, user.ended) == ("Thanks!", "goal", "goal")


@pytest.mark.parametrize("speech", ["scripted", "model"])
def test_a_snapshot_leads_back_and_a_fork_goes_its_own_way(speech: str) -> None:
    user = Conversation(caller(), 5, speech)  # type: ignore[arg-type]
    user.hear("Which order?")
    if speech == "model":
        user.answer("Nothing.")
    kept, fork = json.loads(json.dumps(user.snapshot())), user.fork()
    (user.hear if speech == "scripted" else user.answer)("W1234")
    assert user.snapshot() != kept
    assert fork.snapshot() == kept
    (fork.hear if speech == "scripted" else fork.answer)("W1234")
    assert fork.snapshot() == user.snapshot()
    user.restore(kept)
    assert json.loads(json.dumps(user.snapshot())) == kept


def test_turns_are_taken_in_turn() -> None:
    user = Conversation(caller(), 0, "model")
    with pytest.raises(ValueError, match="expected a text of the agent"):
        user.answer("Hello.")
    user.hear("Which order?")
    with pytest.raises(ValueError, match="expected the words of the user"):
        user.hear("Well?")


def test_the_first_words_of_a_model_are_checked_as_others_are() -> None:
    user = Conversation(caller(), 0, "model", most_retries=1, opening="model")
    assert user.opening == "I want to cancel my order. I am Ada Berg.", "as a script has it"
    assert user.asked is not None
    system, greeting = user.asked
    assert "Begin: say in your own words: I want to cancel my order." in system["content"]
    assert "Say your name: Ada Berg." in system["content"]
    assert "W1234" not in system["content"]
    assert greeting == {"role": "user", "content": GREETING}
    again = user.answer("Hello, it is about an order.")
    assert again.prompt is not None
    assert "it does not say the name" in again.prompt[0]["content"]
    assert user.refused == (("Hello, it is about an order.", "it does not say the name, as it has to"),)
    other = user.fork()
    other.restore(user.snapshot())
    with pytest.raises(Unfaithful, match="it says the order, which you may not say"):
        other.answer("Ada Berg here, cancel W1234.")
    said = user.answer("Hi, Ada Berg speaking. I do not want my order any more.")
    assert user.opening == said.words == "Hi, Ada Berg speaking. I do not want my order any more."
    prompt = user.hear("Which order?").prompt
    assert prompt is not None
    assert [one["content"] for one in prompt[1:]] == [GREETING, said.words, "Which order?"]
