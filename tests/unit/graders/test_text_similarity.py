"""Similarity of texts: the numbers of nltk 3.10, rouge-score 0.1.2 and sacreBLEU 2.6, and sane ones for any text."""

from math import isfinite
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hone.graders.bleu import bleu
from hone.graders.contract import Result, Status
from hone.graders.judgement import judged
from hone.graders.right_answers import Ending, Standing
from hone.graders.right_answers import checked as reference
from hone.graders.specs import checked
from hone.graders.text_similarity import METRICS, Metric
from hone.graders.word_overlap import meteor, rouge_n, words
from hone.spec.problems import Invalid
from hone.text import sentence_encoder

CAT, ON = "the cat sat on the mat", "the cat is on the mat"
QUICK, LAZY = "The quick brown fox jumps over the lazy dog", "A quick brown dog jumps over the lazy fox"
FAST = [name for name in METRICS if name != "cosine"]


def graded(output: str, row: str, metric: str = "rouge_l", **params: Any) -> Result:
    spec = checked({"type": "text_similarity", "name": "near", "evaluation_metric": metric,
                    "input": "{{ sample.output_text }}", "reference": "{{ item.answer }}", **params})
    return judged(spec, {"answer": row}, output)


@pytest.mark.parametrize(("metric", "cat", "quick"), [
    ("fuzzy_match", 0.930233, 0.857143), ("bleu", 0.379918, 0.381417), ("gleu", 0.5, 0.5),
    ("meteor", 0.806667, 0.833333), ("rouge_1", 0.833333, 0.888889), ("rouge_2", 0.6, 0.5), ("rouge_3", 0.25, 0.285714),
    ("rouge_4", 0.0, 0.166667), ("rouge_5", 0.0, 0.0), ("rouge_l", 0.833333, 0.666667),
])
def test_known_values(metric: str, cat: float, quick: float) -> None:
    assert graded(CAT, ON, metric).score == pytest.approx(cat, abs=1e-6)
    assert graded(QUICK, LAZY, metric).score == pytest.approx(quick, abs=1e-6)


@pytest.mark.parametrize(("text", "row", "value"), [
    ("the cat", "the cat sat", 0.606531), ("It costs $4.50, or 3-5!", "It costs $4.5, or 3-5!", 0.658037),
    ("a &amp; b-\nc", "a & bc", 1.0), ("the the the", "the cat", 0.275161), ("cat", "cat.", 0.367879), ("", "x", 0.0),
    ("x y z w v", "x q z w v", 0.427287),
])
def test_bleu_has_sacrebleus_words_and_smoothing(text: str, row: str, value: float) -> None:
    assert bleu(text, row) == pytest.approx(value, abs=1e-6)


def test_every_metric_of_openai_is_there() -> None:
    assert set(get_args(Metric)) == METRICS.keys()
    assert (graded(CAT, CAT, pass_threshold=0.8).score, graded(CAT, CAT).decided_by) == (1.0, "rouge_l")


def test_meteor_matches_stems_and_counts_chunks() -> None:
    assert meteor(["running", "cats"], ["runs", "cat"]) == 1.0
    assert meteor(["cats", "running"], ["runs", "cat"]) == 0.5
    assert meteor(words("the cat sat here"), words("the cat sat")) == pytest.approx(0.949821, abs=1e-6)


def test_words_of_any_script() -> None:
    assert words("It's 4,5 – Straße, 日本語 текст!") == ["it", "s", "4", "5", "straße", "日", "本", "語", "текст"]
    assert graded("日本語の文", "日本語の本", "rouge_2").score == 0.75
    assert graded("!!!", "?").score == graded("!!!", "...", "bleu").score == 0.0


@pytest.mark.parametrize("metric", FAST)
def test_long_texts_are_read_in_time(metric: str) -> None:
    for text, row in (("a b " * 50_000, "b a c " * 33_000), ("x" * 200_000, "y" * 199_000)):
        score = graded(text, row, metric).score
        assert score is not None
        assert 0 <= score < 1


@settings(max_examples=60, deadline=None, database=None)
@given(st.text(max_size=40), st.text(max_size=40) | st.text("ab ", max_size=20))
def test_any_texts_have_a_similarity_and_equal_ones_are_equal(one: str, other: str) -> None:
    for name in FAST:
        score = METRICS[name](one, other)
        assert isfinite(score)
        assert -1e-9 <= score <= 1 + 1e-9
        assert METRICS[name](CAT + one, CAT + one) == pytest.approx(1)
    assert rouge_n(words(one), words(other), 1) == rouge_n(words(other), words(one), 1)


@pytest.mark.skipif(sentence_encoder.installed() is None, reason="the encoder is an extra")
def test_cosine_knows_meanings() -> None:
    near, far = (graded("A man rides a horse.", row, "cosine").score or 0 for row in (
        "Someone is riding a pony.", "Interest rates fell in March."))
    assert near > 0.6
    assert far < 0.3
    assert graded("word " * 40_000, "word " * 30_000, "cosine").score == pytest.approx(1, abs=1e-5)
    assert METRICS["cosine"]("", "word") == 0.0


def test_cosine_without_the_encoder_masks_the_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentence_encoder, "installed", lambda: None)
    from hone.graders import text_similarity

    text_similarity._encoder.cache_clear()
    result = graded("a", "b", "cosine")
    assert (result.status, result.reasons[0].split(",")[0]) == (
        Status.INVALID_SPEC, "other_error: metric cosine needs a sentence encoder")


@pytest.mark.parametrize("metric", [*METRICS])
def test_a_rows_reference_is_right_by_every_metric(metric: str) -> None:
    for read, standing in (("{{ sample.output_text }}", Standing.RIGHT), ("{{ sample.output_json.a }}", Standing.RIGHT),
                           ("- {{ sample.output_text }}", Standing.UNKNOWN)):
        spec = {"type": "text_similarity", "evaluation_metric": metric, "input": read, "reference": "{{ item.a }}"}
        assert reference(checked(spec), {"a": "Paris"}, Ending()).standing is standing


@pytest.mark.parametrize(("params", "field"), [
    ({"metric": "rouge_6"}, "evaluation_metric"), ({"pass_threshold": 2.0}, "pass_threshold")])
def test_what_is_wrong_is_named(params: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid, match=f"^{field}: "):
        graded("a", "a", **params)
