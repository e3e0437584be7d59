"""The sequences in slots, as numpy columns over slots, and the queue of samples that wait for a slot."""

from collections import deque
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from services.inference import noise
from services.inference.answers import EndedSample, undecided_tokens
from services.inference.grammars import Walk
from services.inference.native.sampler import DrawSettings
from services.inference.requests import Answer, Completion, FinishReason, KvOnUpdate, Likeliest, Request
from services.inference.shares import from_outside

Slots = NDArray[np.int64]
_NO_STOP = -1
_ID_BITS = 32
"""Most bits of a token id."""


@dataclass(eq=False)
class NativeSequence:
    """A sample in a slot. `spans` are (version id, completion tokens that were made before this version took over)."""

    request: Request
    index: int
    spans: list[tuple[str, int]]
    reported: int = 0  # completion tokens that a streaming caller has already got
    likeliest: list[Likeliest] = field(default_factory=list)  # at each completion token, if they are asked for
    walk: Walk | None = None  # through the grammar of its request


class SlotTable:
    """Columns with one entry for each slot. Free slots hold harmless values, so that every row can be computed."""

    def __init__(self, slots: int, positions: int) -> None:
        self.sequences: list[NativeSequence | None] = [None] * slots
        self.active = np.zeros(slots, bool)
        self.ids = np.zeros((slots, positions), np.int64)  # prompt and completion
        self.logp = np.zeros((slots, positions), np.float32)  # of the completion's ids, at their positions
        self.length = np.ones(slots, np.int64)  # of `ids`; the last id is not cached yet
        self.prompt = np.zeros(slots, np.int64)
        self.limit = np.full(slots, positions, np.int64)  # length at which max_tokens is reached
        self.keys = np.zeros(slots, np.uint64)
        self.temperature = np.ones(slots, np.float32)
        self.top_p = np.ones(slots, np.float32)
        self.top_k = np.zeros(slots, np.int64)
        self.stops = np.full((slots, 1), _NO_STOP, np.int64)
        self.watched = np.zeros(slots, bool)  # has stop texts or a streaming caller
        self.guest = np.zeros(slots, bool)  # its request comes from outside of runs
        self.changed = np.zeros(slots, bool)  # its logits are changed before a token is drawn
        self.guided = np.zeros(slots, bool)  # by a grammar
        self.shown = np.zeros(slots, np.int64)  # how many of the likeliest ids its caller is shown
        self.stale = np.zeros(slots, bool)  # its cached keys and values must be computed again with the new weights
        self.leader = np.arange(slots)  # the lowest slot among the request's samples with equal ids so far

    @property
    def free(self) -> Slots:
        """Slots without a sequence, lowest first."""
        return np.flatnonzero(~self.active)

    @property
    def guests(self) -> int:
        """Number of sequences from outside of runs."""
        return int(self.guest.sum())

    @property
    def running(self) -> Slots:
        """Slots with a sequence, lowest first."""
        return np.flatnonzero(self.active)

    @property
    def leading(self) -> Slots:
        """Running slots that are their own leaders. The other running slots have the same ids as one of them."""
        found: Slots = np.flatnonzero(self.active & (self.leader == np.arange(len(self.leader))))
        return found

    def occupy(self, slots: Slots, request: Request, first: int, version_id: str) -> None:
        """Put samples `first`, `first`+1, … of a request into free `slots`. The first slot leads; nothing is cached."""
        indexes = np.arange(first, first + len(slots))
        for slot, index in zip(slots.tolist(), indexes.tolist(), strict=True):
            self.sequences[slot] = NativeSequence(request, index, [(version_id, 0)], walk=_walk(request))
        length, sampling = len(request.prompt_ids), request.sampling
        self.active[slots] = True
        self.ids[slots, :length] = request.prompt_ids
        self.length[slots] = self.prompt[slots] = length
        self.limit[slots] = length + sampling.max_tokens
        self.keys[slots] = noise.keys(request.noise.seed, request.noise.request, request.noise.call, indexes)
        self.temperature[slots], self.top_p[slots] = sampling.temperature, sampling.top_p
        self.top_k[slots] = sampling.top_k
        self.watched[slots] = bool(sampling.stop) or request.streamed
        self.guest[slots] = from_outside(request)
        self.guided[slots] = request.guide is not None
        self.changed[slots] = sampling.biased or request.guide is not None
        self.shown[slots] = sampling.top_logprobs
        self.leader[slots] = slots[0]
        self._set_stops(slots, sampling.stop_ids)

    def settings(self, slots: Slots) -> DrawSettings:
        """Return the sampling parameters of these slots."""
        return DrawSettings(self.temperature[slots], self.top_p[slots], self.top_k[slots])

    def uniforms(self, slots: Slots) -> NDArray[np.float32]:
        """Return the uniform number for the next token of each of these slots."""
        return noise.uniforms(self.keys[slots], self.length[slots] - self.prompt[slots])

    def change(self, slot: int, logits: NDArray[np.float32]) -> None:
        """Change the logits [padded vocabulary] of a slot's next token: by its biases, then by its grammar."""
        sequence = self.sequence(slot)
        if sequence.request.sampling.biased:
            logits += self._biases(slot, len(logits))
        if sequence.walk is not None:
            logits[:len(sequence.walk.allowed)][~sequence.walk.allowed] = -np.inf

    def _biases(self, slot: int, vocabulary: int) -> NDArray[np.float32]:
        sampling = self.sequence(slot).request.sampling
        found = np.zeros(vocabulary, np.float32)
        for id, bias in sampling.logit_bias:
            found[id] += np.float32(bias)
        made, times = np.unique(self.ids[slot, self.prompt[slot]:self.length[slot]], return_counts=True)
        found[made] -= np.float32(sampling.presence_penalty) + np.float32(sampling.frequency_penalty) * times
        return found

    def append(self, slots: Slots, ids: Slots, logp: NDArray[np.float32]) -> None:
        """Add one drawn token to each of these slots."""
        self.ids[slots, self.length[slots]] = ids
        self.logp[slots, self.length[slots]] = logp
        self.length[slots] += 1

    def split(self) -> tuple[Slots, Slots]:
        """Give samples that had one leader and drew different ids a leader for each id: the first slot that drew it.

        Returns the old and the new leaders [changed, changed], where they differ.
        """
        running = self.running
        before, last = self.leader[running], self.ids[running, self.length[running] - 1]
        if np.array_equal(before, running):
            return running[:0], running[:0]
        _, first, member = np.unique(before << _ID_BITS | last, return_index=True, return_inverse=True)
        now, before = running[first], before[first]
        self.leader[running] = now[member]
        return before[now != before], now[now != before]

    def stopped(self, slots: Slots) -> Slots:
        """Return the slots whose last token is a stop id."""
        last = self.ids[slots, self.length[slots] - 1]
        hit: NDArray[np.bool_] = (self.stops[slots] == last[:, None]).any(1)
        return slots[hit]

    def full(self, slots: Slots) -> Slots:
        """Return the slots that have reached their max_tokens."""
        return slots[self.length[slots] >= self.limit[slots]]

    def switch(self, version_id: str) -> None:
        """Record that a new version makes the next tokens of all running sequences."""
        for slot in self.running.tolist():
            sequence = self.sequence(slot)
            sequence.spans.append((version_id, int(self.length[slot] - self.prompt[slot])))
            self.stale[slot] = sequence.request.kv_on_update is KvOnUpdate.RECOMPUTE

    def sequence(self, slot: int) -> NativeSequence:
        """Return the sequence in a slot. Raises LookupError when it is free."""
        sequence = self.sequences[slot]
        if sequence is None:
            raise LookupError(f"slot {slot} is free")
        return sequence

    def completion(self, slot: int, reason: FinishReason | None, start: int = 0, end: int | None = None) -> Completion:
        """Return the completion tokens from `start` up to `end` (None: all so far) of a slot."""
        sequence, prompt = self.sequence(slot), int(self.prompt[slot])
        made = int(self.length[slot]) - prompt if end is None else end
        ids = self.ids[slot, prompt + start:prompt + made].tolist()
        logp = self.logp[slot, prompt + start:prompt + made].tolist()
        return Completion(sequence.index, ids, logp, _run_lengths(sequence.spans, start, made), reason,
                          sequence.likeliest[start:made])

    def release(self, slot: int, reason: FinishReason, end: int | None = None) -> EndedSample:
        """End a sequence with `end` completion tokens (None: all), and free its slot."""
        sequence = self.sequence(slot)
        ended = EndedSample(sequence.request, self.completion(slot, reason, sequence.reported, end))
        self.sequences[slot] = None
        self._clear(slot)
        return ended

    def deltas(self) -> list[Answer]:
        """Return the new tokens of streamed sequences, without those that a stop text may still remove."""
        answers = []
        for slot in self.running[self.watched[self.running]].tolist():
            sequence = self.sequence(slot)
            sure = int(self.length[slot] - self.prompt[slot]) - undecided_tokens(sequence.request.sampling.stop)
            if sequence.request.streamed and sure > sequence.reported:
                delta = self.completion(slot, None, sequence.reported, sure)
                sequence.reported = sure
                answers.append(Answer(sequence.request, [delta], False))
        return answers

    def _clear(self, slots: Slots | int) -> None:
        self.active[slots] = self.watched[slots] = self.stale[slots] = False
        self.changed[slots] = self.guided[slots] = self.guest[slots] = False
        self.shown[slots] = 0
        self.length[slots], self.prompt[slots] = 1, 0
        self.temperature[slots], self.top_p[slots], self.top_k[slots] = 1, 1, 0

    def _set_stops(self, slots: Slots, stop_ids: tuple[int, ...]) -> None:
        missing = len(stop_ids) - self.stops.shape[1]
        if missing > 0:
            self.stops = np.pad(self.stops, ((0, 0), (0, missing)), constant_values=_NO_STOP)
        self.stops[slots] = _NO_STOP
        self.stops[slots, :len(stop_ids)] = stop_ids


