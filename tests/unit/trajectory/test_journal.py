"""Journaled calls come back exactly, or as one error."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hone.trajectory import journal
from hone.trajectory.journal import JournalError
from hone.trajectory.records import Call, Context, Scored, Span, Step, Turn, VersionSpan

WORDS = st.text(max_size=20)
LOGP = st.floats(width=32, allow_nan=False)
LOGPS = st.lists(LOGP, max_size=4)
PLAIN = Call(0, [1], [2], [-0.5], "stop", [], "", [True])


@given(st.lists(st.tuples(st.integers(0, 2**31 - 1), LOGP, st.booleans()), max_size=20), WORDS, WORDS)
def test_a_call_comes_back_exactly(tokens: list[tuple[int, float, bool]], text: str, engine: str) -> None:
    call = Call(
        index=1, prompt_ids=[3, 1, 2], completion_ids=[token for token, _, _ in tokens],
        logp_sample=[logp for _, logp, _ in tokens], finish_reason="length",
        versions=[VersionSpan("ver_a", 2), VersionSpan("ver_b", len(tokens))], text=text,
        train_mask=[trained for _, _, trained in tokens], turn=1, sampling={"max_tokens": 4, "stop": ["\n"]},
        engine=engine)
    step = Step(3, 0, text, [{"role": "tool", "content": text}], "aa", "bb", True, None, 0.1, [text], None,
                {text: -0.1})
    assert journal.decode(journal.encode(Turn(call, [step]))) == Turn(call, [step])


@given(LOGPS, LOGPS, st.lists(st.integers(0, 2**31 - 1), max_size=4), WORDS)
def test_contexts_and_scores_come_back_exactly(
    logp: list[float], top_logp: list[float], top_ids: list[int], word: str
) -> None:
    turn = Turn(replace(PLAIN, contexts=[Context(word, top_ids, "9f86"), Context("hint", [], word)], scored=[
        Scored("teacher", word, logp, top_ids, top_logp), Scored("reference", "ver_a", top_logp)]))
    assert journal.decode(journal.encode(turn)) == turn


@given(WORDS, st.integers(0, 2**31 - 1), st.floats(min_value=0, allow_infinity=False))
def test_spans_come_back_exactly(name: str, end: int, weight: float) -> None:
    turn = Turn(replace(PLAIN, spans=[Span(name, 0, end, weight), Span("query", 1, 1)]))
    assert journal.decode(journal.encode(turn)) == turn


@pytest.mark.parametrize("lost", [["contexts", "scored"], ["scored"], ["spans"], ["engine", "kv_on_update", "role"]])
def test_a_call_journaled_before_records_had_all_their_fields_has_their_defaults(lost: list[str]) -> None:
    turn = Turn(replace(PLAIN, turn=3), [Step(3, 0, "act", [], "aa", "bb", True)])
    written = json.loads(journal.encode(turn))
    kept = {name: value for name, value in written.items() if name not in lost}
    assert len(kept) == len(written) - len(lost)
    assert journal.decode(json.dumps(kept).encode()) == turn


def test_a_step_journaled_before_turns_were_graded_was_given_nothing_by_rules() -> None:
    turn = Turn(PLAIN, [Step(3, 0, "act", [], "aa", "bb", True, reward=0.5)])
    written = json.loads(journal.encode(turn))
    assert written["steps"][0].pop("rules") == {}
    assert journal.decode(json.dumps(written).encode()) == turn


def test_log_probs_keep_every_bit_of_the_wire() -> None:
    logp = np.float32(-0.1).item()
    call = Call(0, [1], [2], [logp], "stop", [], "", [True])
    assert journal.decode(journal.encode(Turn(call))).call.logp_sample == [logp]
    assert isinstance(json.loads(journal.encode(Turn(call))), dict)


@pytest.mark.parametrize("body", [
    b"", b"\xff\xfe", b"[]", b"{}", b'{"logp_sample": "A", "train_mask": "", "versions": [], "steps": []}',
    b'{"logp_sample": "AAA=", "train_mask": "", "versions": []}',
    b'{"logp_sample": "", "train_mask": "", "versions": [], "strange": 1}',
    b'{"logp_sample": "", "train_mask": "", "versions": [], "scored": [{"name": "teacher"}], "steps": []}',
    b'{"logp_sample": "", "train_mask": "", "versions": [], "contexts": [{"source": ""}], "steps": []}',
])
def test_bytes_that_are_no_call_are_one_error_with_them(body: bytes) -> None:
    with pytest.raises(JournalError) as raised:
        journal.decode(body)
    assert raised.value.raw == body
