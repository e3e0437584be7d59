"""Ended samples put together into answers: one for a request when its last sample ends, parts for a streamed one."""

from collections.abc import Sequence
from dataclasses import dataclass

from hone.trajectory.tokens import Tokenizer
from services.inference.requests import Answer, Completion, Request


@dataclass(frozen=True)
class EndedSample:
    """A sample that will make no more tokens, with everything it made that was not told yet."""

    request: Request
    completion: Completion


class AnswerCollector:
    """Completions of requests that are not whole yet."""

    def __init__(self) -> None:
        self._whole: dict[Request, list[Completion]] = {}
        self._open: dict[Request, int] = {}

    def collect(self, ended: list[EndedSample]) -> list[Answer]:
        """Take ended samples in and return what callers can be told now."""
        answers = []
        for one in ended:
            self._open[one.request] = self._open.get(one.request, one.request.n) - 1
            self._whole.setdefault(one.request, []).append(one.completion)
            if one.request.streamed or not self._open[one.request]:
                answers.append(self._answer(one.request))
        return answers

    def refuse(self, request: Request, reason: str) -> Answer:
        """Forget what a request has made, and return the answer that it will have no other."""
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