def _walk(request: Request) -> Walk | None:
    return None if request.guide is None else request.guide.walk(request.sampling.stop_ids)


@dataclass
class _Waiting:
    request: Request
    first: int  # index of its first sample without a slot


class Queue:
    """Samples that wait for a slot, in order of arrival. A request leaves when its last sample has a slot."""

    def __init__(self) -> None:
        self._waiting: deque[_Waiting] = deque()

    @property
    def waiting(self) -> int:
        """Number of waiting samples."""
        return sum(entry.request.indexes.stop - entry.first for entry in self._waiting)

    @property
    def of_runs(self) -> int:
        """Number of waiting samples of runs."""
        return sum(entry.request.indexes.stop - entry.first for entry in self._waiting
                   if not from_outside(entry.request))

    @property
    def pinned(self) -> bool:
        """Whether a waiting request insists on a version."""
        return any(entry.request.version_id for entry in self._waiting)

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, request: Request) -> None:
        """Put all samples of a request at the end."""
        self._waiting.append(_Waiting(request, request.first))

    def take(self, samples: int, guests: int) -> list[tuple[Request, int, int]]:
        """Take up to `samples` samples out, at most `guests` of them from outside of runs.

        They are (request, index of the first sample, count).
        """
        taken = []
        for entry in list(self._waiting):
            outside = from_outside(entry.request)
            count = min(samples, entry.request.indexes.stop - entry.first, guests if outside else samples)
            if not count:
                continue
            taken.append((entry.request, entry.first, count))
            entry.first += count
            samples -= count
            guests -= count if outside else 0
            if entry.first == entry.request.indexes.stop:
                self._waiting.remove(entry)
        return taken

    def drop(self, request: Request) -> range:
        """Take every waiting sample of a request out and return their indexes."""
        for entry in self._waiting:
            if entry.request is request:
                self._waiting.remove(entry)
                return range(entry.first, request.indexes.stop)
        return range(0)


def _run_lengths(spans: list[tuple[str, int]], start: int, end: int) -> list[tuple[str, int]]:
    if len(spans) == 1:
        return [(spans[0][0], end - start)] if end > start else []
    ends = [made for _, made in spans[1:]] + [end]
    clipped = ((version, min(until, end) - max(since, start))
               for (version, since), until in zip(spans, ends, strict=True))
    return [(version, tokens) for version, tokens in clipped if tokens > 0]
