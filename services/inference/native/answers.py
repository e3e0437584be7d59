"""Ended sequences put together into answers: one for a request when its last sample ends, deltas for a streamed one."""

from services.inference.native.requests import Answer, Completion, Request
from services.inference.native.slots import Ended, SlotTable
from services.inference.native.stopping import window


class Answers:
    """Completions of requests that are not whole yet."""

    def __init__(self) -> None:
        self._whole: dict[Request, list[Completion]] = {}
        self._open: dict[Request, int] = {}

    def collect(self, ended: list[Ended], table: SlotTable) -> list[Answer]:
        """Take ended sequences in and return what callers can be told now."""
        answers = self._deltas(table)
        for one in ended:
            request = one.sequence.request
            self._open[request] = self._open.get(request, request.n) - 1
            self._whole.setdefault(request, []).append(one.completion)
            if request.streamed or not self._open[request]:
                answers.append(self._answer(request))
        return answers

    def _answer(self, request: Request) -> Answer:
        completions = sorted(self._whole.pop(request), key=lambda completion: completion.index)
        done = not self._open[request]
        if done:
            del self._open[request]
        return Answer(request, completions, done)

    def _deltas(self, table: SlotTable) -> list[Answer]:
        """Report new tokens of streamed sequences, holding back those that a stop text may still take away."""
        answers = []
        for slot in table.running[table.watched[table.running]].tolist():
            sequence = table.sequence(slot)
            held = max((window(stop) for stop in sequence.request.sampling.stop), default=0)
            sure = int(table.length[slot] - table.prompt[slot]) - held
            if sequence.request.streamed and sure > sequence.reported:
                delta = table.completion(slot, None, sequence.reported, sure)
                sequence.reported = sure
                answers.append(Answer(sequence.request, [delta], False))
        return answers
