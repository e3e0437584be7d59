"""Ended samples put together into answers: one for a request when its last sample ends, parts for a streamed one."""

from dataclasses import dataclass

from services.inference.requests import Answer, Completion, Request


@dataclass(frozen=True)
class Ended:
    """A sample that will make no more tokens, with everything it made that was not told yet."""

    request: Request
    completion: Completion


class Answers:
    """Completions of requests that are not whole yet."""

    def __init__(self) -> None:
        self._whole: dict[Request, list[Completion]] = {}
        self._open: dict[Request, int] = {}

    def collect(self, ended: list[Ended]) -> list[Answer]:
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
