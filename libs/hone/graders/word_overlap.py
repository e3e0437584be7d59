"""How far the words of a text are those of a reference: GLEU, METEOR and ROUGE, each from 0 to 1.

Words are runs of letters and digits in lower case, of any script; a Chinese, Japanese or Korean character is a word of
its own. For ASCII they are the words of the package rouge-score. Without a word on a side there is no overlap: 0.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Any

from rapidfuzz.distance import LCSseq

_ALONE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_ALONE}]|[^\W_{_ALONE}]+")
_LONGEST_GRAM = 4
_LONGEST_STEMMED = 60
_RECALL_WEIGHT, _PENALTY, _PENALTY_POWER = 0.9, 0.5, 3.0  # alpha, gamma and beta of METEOR


def words(text: str) -> list[str]:
    """Return the words of a text in order."""
    return _WORD.findall(text.lower())


def rouge_n(text: Sequence[str], reference: Sequence[str], size: int) -> float:
    """Return ROUGE-N's F1: the harmonic mean of precision and recall of n-grams (Lin, 2004)."""
    return _f1(_grams(text, [size]), _grams(reference, [size]))


def rouge_l(text: Sequence[str], reference: Sequence[str]) -> float:
    """Return ROUGE-L's F1: 2 LCS / (words of both), with the longest common subsequence of words (Lin, 2004)."""
    numbers: dict[str, int] = {}
    coded = [[numbers.setdefault(word, len(numbers)) for word in each] for each in (text, reference)]
    total = len(text) + len(reference)
    return 2 * LCSseq.similarity(*coded) / total if text and reference else 0.0


def gleu(text: Sequence[str], reference: Sequence[str]) -> float:
    """Return GLEU: the smaller of precision and recall of all n-grams of 1 to 4 words (Wu et al., 2016)."""
    sizes = range(1, _LONGEST_GRAM + 1)
    own, wanted = _grams(text, sizes), _grams(reference, sizes)
    most = max(own.total(), wanted.total())
    return (own & wanted).total() / most if most else 0.0


def meteor(text: Sequence[str], reference: Sequence[str]) -> float:
    """Return METEOR with exact words and stems (Banerjee and Lavie, 2005); synonyms are not matched.

    The score is F (1 - 0.5 (chunks / matches)^3), with F = P R / (0.9 P + 0.1 R). As in METEOR 1.5 there is no penalty
    where all words of both match in one chunk.
    """
    matched = dict(_aligned(text, reference))
    if not matched:
        return 0.0
    precision, recall = len(matched) / len(text), len(matched) / len(reference)
    mean = precision * recall / (_RECALL_WEIGHT * precision + (1 - _RECALL_WEIGHT) * recall)
    chunks = sum(matched.get(place - 1) != matched[place] - 1 for place in matched)
    if chunks == 1 and precision == recall == 1:
        return 1.0
    return float(mean * (1 - _PENALTY * (chunks / len(matched)) ** _PENALTY_POWER))


def _grams(of: Sequence[str], sizes: Iterable[int]) -> Counter[tuple[str, ...]]:
    return Counter(tuple(of[start:start + size]) for size in sizes for start in range(len(of) - size + 1))


def _f1(own: Counter[Any], wanted: Counter[Any]) -> float:
    total = own.total() + wanted.total()
    return 2 * (own & wanted).total() / total if total else 0.0


def _aligned(text: Sequence[str], reference: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the places of matching words: of equal words first, then of equal stems, each from the end."""
    rest, left = list(enumerate(text)), list(enumerate(reference))
    for form in (str, _stem):
        places = defaultdict[str, list[int]](list)
        for place, word in left:
            places[form(word)].append(place)
        found = {place: at.pop() for place, word in reversed(rest) if (at := places.get(form(word)))}
        yield from found.items()
        taken = set(found.values())
        rest = [(place, word) for place, word in rest if place not in found]
        left = [(place, word) for place, word in left if place not in taken]


@cache
def _stemmer() -> Any:
    import snowballstemmer  # it imports the stemmers of 30 languages

    return snowballstemmer.stemmer("porter")


@lru_cache(maxsize=2**16)
def _stem(word: str) -> str:
    return word if len(word) > _LONGEST_STEMMED else str(_stemmer().stemWord(word))
