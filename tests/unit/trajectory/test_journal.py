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


def back(turn: Turn) -> Turn:
    return journal.decode(journal.encode({5: turn}))[5]


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
    assert back(Turn(call, [step])) == Turn(call, [step])


@given(LOGPS, LOGPS, st.lists(st.integers(0, 2**31 - 1), max_size=4), WORDS)
def test_contexts_and_scores_come_back_exactly(
    logp: list[float], top_logp: list[float], top_ids: list[int], word: str
) -> None:
    turn = Turn(replace(PLAIN, contexts=[Context(word, top_ids, "9f86"), Context("hint", [], word)], scored=[
        Scored("teacher", word, logp, top_ids, top_logp), Scored("reference", "ver_a", top_logp)]))
    assert back(turn) == turn


@given(WORDS, st.integers(0, 2**31 - 1), st.floats(min_value=0, allow_infinity=False))
def test_spans_and_an_entropy_come_back_exactly(name: str, end: int, weight: float) -> None:
    turn = Turn(replace(PLAIN, entropy=weight, spans=[Span(name, 0, end, weight), Span("query", 1, 1)]))
    assert back(turn) == turn


@pytest.mark.parametrize("lost", [["contexts", "scored"], ["scored"], ["spans"], ["engine", "kv_on_update", "role"]])
def test_a_call_journaled_before_records_had_all_their_fields_has_their_defaults(lost: list[str]) -> None:
    turn = Turn(replace(PLAIN, turn=3), [Step(3, 0, "act", [], "aa", "bb", True)])
    [(_, written)] = json.loads(journal.encode({3: turn}))
    kept = {name: value for name, value in written.items() if name not in lost}
    assert len(kept) == len(written) - len(lost)
    assert journal.decode(json.dumps([[3, kept]]).encode()) == {3: turn}


def test_a_step_journaled_before_turns_were_graded_was_given_nothing_by_rules() -> None:
    turn = Turn(PLAIN, [Step(3, 0, "act", [], "aa", "bb", True, reward=0.5)])
    [(_, written)] = json.loads(journal.encode({3: turn}))
    assert written["steps"][0].pop("rules") == {}
    assert journal.decode(json.dumps([[3, written]]).encode()) == {3: turn}


def test_log_probs_keep_every_bit_of_the_wire() -> None:
    logp = np.float32(-0.1).item()
    call = Call(0, [1], [2], [logp], "stop", [], "", [True])
    assert back(Turn(call)).call.logp_sample == [logp]


def test_what_was_finished_together_comes_back_together() -> None:
    turns = {index: Turn(replace(PLAIN, text=str(index))) for index in (2, 0, 7)}
    assert journal.decode(journal.encode(turns)) == turns


@pytest.mark.parametrize("body", [
    b"", b"\xff\xfe", b'{"index": 0}', b"[1]", b"3", b"[[0, {}]]", b'[["one", 2]]',
    b'[[0, {"logp_sample": "A", "train_mask": "", "versions": [], "steps": []}]]',
    b'[[0, {"logp_sample": "AAA=", "train_mask": "", "versions": []}]]',
    b'[[0, {"logp_sample": "", "train_mask": "", "versions": [], "strange": 1}]]',
    b'[[0, {"logp_sample": "", "train_mask": "", "versions": [], "scored": [{"name": "teacher"}], "steps": []}]]',
    b'[[0, {"logp_sample": "", "train_mask": "", "versions": [], "contexts": [{"source": ""}], "steps": []}]]',
])
def test_bytes_that_are_no_call_are_one_error_with_them(body: bytes) -> None:
    with pytest.raises(JournalError) as raised:
        journal.decode(body)
    assert raised.value.raw == body
