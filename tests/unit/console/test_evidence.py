"""Evidence of grades: long texts are folded, every text is escaped, and what is not known is shown as it is."""

from typing import Any

import pytest

from services.console.widgets import evidence

_HOSTILE = "<script>alert(1)</script>"


def _asked(content: Any, answered: Any = "yes") -> dict[str, Any]:
    return {"judge": "expert", "model": "m", "asked": [{"role": "user", "content": content}], "answered": answered}


@pytest.mark.parametrize("one", [
    _asked(_HOSTILE), _asked([{"type": "text", "text": _HOSTILE}]), _asked("?", _HOSTILE), _asked([_HOSTILE]),
    _asked([{"type": "image_url", "image_url": {"url": _HOSTILE}}]), {**_asked("?"), "judge": _HOSTILE},
    {**_asked("?"), "asked": [_HOSTILE]}, {"ran": _HOSTILE}, {"ran": "grade", "stderr": _HOSTILE},
    {"ran": "grade", "seen": [_HOSTILE]}, {"later": _HOSTILE}, _asked(_HOSTILE * 100)])
def test_no_text_becomes_a_part_of_the_page(one: dict[str, Any]) -> None:
    shown = evidence.entries([one])
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown


def test_long_texts_are_folded_with_their_length() -> None:
    short, long = (evidence.entries([_asked(text)]) for text in ("a" * 700, "a" * 701))
    assert (short.count("<details"), long.count("<details")) == (1, 2)
    assert "701 characters" in long


def test_two_entries_are_open_and_a_silent_program_says_so() -> None:
    shown = evidence.entries([{"ran": "grade", "wall_ms": 2.0}] * 3)
    assert (shown.count("<details open"), shown.count("<details")) == (2, 3)
    assert "ran for 2 ms" in shown
    assert "It printed nothing." in shown


def test_tokens_are_named_by_judge() -> None:
    assert evidence.tokens({"judge-1": 120, "own": 0}) == "120 tokens of judge-1, 0 tokens of own"


def test_what_a_judge_looked_at_stands_between_its_words() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "query", "arguments": '{"sql": "SELECT <b>"}'}}
    asked = [{"role": "assistant", "content": "", "tool_calls": [call, "odd"]},
             {"role": "tool", "tool_call_id": "1", "content": "evidence 1\n5"}]
    shown = str(evidence.entries([{"judge": "expert", "model": "m", "asked": asked, "answered": "{}"}]))
    assert "→ query({&#34;sql&#34;: &#34;SELECT &lt;b&gt;&#34;})\n&#34;odd&#34;" in shown
    assert "evidence 1\n5" in shown
