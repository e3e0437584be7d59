"""What messages ask, as one text."""

from typing import Any

from hone.text.conversation import PROMPT_CHARACTERS, prompt_text


def test_a_prompt_is_the_text_of_its_messages_and_of_a_long_one_the_end() -> None:
    parts: list[Any] = [{"type": "text", "text": "look:"}, {"type": "image_url", "image_url": {}}, "here\0"]
    said: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": parts},
            {"role": "assistant", "content": None, "tool_calls": []}]
    assert prompt_text(said) == "Be brief.\nlook:\nhere"
    long = prompt_text([{"role": "user", "content": "x" * 10 * 2**20 + "the question \ud800"}])
    assert (len(long), long[-14:]) == (PROMPT_CHARACTERS, "the question ?")
    assert prompt_text([]) == ""
