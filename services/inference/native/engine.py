"""The native engine: continuous batching of one model's sequences over a fixed number of slots, on one thread."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch

from hone.crashpoints import reach
from hone.models.architecture import Architecture
from hone.models.checkpoint import Checkpoint
from hone.models.probe import Gap, Probe
from hone.text.model_text import ModelText
from services.inference.answers import AnswerCollector, EndedSample, TextStops
from services.inference.grammars import UNFOLLOWED
from services.inference.native import prefill
from services.inference.native.cache import CHUNK, Cache
from services.inference.native.decoder import Decoder, one_token
from services.inference.native.prefill import Context
from services.inference.native.safe_shapes import SafeShapes
from services.inference.native.sampler import NONE, likeliest, sample
from services.inference.native.slots import Queue, Slots, SlotTable
from services.inference.native.weights import Weights, fuse
from services.inference.requests import Answer, Completion, FinishReason, Request
from services.inference.scoring import BATCH, Scored, ScoreItem
from services.inference.shares import most_guests
from services.inference.takeover import EXACT, Offer, Tolerance, Verdict, take_over, unheard

_FEW = 8
"""While more samples wait than fit, at least one slot in this many must be free before prompts are cached."""


@dataclass(frozen=True)
class FusedVersion:
    """A version's weights, fused for decoding, and the checkpoint from which they can be fused once more."""

    id: str
    weights: Weights
    tokenizer: ModelText
    probe: Probe | None = None
    checkpoint: Checkpoint | None = None


