"""BLEU of one sentence (Papineni et al., 2002), with the words, the smoothing and the order of sacreBLEU.

The package itself cannot be imported where files may not be written, as in the processes that grade.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence

_ORDER = 4
_SPLITS = (
    (re.compile(r"([{-~\[-` -&(-+:-@/])"), r" \1 "), (re.compile(r"([^0-9])([.,])"), r"\1 \2 "),
    (re.compile(r"([.,])([^0-9])"), r" \1 \2"), (re.compile(r"([0-9])(-)"), r"\1 \2 "),
)
_ENTITIES = (("<skipped>", ""), ("-\n", ""), ("\n", " "), ("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))


def bleu(text: str, reference: str) -> float:
    """Return sentence BLEU, from 0 to 1: the geometric mean of the precisions of n-grams, with a brevity penalty.

    Only orders up to the text's length count (effective order). A precision without a match is halved once more each
    time (smoothing `exp`). Without any match it is 0.
    """
    own, wanted = _words(text), _words(reference)
    found = [_matches(own, wanted, size) for size in range(1, min(_ORDER, len(own)) + 1)]
    if not any(right for right, _ in found):
        return 0.0
    halved, logs = 1.0, list[float]()
    for right, total in found:
        halved *= 1.0 if right else 2.0
        logs.append(math.log(right / total if right else 1 / (halved * total)))
    return math.exp(min(0.0, 1 - len(wanted) / len(own)) + sum(logs) / len(logs))


def _matches(own: Sequence[str], wanted: Sequence[str], size: int) -> tuple[int, int]:
    """Return how many n-grams of the text are in the reference, each at most as often, and how many there are."""
    grams, known = (Counter(tuple(of[start:start + size]) for start in range(len(of) - size + 1))
                    for of in (own, wanted))
    return (grams & known).total(), grams.total()


def _words(text: str) -> list[str]:
    """Return the words by the rules of mteval-v13a."""
    text = text.rstrip()
    for entity, character in _ENTITIES:
        text = text.replace(entity, character)
    text = f" {text} "
    for pattern, apart in _SPLITS:
        text = pattern.sub(apart, text)
    return text.split()
