"""The vLLM engine: a request becomes sequences, for which a core makes tokens; weights change between two steps."""

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from vllm.lora.request import LoRARequest
from vllm.outputs import RequestOutput
from vllm.sampling_params import RequestOutputKind, SamplingParams

from hone.crashpoints import reach
from hone.models.architecture import Architecture
from hone.models.probe import Gap, Probe
from hone.rpc.errors import Refused
from hone.text.model_text import ModelText
from services.inference import noise
from services.inference.answers import AnswerCollector, EndedSample, TextStops, undecided_tokens
from services.inference.engines import Version
from services.inference.grammars import UNFOLLOWED
from services.inference.requests import Answer, Completion, FinishReason, KvOnUpdate, Likeliest, Request
from services.inference.scoring import Scored, ScoreItem
from services.inference.shares import from_outside, most_guests
from services.inference.takeover import Action, Offer, Tolerance, Verdict, take_over, unheard
from services.inference.vllm import core as cores
from services.inference.vllm import scoring
from services.inference.vllm.core import Core
from services.inference.vllm.guides import GuidedSample

_REASONS = {"stop": FinishReason.STOP, "length": FinishReason.LENGTH}
_SEEDS = (1 << 63) - 1


@dataclass(eq=False)
class VllmSequence:
    """A sample of a request, its tokens so far, and the versions that made them."""

    request: Request
    index: int
    ids: list[int] = field(default_factory=list)
    logp: list[float] = field(default_factory=list)
    versions: list[tuple[str, int]] = field(default_factory=list)  # (version id, consecutive tokens)
    likeliest: list[Likeliest] = field(default_factory=list)  # at each token, if they are asked for
    reported: int = 0  # tokens that a streaming caller has already got
    key: str = ""  # of its request at the core; empty while there is none
    guided: GuidedSample | None = None  # its way through the grammar of its request
    ended: bool = False

    def add(self, ids: list[int], logp: list[float], version_id: str) -> None:
        """Append tokens that a version has made."""
        self.ids += ids
        self.logp += logp
        version, tokens = self.versions.pop() if self.versions else (version_id, 0)
        if version != version_id:
            self.versions.append((version, tokens))
            tokens = 0
        self.versions.append((version_id, tokens + len(ids)))

    def completion(self, reason: FinishReason | None, end: int | None = None) -> Completion:
        """Return the tokens that were not reported yet, up to `end` (None: all so far)."""
        start, end = self.reported, len(self.ids) if end is None else end
        return Completion(self.index, self.ids[start:end], self.logp[start:end], self._spans(start, end), reason,
                          self.likeliest[start:end])

    def _spans(self, start: int, end: int) -> list[tuple[str, int]]:
        spans, since = [], 0
        for version, tokens in self.versions:
            overlap = min(since + tokens, end) - max(since, start)
            if overlap > 0:
                spans.append((version, overlap))
            since += tokens
        return spans


