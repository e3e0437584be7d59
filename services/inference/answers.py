"""From tokens to answers: stop texts end samples, and ended samples are collected into answers."""

from collections.abc import Sequence
from dataclasses import dataclass

from hone.text.model_text import ModelText
from services.inference.requests import Answer, Completion, Request


@dataclass(frozen=True)
class EndedSample:
    """A sample that has ended, with all tokens that its caller has not got yet."""

    request: Request
    completion: Completion


class AnswerCollector:
    """Collects the ended samples of requests: one answer for each request, or an answer for each sample if streamed."""

    def __init__(self) -> None:
        self._whole: dict[Request, list[Completion]] = {}
        self._open: dict[Request, int] = {}

    def collect(self, ended: list[EndedSample]) -> list[Answer]:
        """Add ended samples, and return the answers that are complete now."""
        answers = []
        for one in ended:
            self._open[one.request] = self._open.get(one.request, one.request.n) - 1
            self._whole.setdefault(one.request, []).append(one.completion)
            if one.request.streamed or not self._open[one.request]:
                answers.append(self._answer(one.request))
        return answers

    def refuse(self, request: Request, reason: str) -> Answer:
        """Forget a request's samples, and return its last answer, which has no completions but the reason."""
        self._whole.pop(request, None)
        self._open.pop(request, None)
        return Answer(request, [], True, reason)

    def _answer(self, request: Request) -> Answer:
        completions = sorted(self._whole.pop(request), key=lambda completion: completion.index)
        done = not self._open[request]
        if done:
            del self._open[request]
        return Answer(request, completions, done)


class TextStops:
    """Finds stop texts in completions, with a version's tokenizer."""

    def __init__(self, tokenizer: ModelText) -> None:
        self._tokenizer = tokenizer

    def tokens_kept(self, ids: Sequence[int], stops: Sequence[str], include_stop: bool) -> int | None:
        """Return how many of `ids` a stop text leaves; None without a stop text.

        They are those wholly before the earliest one; with `include_stop` those up to the first that completes one.
        """
        if not any(stop in self._tokenizer.tail(ids, window(stop)) for stop in stops):
            return None
        found = [self._text(ids).find(stop) for stop in stops]
        starts = [start for start in found if start >= 0]
        if not starts:
            return None
        kept = len(ids)
        while include_stop and any(stop in self._text(ids[:kept - 1]) for stop in stops):
            kept -= 1
        while not include_stop and kept and len(self._text(ids[:kept])) > min(starts):
            kept -= 1
        return kept

    def _text(self, ids: Sequence[int]) -> str:
        return self._tokenizer.decode(ids)


def window(stop: str) -> int:
    """Return how many last tokens certainly contain a stop text that ends with them: four bytes a character."""
    return 4 * len(stop) + 4


def undecided_tokens(stops: Sequence[str]) -> int:
    """Return how many last tokens may still turn out to belong to a stop text."""
    return max(map(window, stops), default=0)
