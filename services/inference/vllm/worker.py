"""Extensions of vLLM's workers: draws without the ids that no token has, and scores of prompts at any vocabulary.

vLLM returns an entropy only as every log-prob of the vocabulary, each a Python number. Here the worker reduces the
logits of a few positions at a time to what a score needs, and returns it in place of the prompt's log-probs.
"""

from functools import partial
from typing import Any

import torch
from torch import Tensor
from vllm.v1.outputs import LogprobsTensors
from vllm.v1.sample import sampler
from vllm.v1.sample.metadata import SamplingMetadata
from vllm.v1.sample.sampler import Sampler

from services.inference.scoring import likeliest
from services.inference.vllm.transfer import sender  # noqa: F401 — registers ways of weights

SCORE = "hone_score"
"""Key of a request's extra arguments: [first position that is scored, temperature]. Of its `prompt_logprobs`, the last
is the entropy."""

_LOGITS_AT_ONCE = 1 << 24
"""Logits that are in memory at once while prompts are scored: 64 MiB of float32."""


def _no_ranks(x: Tensor, values: Tensor) -> Tensor:  # noqa: ARG001 — vLLM's
    """Return zeros in the place of the ranks of ids, which nobody reads here.

    vLLM compiles their count: on a CPU the first token of a machine waits 20 seconds for it, of a process 2 seconds.
    """
    return torch.zeros(len(x), dtype=torch.int64, device=x.device)


vars(sampler)["batched_count_greater_than"] = _no_ranks


class WorkerExtension:
    """Methods that vLLM adds to its workers. A worker's process imports this module, and so registers our ways."""

    model_runner: Any

    def extend(self, unused: list[int]) -> None:
        """Score prompts by `_scores`, and never draw the ids `unused`, from now on."""
        runner = self.model_runner
        runner._get_prompt_logprobs_dict = partial(_scores, runner)
        if unused:
            runner.sampler = UsedIds(runner.sampler, torch.tensor(unused, device=runner.device))


class UsedIds(Sampler):
    """vLLM's sampler without some ids.

    After a cut by top_p or top_k, log-probs are those of the distribution drawn from. Otherwise they are those of the
    softmax over all ids, which the trainer computes.
    """

    def __init__(self, like: Sampler, unused: Tensor) -> None:
        super().__init__(like.logprobs_mode, like.use_fp64_gumbel)
        self._unused = unused

    def sample(
        self, logits: Tensor, sampling_metadata: SamplingMetadata, *rest: Any
    ) -> tuple[Tensor, Tensor | None]:
        """Draw an id for each row of `logits` [rows, vocabulary], which are changed. Return ids and log-probs."""
        divisor = _divisor(sampling_metadata)
        lost = logits[:, self._unused] / divisor
        logits.index_fill_(1, self._unused, -torch.inf)
        used = (logits / divisor).logsumexp(-1, keepdim=True)
        ids, logp = super().sample(logits, sampling_metadata, *rest)
        if logp is not None:
            whole = torch.logaddexp(used, lost.logsumexp(-1, keepdim=True))
            logp += torch.where(_cut(sampling_metadata, logits), 0.0, used - whole)
            logp.index_copy_(1, self._unused, lost - whole)  # the probe asks for some of them
        return ids, logp


def _divisor(metadata: SamplingMetadata) -> Tensor | float:
    """Return the temperatures as a column; 1 for greedy rows."""
    if metadata.temperature is None:
        return 1.0
    greedy = metadata.temperature < 1e-5  # as vLLM decides it
    return torch.where(greedy, 1.0, metadata.temperature)[:, None]


def _cut(metadata: SamplingMetadata, logits: Tensor) -> Tensor:
    """Return whether each row is cut, as a column."""
    found = torch.zeros(len(logits), dtype=torch.bool, device=logits.device)
    if metadata.top_k is not None:
        found |= metadata.top_k < logits.shape[1]
    if metadata.top_p is not None:
        found |= metadata.top_p < 1
    return found[:, None]


def _scores(runner: Any, hidden: Tensor, scheduled: dict[str, int]) -> dict[str, LogprobsTensors | None]:
    """Score the prompt positions that this step computed. Return the requests whose prompts are complete.

    It takes the place of the runner's `_get_prompt_logprobs_dict`, and keeps its order of events.
    """
    complete = dict[str, LogprobsTensors | None]()
    for key, wanted in list(runner.num_prompt_logprobs.items()):
        if key not in scheduled:  # preempted
            continue
        request = runner.requests[key]
        start, most = request.num_computed_tokens, len(request.prompt_token_ids) - 1
        made = request.in_progress_prompt_logprobs_cpu
        if made is None:
            made = request.in_progress_prompt_logprobs_cpu = _empty(most, wanted)
        offset = int(runner.query_start_loc.np[runner.input_batch.req_id_to_index[key]])
        _score_rows(runner, request, hidden[offset:offset + scheduled[key]], made, start)
        if start + scheduled[key] > most:
            del runner.num_prompt_logprobs[key]
            request.in_progress_prompt_logprobs_cpu = None
            complete[key] = made
    return complete


def _empty(positions: int, wanted: int) -> LogprobsTensors:
    """Return empty scores: at each position the prompt's id, the likeliest ids, and the entropy as the last wanted."""
    columns = (positions, 1 + wanted)
    return LogprobsTensors(torch.zeros(columns, dtype=torch.int32), torch.zeros(columns),
                           torch.zeros(positions, dtype=torch.int32))


def _score_rows(runner: Any, request: Any, hidden: Tensor, made: LogprobsTensors, start: int) -> None:
    """Write the scores after the states `hidden` of positions from `start` on, a few positions at a time."""
    first, temperature = (request.sampling_params.extra_args or {}).get(SCORE, (0, 1.0))
    end, rows = min(start + len(hidden), len(made.logprobs)), max(1, _LOGITS_AT_ONCE // runner.input_batch.vocab_size)
    for begin in range(max(start, int(first)), end, rows):
        part = slice(begin, min(begin + rows, end))
        logits = runner.model.compute_logits(hidden[part.start - start:part.stop - start])
        targets = torch.tensor(request.prompt_token_ids[part.start + 1:part.stop + 1], device=hidden.device)
        ids, values = _reduced(logits.float() / temperature, targets, made.logprobs.shape[1] - 2)
        made.logprob_token_ids[part], made.logprobs[part] = ids.cpu(), values.cpu()


def _reduced(logits: Tensor, targets: Tensor, top_k: int) -> tuple[Tensor, Tensor]:
    """Return ids and values [rows, 1 + top_k + 1] of logits [rows, vocabulary]: target, likeliest ids, entropy."""
    logp, targets = torch.log_softmax(logits, -1), targets[:, None]
    ids, top = likeliest(logp, top_k)
    entropy = -logp.exp().mul_(logp).sum(-1, keepdim=True)
    values = torch.cat([logp.gather(1, targets), top, entropy], 1)
    return torch.cat([targets, ids, torch.zeros_like(targets)], 1), values