class VllmEngine:
    """The implementation of `engines.Engine` on vLLM."""

    def __init__(
        self, architecture: Architecture, core: Core, name: str, positions: int, tolerance: Tolerance,
        guest_share: float = 0.25,
    ) -> None:
        self.architecture, self.tolerance = architecture, tolerance
        self.version_id = ""
        self.holds = 0
        self.generated_tokens = self.generated_samples = 0
        self.computed_s = 0.0
        self._core, self._name, self._positions = core, name, positions
        self._guest_share = guest_share
        self._paused = False
        self._sequences: list[VllmSequence] = []
        self._ended: list[EndedSample] = []
        self._deltas: list[Answer] = []
        self._answers = AnswerCollector()
        self._lora: LoRARequest | None = None
        self._stops: TextStops | None = None
        self._served: Version | None = None
        self._offer: Offer[Version] | None = None
        self._salt, self._salts = "", itertools.count(1)
        self._unproven: list[tuple[VllmSequence, RequestOutput]] | None = None  # outputs from before the verdict
        self._core_is_new = False  # it was built anew after this engine's version passed its probe
        core.users.append(self)

    @property
    def running(self) -> int:
        """Number of sequences that are making tokens."""
        return sum(bool(sequence.ids) for sequence in self._sequences)

    @property
    def waiting(self) -> int:
        """Number of sequences that have made no token yet."""
        return len(self._sequences) - self.running

    @property
    def paused(self) -> bool:
        return self._paused

    @paused.setter
    def paused(self, paused: bool) -> None:
        """Withdraw the core's requests, since other engines may step it. The first step after a pause adds them."""
        self._paused = paused
        if paused:
            self._withdraw(self._sequences)

    @property
    def tokenizer(self) -> ModelText:
        """The text of the served version. Raises LookupError while none is served."""
        if self._served is None:
            raise LookupError("no version is served yet")
        return self._served.tokenizer

    @property
    def has_work(self) -> bool:
        """Whether a step would do anything."""
        return bool(self._ended or self._deltas or self._swap_due or (self._sequences and not self._paused))

    def submit(self, request: Request) -> bool:
        """Queue a request, and return True; return False when it insists on another version than the served one."""
        taken = request.version_id in ("", self.version_id)
        if taken:
            self._sequences += [VllmSequence(request, index) for index in request.indexes]
        return taken

    def offer(self, version: Version, settle: Callable[[Verdict], None] = unheard) -> None:
        """Take `version` over at the first step at which no request insists on the present one, and settle the offer.

        An offer that was not settled yet is superseded.
        """
        if self._offer is not None:
            self._offer.supersede()
        self._offer = Offer(version, settle)

    def abort(self, request: Request) -> int:
        """End a request; the next step's answers hold the tokens made so far. Returns how many sequences were ended."""
        ended = [sequence for sequence in self._sequences if sequence.request is request]
        self._withdraw(ended)
        for sequence in ended:
            self._end(sequence, FinishReason.ABORT)
        return len(ended)

    def score(self, items: list[ScoreItem], temperature: float, top_k: int = 0) -> list[Scored]:
        """Return log-probs, entropies and likeliest ids under the served version. Raises Refused."""
        self._prove_anew()
        prompts = scoring.item_prompts(items, temperature, top_k)
        return scoring.scores(items, self._core.outputs(prompts, self._salt, self._lora))

    def rate(self, texts: list[list[int]]) -> list[float]:  # noqa: ARG002
        """Refuse: reward models are served by native engines."""
        raise Refused("this engine runs on vLLM and rates no texts; a native engine does")

    def step(self) -> list[Answer]:
        """Take over an offered version, make one token for every running sequence, and return the answers."""
        if self._offer is not None and self._swap_due:
            self._swap(self._offer)
        if self._sequences and not self._paused:
            self._prove_anew()
            if self.running:
                reach("generate.mid")
            self._request_all()
            self._core.step()
        return self._collected()

    def rest(self) -> None:
        """Let the core sleep if it has no requests."""
        self._core.rest()

    def close(self) -> None:
        """Leave the core, which ends with its last user."""
        self._core.leave(self, self._name)

    def take(self, version: Version) -> Verdict:
        """Serve `version` if it passes its probe. Unless it passes at once, sequences are requested again."""
        self._unproven = []
        try:
            verdict = take_over(self, version, self._served)
        finally:
            made, self._unproven = self._unproven, None
        self._core_is_new = False
        if verdict.served:
            self._served, self.version_id = version, version.id
            self._stops = TextStops(version.tokenizer)
        if verdict.action is not Action.UPDATED:
            self._withdraw(self._sequences)  # their caches come from weights that must not be served
            made = []
        for sequence, output in made:
            self._add_output(sequence, output)
        return verdict

    def install(self, version: Version) -> None:
        """Install a version's weights in the running core, or its adapter beside the base."""
        if not self._core.built:
            self.rebuild(version)
        elif version.adapter is None:
            self._core.update(version.checkpoint.tensors)
        else:
            self._lora = self._core.adapt(self._name, version.adapter)
        self._salt = self.salt()

    def salt(self) -> str:
        """Return a new name for the prefix cache of weights that were just installed."""
        return f"{self._name}/{next(self._salts)}"

    def rebuild(self, version: Version) -> None:
        """Build the core anew from a version. Later versions have the same tokenizer."""
        self._core.build(version.checkpoint, version.tokenizer.unused_ids(self.architecture.vocab_size))
        if version.adapter is not None:
            self._lora = self._core.adapt(self._name, version.adapter)

    def gap(self, probe: Probe) -> Gap:
        """Request the probe's log-probs like a caller's request, and return the differences."""
        fitting = probe.cut(self._positions - 1)
        return scoring.gap(fitting, self._core.outputs(scoring.probe_prompts(fitting), self._salt, self._lora))

    def requests_lost(self) -> None:
        """The core is built anew: request every sequence again, after the version has passed its probe there."""
        self._core_is_new = True
        for sequence in self._sequences:
            sequence.key = ""

    def _prove_anew(self) -> None:
        """Check the served version's probe again if another engine has had the shared core built anew."""
        if self._core_is_new and self._served is not None:
            self.take(self._served)

    @property
    def _swap_due(self) -> bool:
        if self._offer is None or self.holds:
            return False
        return not any(sequence.request.version_id for sequence in self._sequences)

    def _swap(self, offer: Offer[Version]) -> None:
        """Take over the offered version. Sequences continue on their caches, except new and `recompute` ones."""
        self._offer = None
        self._withdraw(sequence for sequence in self._sequences
                       if not sequence.ids or sequence.request.kv_on_update is KvOnUpdate.RECOMPUTE)
        offer.settle(self.take(offer.version))

    def _request_all(self) -> None:
        """Request tokens from the core for every sequence that it does not work on, from outside for some."""
        places = self._guest_places
        for sequence in list(self._sequences):
            outside = from_outside(sequence.request)
            if not sequence.key and not sequence.ended and (places > 0 or not outside):
                places -= outside
                try:
                    self._request(sequence)
                except Refused as error:
                    self._refuse(sequence.request, str(error))

    @property
    def _guest_places(self) -> int:
        """How many sequences from outside may be requested now."""
        guests = sum(from_outside(sequence.request) and bool(sequence.key) for sequence in self._sequences)
        of_runs = sum(not from_outside(sequence.request) for sequence in self._sequences)
        return max(0, most_guests(of_runs, self._guest_share) - guests) if of_runs else len(self._sequences)

    def _request(self, sequence: VllmSequence) -> None:
        ids, sequence.guided = [*sequence.request.prompt_ids, *sequence.ids], _guided(sequence)
        sequence.key = self._core.add_request(
            ids, _parameters(sequence), self._salt, partial(self._add_output, sequence), self._lora, sequence.guided)

    def _refuse(self, request: Request, reason: str) -> None:
        """End a request that the core does not accept. Other requests continue."""
        mine = [sequence for sequence in self._sequences if sequence.request is request]
        self._withdraw(mine)
        for sequence in mine:
            sequence.ended = True
            self._sequences.remove(sequence)
        self._ended = [ended for ended in self._ended if ended.request is not request]
        self._deltas.append(self._answers.refuse(request, reason))

    def _withdraw(self, sequences: Iterable[VllmSequence]) -> None:
        requested = [sequence for sequence in sequences if sequence.key]
        self._core.withdraw([sequence.key for sequence in requested])
        for sequence in requested:
            sequence.key = ""

    def _add_output(self, sequence: VllmSequence, output: RequestOutput) -> None:
        """Add the tokens that a step made for a sequence: one, seldom more. Ignore tokens after its end."""
        if sequence.ended:
            return
        if self._unproven is not None:
            self._unproven.append((sequence, output))
            return
        sequence.add(*cores.sampled(output), self.version_id)
        if count := sequence.request.sampling.top_logprobs:
            sequence.likeliest += cores.likeliest(output, count)
        self.generated_tokens += len(output.outputs[0].token_ids)
        if output.finished:
            sequence.key = ""
        kept = self._kept_at_stop(sequence)
        if kept is not None:
            self._withdraw([sequence])
            self._end(sequence, FinishReason.STOP, kept)
        elif not output.finished and sequence.guided is not None and sequence.guided.failure:
            self._refuse(sequence.request, f"{UNFOLLOWED}{sequence.guided.failure}")
        elif output.finished:
            self._end(sequence, _REASONS[str(output.outputs[0].finish_reason)])
        elif sequence.request.streamed:
            self._report(sequence)

    def _kept_at_stop(self, sequence: VllmSequence) -> int | None:
        sampling, kept = sequence.request.sampling, None
        if sampling.stop and self._stops is not None:
            kept = self._stops.tokens_kept(sequence.ids, sampling.stop, sampling.include_stop)
        whole = sequence.guided.whole if sequence.guided is not None else None
        return whole if kept is None and whole is not None and whole <= len(sequence.ids) else kept

    def _end(self, sequence: VllmSequence, reason: FinishReason, kept: int | None = None) -> None:
        sequence.ended = True
        self._sequences.remove(sequence)
        self._ended.append(EndedSample(sequence.request, sequence.completion(reason, kept)))
        self.generated_samples += 1

    def _report(self, sequence: VllmSequence) -> None:
        sure = len(sequence.ids) - undecided_tokens(sequence.request.sampling.stop)
        if sure > sequence.reported:
            delta = sequence.completion(None, sure)
            sequence.reported = sure
            self._deltas.append(Answer(sequence.request, [delta], False))

    def _collected(self) -> list[Answer]:
        ended, self._ended = self._ended, []
        deltas, self._deltas = self._deltas, []
        return deltas + self._answers.collect(ended)


def _guided(sequence: VllmSequence) -> GuidedSample | None:
    guide, made = sequence.request.guide, sequence.ids
    return GuidedSample(guide.walk(sequence.request.sampling.stop_ids, made), len(made)) if guide else None


def _parameters(sequence: VllmSequence) -> SamplingParams:
    """Return the parameters for the rest of a sequence. The seed depends on its noise key and on its length so far."""
    sampling, key, made = sequence.request.sampling, sequence.request.noise, len(sequence.ids)
    seeds = noise.keys(key.seed, key.request, key.call, np.array([sequence.index]))
    return SamplingParams(
        max_tokens=sampling.max_tokens - made, temperature=sampling.temperature, top_p=sampling.top_p,
        top_k=sampling.top_k, seed=(int(seeds[0]) + made) & _SEEDS, stop_token_ids=list(sampling.stop_ids),
        presence_penalty=sampling.presence_penalty, frequency_penalty=sampling.frequency_penalty,
        logit_bias=dict(sampling.logit_bias) or None, ignore_eos=True, logprobs=sampling.top_logprobs,
        flat_logprobs=True, detokenize=False, output_kind=RequestOutputKind.DELTA,
        skip_clone=True)  # nobody else holds this object
