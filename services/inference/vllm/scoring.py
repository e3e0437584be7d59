"""Scoring and the probe: what vLLM is asked for log-probs of given ids, and how its answers are read."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from vllm.outputs import RequestOutput
from vllm.sampling_params import RequestOutputKind, SamplingParams

from hone.models.probe import Gap, Probe
from hone.rpc.errors import Refused
from services.inference.scoring import Scored, ScoreItem, likeliest

LARGEST_VOCABULARY = 4096
"""Entropies need every log-prob of a vocabulary as a Python number: vLLM hands out no other."""

Asked = list[tuple[list[int], SamplingParams]]


def questions(items: list[ScoreItem], vocabulary: int) -> Asked:
    """Return what to ask for scores. Raises Refused for a vocabulary too large to be handed out whole."""
    if vocabulary > LARGEST_VOCABULARY:
        raise Refused(f"items: found a vocabulary of {vocabulary}, expected at most {LARGEST_VOCABULARY}: vLLM gives "
                      "entropies only with every log-prob; score with HONE_ENGINE=native")
    return [([*item.context_ids, *item.ids], _once(prompt_logprobs=-1)) for item in items]


def scores(
    items: list[ScoreItem], answers: list[RequestOutput], vocabulary: int, temperature: float, top_k: int
) -> list[Scored]:
    """Return the scores of items from the answers to their questions."""
    return [_scored(item, answer, vocabulary, temperature, top_k) for item, answer in zip(items, answers, strict=True)]


def probing(probe: Probe) -> Asked:
    """Return what to ask for a probe: all of each row at once, and its last token after the others.

    Only the latter reads the prefix cache, as the prompt of any request does.
    """
    continued = [(row[:-1], _once(temperature=1.0, logprob_token_ids=[row[-1]])) for row in probe.ids]
    return [*continued, *((row, _once(prompt_logprobs=0)) for row in probe.ids)]


def gap(probe: Probe, answers: list[RequestOutput]) -> Gap:
    """Compare the answers to `probing` with what is expected: the worse of both ways to ask."""
    continued, whole = answers[:len(probe.ids)], answers[len(probe.ids):]
    last = Probe(probe.ids, [row[-1:] for row in probe.logp])
    ends = [[_last(answer)[row[-1]]] for answer, row in zip(continued, probe.ids, strict=True)]
    rows = [[_at(answer, place)[id] for place, id in enumerate(row) if place]
            for answer, row in zip(whole, probe.ids, strict=True)]
    both = last.gap(ends), probe.gap(rows)
    return Gap(max(one.largest for one in both), max(one.mean for one in both))


def _once(**asked: Any) -> SamplingParams:
    return SamplingParams(max_tokens=1, detokenize=False, flat_logprobs=True,
                          output_kind=RequestOutputKind.FINAL_ONLY, **asked)


def _scored(item: ScoreItem, answer: RequestOutput, vocabulary: int, temperature: float, top_k: int) -> Scored:
    first, ids = len(item.context_ids), np.array(item.ids, np.int64)
    rows = [_row(answer, first + place, vocabulary) for place in range(len(ids))]
    logits = np.array(rows).reshape(len(ids), vocabulary) / temperature
    logp = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    entropy = -(np.exp(logp) * np.where(np.isfinite(logp), logp, 0.0)).sum(axis=1)
    top_ids, top_logp = likeliest(logp.astype(np.float32), top_k)
    return Scored(logp[np.arange(len(ids)), ids].tolist(), entropy.tolist(),
                  top_ids.ravel().tolist(), top_logp.ravel().tolist())


def _row(answer: RequestOutput, place: int, vocabulary: int) -> NDArray[np.float64]:
    """Return every log-prob of the token at a place of the prompt."""
    row = np.full(vocabulary, -np.inf)
    found = _at(answer, place)
    row[list(found)] = list(found.values())
    return row


def _at(answer: RequestOutput, place: int) -> dict[int, float]:
    return _slice(answer.prompt_logprobs, place)


def _last(answer: RequestOutput) -> dict[int, float]:
    return _slice(answer.outputs[0].logprobs, 0)


def _slice(flat: Any, place: int) -> dict[int, float]:
    """Return log-probs by id at one position of vLLM's flat list."""
    span = slice(flat.start_indices[place], flat.end_indices[place])
    return dict(zip(flat.token_ids[span], flat.logprobs[span], strict=True))
