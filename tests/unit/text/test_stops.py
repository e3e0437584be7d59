"""Where a stop text ends a completion."""

import pytest

from hone.text.stops import cut


@pytest.mark.parametrize(("text", "stops", "without", "with_stop"), [
    ("a=b=c", ["="], "a", "a="),
    ("a=b", ["b", "="], "a", "a="),
    ("a</answer> b", ["</answer>"], "a", "a</answer>"),
    ("one two", ["xyz"], "one two", "one two"),
    ("abcd", ["abcd", "bc"], "", "abc"),  # the text is complete with `bc`; the engine has seen no more
    ("", ["="], "", ""),
    ("a", [], "a", "a"),
])
def test_the_first_stop_text_ends_a_completion(text: str, stops: list[str], without: str, with_stop: str) -> None:
    assert (cut(text, stops), cut(text, stops, included=True)) == (without, with_stop)
