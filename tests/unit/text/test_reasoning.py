"""What a model said is its text without its reasoning."""

import pytest

from hone.text.reasoning import MARKS, Unfinished, opened, said


@pytest.mark.parametrize(("text", "answer"), [
    ("42", "42"),
    ("<think>41?</think>42", "42"),
    ("41?</think>42", "42"),  # the prompt opened the block
    ("<think>a</think>one <think>b</think>two", "one two"),
    ("a</think>one<think>b</think> two", "one two"),
    ("[THINK]41[/THINK]42", "42"),
    ("<think>[THINK] is a mark</think>42", "42"),
    ("<think>a<think>b</think>42", "42"),
])
def test_the_answer_is_the_text_outside_of_reasoning(text: str, answer: str) -> None:
    assert said(text) == answer


@pytest.mark.parametrize("text", ["<think>41", "<think>a</think>42 <think>no, 43", "[THINK]a</think>b"])
def test_reasoning_that_never_ends_gives_no_answer(text: str) -> None:
    with pytest.raises(Unfinished, match="never ends"):
        said(text)


@pytest.mark.parametrize("mark", MARKS)
def test_a_prompt_that_ends_in_a_mark_opens_a_block(mark: str) -> None:
    assert opened(f"Solve it.\n{mark}\n") == mark
    assert opened(f"Put your thoughts in {mark} {MARKS[mark]} tags.") == ""
