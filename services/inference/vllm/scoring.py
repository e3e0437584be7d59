"""Scores and the probe on vLLM: prompts that return log-probs of given ids, and the reading of their outputs."""

from typing import Any

from vllm.outputs import RequestOutput
from vllm.sampling_params import RequestOutputKind, SamplingParams

from hone.models.probe import Gap, Probe
from services.inference.scoring import Scored, ScoreItem
from services.inference.vllm.worker import SCORE

Prompts = list[tuple[list[int], SamplingParams]]


def item_prompts(items: list[ScoreItem], temperature: float, top_k: int) -> Prompts:
    """Return the prompts that score items."""
    return [([*item.context_ids, *item.ids], _once(
        prompt_logprobs=top_k + 1, extra_args={SCORE: [len(item.context_ids) - 1, temperature]})) for item in items]


def scores(items: list[ScoreItem], outputs: list[RequestOutput]) -> list[Scored]:
    """Return the scores of items from the outputs of their prompts."""
    return [_scored(item, output.prompt_logprobs) for item, output in zip(items, outputs, strict=True)]


def probe_prompts(probe: Probe) -> Prompts:
    """Return two prompts for each row of the probe: one for its last token after the others, one for all its tokens.

    Only the first reads the prefix cache, like the prompt of a request.
    """
    continued = [(row[:-1], _once(temperature=1.0, logprob_token_ids=[row[-1]])) for row in probe.ids]
    return [*continued, *((row, _once(prompt_logprobs=1)) for row in probe.ids)]


def gap(probe: Probe, outputs: list[RequestOutput]) -> Gap:
    """Return the larger difference of both kinds of prompt from the trainer's log-probs."""
    continued, whole = outputs[:len(probe.ids)], outputs[len(probe.ids):]
    last = Probe(probe.ids, [row[-1:] for row in probe.logp])
    ends = [[_last(output)[row[-1]]] for output, row in zip(continued, probe.ids, strict=True)]
    rows = [_scored(ScoreItem(tuple(row[:1]), tuple(row[1:])), output.prompt_logprobs).logp
            for output, row in zip(whole, probe.ids, strict=True)]
    both = last.gap(ends), probe.gap(rows)
    return Gap(max(one.largest for one in both), max(one.mean for one in both))


def _once(**wanted: Any) -> SamplingParams:
    return SamplingParams(max_tokens=1, detokenize=False, flat_logprobs=True,
                          output_kind=RequestOutputKind.FINAL_ONLY, **wanted)


def _scored(item: ScoreItem, flat: Any) -> Scored:
    """Read the columns that `worker` writes at each position: the id's log-prob, the likeliest ids, the entropy."""
    made = Scored()
    for place in range(len(item.context_ids), len(item.context_ids) + len(item.ids)):
        first, last = flat.start_indices[place], flat.end_indices[place] - 1
        made.logp.append(flat.logprobs[first])
        made.entropy.append(flat.logprobs[last])
        made.top_ids.extend(flat.token_ids[first + 1:last])
        made.top_logp.extend(flat.logprobs[first + 1:last])
    return made


def _last(output: RequestOutput) -> dict[int, float]:
    """Return the log-probs by id of an output's only position."""
    flat: Any = output.outputs[0].logprobs
    span = slice(flat.start_indices[0], flat.end_indices[0])
    return dict(zip(flat.token_ids[span], flat.logprobs[span], strict=True))