class NativeEngine:
    """The native implementation of `engines.Engine`."""

    def __init__(
        self, architecture: Architecture, shapes: SafeShapes, slots: int, version: FusedVersion | None = None,
        tolerance: Tolerance = EXACT, guest_share: float = 0.25,
    ) -> None:
        """Serve no version yet, or `version` at once, without its probe, as benchmarks want it."""
        self.architecture, self.slots = architecture, slots
        self.positions = shapes.positions
        self.version_id = ""
        self.paused = False
        self.holds = 0
        self.generated_tokens = self.generated_samples = 0
        self.computed_s = 0.0
        self.tolerance = tolerance
        self._shapes, self._guest_share = shapes, guest_share
        self._decoder = Decoder(architecture, self.positions)
        self._stops: TextStops | None = None
        self._unused = NONE
        self._cache = Cache(architecture, shapes.rows[-1], CHUNK)
        self._table = SlotTable(shapes.rows[-1], self.positions)
        self._queue, self._finished = Queue(), AnswerCollector()
        self._served: FusedVersion | None = None
        self._offer: Offer[FusedVersion] | None = None
        self._ended: list[EndedSample] = []
        self._refused: list[Answer] = []
        if version is not None:
            self._decoder.install(version.weights)
            self._serve(version)

    @property
    def running(self) -> int:
        """Number of sequences in slots."""
        return int(self._table.active.sum())

    @property
    def waiting(self) -> int:
        """Number of sequences that have no slot yet."""
        return self._queue.waiting

    @property
    def tokenizer(self) -> ModelText:
        """The text of the served version. Raises LookupError while none is served."""
        if self._served is None:
            raise LookupError("no version is served yet")
        return self._served.tokenizer

    @property
    def has_work(self) -> bool:
        """Whether a step would do anything."""
        return bool(self._ended or self._swap_due or (not self.paused and (self.running or self._queue)))

    def submit(self, request: Request) -> bool:
        """Queue a request, and return True; return False when it insists on another version than the served one."""
        taken = request.version_id in ("", self.version_id)
        if taken:
            self._queue.add(request)
        return taken

    def offer(self, version: FusedVersion, settle: Callable[[Verdict], None] = unheard) -> None:
        """Take `version` over at the first step at which no request insists on the present one, and settle the offer.

        An offer that was not settled yet is superseded.
        """
        if self._offer is not None:
            self._offer.supersede()
        self._offer = Offer(version, settle)

    def abort(self, request: Request) -> int:
        """End a request; the next step's answers hold the tokens made so far. Returns how many sequences were ended."""
        slots = [slot for slot in self._table.running.tolist() if self._table.sequence(slot).request is request]
        ended = [self._table.release(slot, FinishReason.ABORT) for slot in slots]
        for index in self._queue.drop(request):
            ended.append(EndedSample(request, Completion(index, [], [], [], FinishReason.ABORT)))
        self._ended += ended
        return len(ended)

    def score(self, items: list[ScoreItem], temperature: float, top_k: int = 0) -> list[Scored]:
        """Return log-probs, entropies and likeliest ids of at most `BATCH` items under the served version."""
        with torch.inference_mode():
            scratch = Cache(self.architecture, BATCH, CHUNK)
            return prefill.score(self._decoder, scratch, self._shapes, items, temperature, top_k)

    def rate(self, texts: list[list[int]]) -> list[float]:
        """Return the rating of each of at most `BATCH` texts under the served version: its head on the last state."""
        with torch.inference_mode():
            scratch = Cache(self.architecture, BATCH, CHUNK)
            contexts = [Context(slot, np.array(ids)) for slot, ids in enumerate(texts)]
            scratch.reserve(max(map(len, texts)))
            return prefill.last_logits(self._decoder, scratch, self._shapes, contexts)[:, 0].tolist()

    def rest(self) -> None:
        """Do nothing: an idle engine needs all its memory."""

    def close(self) -> None:
        """Do nothing: the memory goes with the object."""

    def step(self) -> list[Answer]:
        """Take over an offered version, admit waiting samples, make a token for each running one, return answers."""
        with torch.inference_mode():
            if self._offer is not None and self._swap_due:
                self._swap(self._offer)
            if not self.paused:
                self._refresh()
                self._admit()
                self._decode()
        return self._answers()

    @property
    def _swap_due(self) -> bool:
        if self._offer is None or self.holds or self._queue.pinned:
            return False
        return not any(self._table.sequence(slot).request.version_id for slot in self._table.running.tolist())

    def _swap(self, offer: Offer[FusedVersion]) -> None:
        self._offer = None
        verdict = take_over(self, offer.version, self._served)
        if verdict.served:
            self._serve(offer.version)
            self._table.switch(offer.version.id)
        offer.settle(verdict)

    def _serve(self, version: FusedVersion) -> None:
        if self._served is None or self._served.tokenizer is not version.tokenizer:
            self._unused = np.array(version.tokenizer.unused_ids(self.architecture.vocab_size), np.int64)
        self._served, self.version_id = replace(version, checkpoint=None), version.id
        self._stops = TextStops(version.tokenizer)

    def install(self, version: FusedVersion) -> None:
        """Install a version's weights in the running decoder."""
        self._decoder.install(version.weights)

    def rebuild(self, version: FusedVersion) -> None:
        """Build weights and decoder anew from the version's checkpoint."""
        weights = version.weights if version.checkpoint is None else (
            fuse(version.checkpoint, version.weights.dtype))
        self._decoder = Decoder(self.architecture, self.positions)
        self._decoder.install(weights)

    def gap(self, probe: Probe) -> Gap:
        """Score the probe like a caller's items, and return the differences."""
        fitting = probe.cut(self.positions)
        items = [ScoreItem((row[0],), tuple(row[1:])) for row in fitting.ids]
        return fitting.gap([scored.logp for scored in self.score(items, 1.0)])

    def _refresh(self) -> None:
        """Cache the contexts of `recompute` sequences again with the new weights, and continue them."""
        stale = np.flatnonzero(self._table.stale)
        self._table.stale[stale] = False
        if len(stale):
            self._start(self._table.leader[stale], stale)

    def _admit(self) -> None:
        """Give free slots to waiting samples. Samples with equal prompts share one pass over the prompt.

        While more samples wait than slots are free, a few free slots wait for more to become free: a pass over a prompt
        costs the same for one sample as for all samples of that prompt.
        """
        free = self._table.free[:max(0, self.slots - self.running)]
        if len(free) < self.slots // _FEW and len(free) < self.waiting:
            return
        placements = self._queue.take(len(free), self._guest_places)
        if not placements:
            return
        filled, start, first_with = np.empty_like(free), 0, dict[tuple[int, ...], int]()
        for request, first, count in placements:
            places = slice(start, start + count)
            self._table.occupy(free[places], request, first, self.version_id)
            filled[places] = first_with.setdefault(request.prompt_ids, int(free[start]))
            start += count
        slots = free[:start]
        self._cache.reserve(int(self._table.limit[slots].max()))
        self._start(filled[:start], slots)

    @property
    def _guest_places(self) -> int:
        """How many samples from outside may be admitted now."""
        guests = self._table.guests
        of_runs = self.running - guests + self._queue.of_runs
        return max(0, most_guests(of_runs, self._guest_share) - guests) if of_runs else self.slots

    def _start(self, filled: Slots, slots: Slots) -> None:
        """Cache the context of slot `filled[s]`, share it with slot `slots[s]`, and draw its token, for every s."""
        unique, places = np.unique(filled, return_inverse=True)
        contexts = [Context(slot, self._table.ids[slot, :self._table.length[slot]]) for slot in unique.tolist()]
        logits = prefill.last_logits(self._decoder, self._cache, self._shapes, contexts)
        sharing = (self._table.leader[slots] == slots) & (filled != slots)
        self._cache.share(filled[sharing], slots[sharing], self._table.length[slots[sharing]])
        self._draw(logits, places, slots)

    def _decode(self) -> None:
        """Make a token for every running sequence. Samples of a request with equal ids so far share a row."""
        running, leading = self._table.running, self._table.leading
        if not len(running):
            return
        reach("generate.mid")
        rows = self._shapes.rows_for(len(leading))
        slots, positions, ids = np.full(rows, self._cache.scratch), np.zeros(rows, np.int64), np.zeros(rows, np.int64)
        slots[:len(leading)] = leading
        positions[:len(leading)] = self._table.length[leading] - 1
        ids[:len(leading)] = self._table.ids[leading, positions[:len(leading)]]
        self._cache.extend(slots, positions)
        hidden = self._decoder.hidden(self._cache, torch.from_numpy(ids), one_token(self._cache, slots, positions))
        logits = self._decoder.logits(hidden)[:len(leading)]
        self._draw(logits, np.searchsorted(leading, self._table.leader[running]), running)

    def _draw(self, logits: torch.Tensor, places: Slots, slots: Slots) -> None:
        """Draw a token for slot `slots[n]` from row `places[n]` of the logits, for every n, and end samples.

        Samples that shared a row and differ now continue in rows of their own.
        """
        logits, places = self._changed(logits, places, slots)
        ids, logp = sample(logits, places, self._table.uniforms(slots), self._table.settings(slots), self._unused)
        self._show_likeliest(logits, places, slots)
        self._table.append(slots, ids, logp)
        self.generated_tokens += len(slots)
        self._end(slots)
        before, now = self._table.split()
        self._cache.share(before, now, self._table.length[now] - 1)

    def _changed(self, logits: torch.Tensor, places: Slots, slots: Slots) -> tuple[torch.Tensor, Slots]:
        """Return logits with a row more for each slot that changes them, and the slots' places in them."""
        changed = np.flatnonzero(self._table.changed[slots])
        if not len(changed):
            return logits, places
        rows = logits[torch.from_numpy(places[changed])]
        for slot, row in zip(slots[changed].tolist(), rows.numpy(), strict=True):
            self._table.change(slot, row)
        places = places.copy()
        places[changed] = np.arange(len(logits), len(logits) + len(changed))
        return torch.cat([logits, rows]), places

    def _show_likeliest(self, logits: torch.Tensor, places: Slots, slots: Slots) -> None:
        """Keep the likeliest ids of the next token of each slot whose caller is shown them."""
        shown = self._table.shown[slots]
        for count in np.unique(shown[shown > 0]).tolist():
            those = slots[shown == count]
            rows = likeliest(logits, places[shown == count], self._table.settings(those), count, self._unused)
            for slot, row in zip(those.tolist(), rows, strict=True):
                self._table.sequence(slot).likeliest.append(row)

    def _end(self, slots: Slots) -> None:
        stopped, full = self._table.stopped(slots), self._table.full(slots)
        whole = self._walk_on(slots)
        for slot in slots[self._table.watched[slots]].tolist():
            kept = self._kept_at_stop(slot)
            if kept is not None:
                self._ended.append(self._table.release(slot, FinishReason.STOP, kept))
        ending = [*((slot, FinishReason.STOP) for slot in [*stopped.tolist(), *whole]),
                  *((slot, FinishReason.LENGTH) for slot in full.tolist())]
        self._ended += [self._table.release(slot, reason) for slot, reason in ending if self._table.active[slot]]

    def _walk_on(self, slots: Slots) -> list[int]:
        """Take the last tokens of guided samples, and refuse requests that cannot go on. Return what is whole now."""
        whole = list[int]()
        for slot in slots[self._table.guided[slots]].tolist():
            if not self._table.active[slot]:
                continue  # its request is refused
            sequence = self._table.sequence(slot)
            walk = sequence.walk
            assert walk is not None
            walk.take(int(self._table.ids[slot, self._table.length[slot] - 1]))
            whole += [slot] if walk.over else []
            if walk.failure and self._table.length[slot] < self._table.limit[slot]:
                self._refuse(sequence.request, walk.failure)
        return whole

    def _refuse(self, request: Request, reason: str) -> None:
        """End a request that cannot go on. Other requests continue."""
        self.abort(request)
        self._ended = [ended for ended in self._ended if ended.request is not request]
        self._refused.append(self._finished.refuse(request, f"{UNFOLLOWED}{reason}"))

    def _kept_at_stop(self, slot: int) -> int | None:
        sampling = self._table.sequence(slot).request.sampling
        made = self._table.ids[slot, self._table.prompt[slot]:self._table.length[slot]]
        if not sampling.stop or self._stops is None:
            return None
        return self._stops.tokens_kept(made.tolist(), sampling.stop, sampling.include_stop)

    def _answers(self) -> list[Answer]:
        ended, self._ended = self._ended, []
        refused, self._refused = self._refused, []
        self.generated_samples += len(ended)
        return refused + self._table.deltas() + self._finished.collect(ended)
