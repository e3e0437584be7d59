"""Scores and the probe on vLLM: prompts that return log-probs of given ids, and the reading of their outputs."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from vllm.outputs import RequestOutput
from vllm.sampling_params import RequestOutputKind, SamplingParams

from hone.models.probe import Gap, Probe
from hone.rpc.errors import Refused
from services.inference.scoring import Scored, ScoreItem, likeliest

LARGEST_VOCABULARY = 4096
"""Entropies need every log-prob of the vocabulary, and vLLM returns each as a Python number."""

Prompts = list[tuple[list[int], SamplingParams]]


def item_prompts(items: list[ScoreItem], vocabulary: int) -> Prompts:
    """Return the prompts that score items. Raises Refused for a vocabulary above `LARGEST_VOCABULARY`."""
    if vocabulary > LARGEST_VOCABULARY:
        raise Refused(f"items: found a vocabulary of {vocabulary}, expected at most {LARGEST_VOCABULARY}: vLLM gives "
                      "entropies only with every log-prob; score with HONE_ENGINE=native")
    return [([*item.context_ids, *item.ids], _once(prompt_logprobs=-1)) for item in items]


def scores(
    items: list[ScoreItem], outputs: list[RequestOutput], vocabulary: int, temperature: float, top_k: int
) -> list[Scored]:
    """Return the scores of items from the outputs of their prompts."""
    return [_scored(item, output, vocabulary, temperature, top_k) for item, output in zip(items, outputs, strict=True)]


def probe_prompts(probe: Probe) -> Prompts:
    """Return two prompts for each row of the probe: one for its last token after the others, one for all its tokens.

    Only the first reads the prefix cache, like the prompt of a request.
    """
    continued = [(row[:-1], _once(temperature=1.0, logprob_token_ids=[row[-1]])) for row in probe.ids]
    return [*continued, *((row, _once(prompt_logprobs=0)) for row in probe.ids)]


def gap(probe: Probe, outputs: list[RequestOutput]) -> Gap:
    """Return the larger difference of both kinds of prompt from the trainer's log-probs."""
    continued, whole = outputs[:len(probe.ids)], outputs[len(probe.ids):]
    last = Probe(probe.ids, [row[-1:] for row in probe.logp])
    ends = [[_last(output)[row[-1]]] for output, row in zip(continued, probe.ids, strict=True)]
    rows = [[_at(output, place)[id] for place, id in enumerate(row) if place]
            for output, row in zip(whole, probe.ids, strict=True)]
    both = last.gap(ends), probe.gap(rows)
    return Gap(max(one.largest for one in both), max(one.mean for one in both))


def _once(**wanted: Any) -> SamplingParams:
    return SamplingParams(max_tokens=1, detokenize=False, flat_logprobs=True,
                          output_kind=RequestOutputKind.FINAL_ONLY, **wanted)


def _scored(item: ScoreItem, output: RequestOutput, vocabulary: int, temperature: float, top_k: int) -> Scored:
    first, ids = len(item.context_ids), np.array(item.ids, np.int64)
    rows = [_row(output, first + place, vocabulary) for place in range(len(ids))]
    logits = np.array(rows).reshape(len(ids), vocabulary) / temperature
    logp = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    entropy = -(np.exp(logp) * np.where(np.isfinite(logp), logp, 0.0)).sum(axis=1)
    top_ids, top_logp = likeliest(logp.astype(np.float32), top_k)
    return Scored(logp[np.arange(len(ids)), ids].tolist(), entropy.tolist(),
                  top_ids.ravel().tolist(), top_logp.ravel().tolist())


def _row(output: RequestOutput, place: int, vocabulary: int) -> NDArray[np.float64]:
    """Return the log-probs [vocabulary] at a position of the prompt."""
    row = np.full(vocabulary, -np.inf)
    found = _at(output, place)
    row[list(found)] = list(found.values())
    return row


def _at(output: RequestOutput, place: int) -> dict[int, float]:
    return _slice(output.prompt_logprobs, place)


def _last(output: RequestOutput) -> dict[int, float]:
    return _slice(output.outputs[0].logprobs, 0)


def _slice(flat: Any, place: int) -> dict[int, float]:
    """Return log-probs by id at one position of vLLM's flat list."""
    span = slice(flat.start_indices[place], flat.end_indices[place])
    return dict(zip(flat.token_ids[span], flat.logprobs[span], strict=True))
