"""Stop texts: where a completion's text first holds one, and how many tokens lie wholly before it."""

from collections.abc import Sequence

from hone.trajectory.tokens import Tokenizer


class TextStops:
    """Looks for stop texts in completions, with the tokenizer of a version's files."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def tokens_before(self, ids: Sequence[int], stops: Sequence[str]) -> int | None:
        """Return how many of `ids` lie wholly before the earliest stop text, None when there is none."""
        if not any(stop in self._text(ids[-window(stop):]) for stop in stops):
            return None
        found = [self._text(ids).find(stop) for stop in stops]
        starts = [start for start in found if start >= 0]
        if not starts:
            return None
        kept = len(ids)
        while kept and len(self._text(ids[:kept])) > min(starts):
            kept -= 1
        return kept

    def _text(self, ids: Sequence[int]) -> str:
        return self._tokenizer.decode(ids)


def window(stop: str) -> int:
    """Return how many last tokens surely hold a stop text that has just been completed: four bytes a character."""
    return 4 * len(stop) + 4


def held_back(stops: Sequence[str]) -> int:
    """Return how many last tokens a stop text may still take away."""
    return max(map(window, stops), default=0)
