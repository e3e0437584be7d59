"""Log-probs, entropies and likeliest ids of given ids after given contexts, with the numerics of generation."""

import numpy as np
import torch
from torch import Tensor

from services.inference.native import prefill
from services.inference.native.cache import Cache
from services.inference.native.decoder import Decoder
from services.inference.native.ladder import ROWS, Ladder
from services.inference.native.prefill import Context
from services.inference.scoring import Item, Scored, likeliest


def score(
    decoder: Decoder, cache: Cache, ladder: Ladder, items: list[Item], temperature: float, top_k: int
) -> list[Scored]:
    """Return one result for each of at most `BATCH` items; `cache` is scratch with as many slots."""
    contexts = [Context(slot, np.array(item.context_ids + item.ids)) for slot, item in enumerate(items)]
    cache.reserve(max(len(context.ids) for context in contexts))
    scored = [Scored() for _ in items]
    for chunk, hidden in prefill.fill(decoder, cache, ladder, contexts):  # each context's chunks in order
        for place, member in enumerate(chunk.members):
            item, first = items[member], len(items[member].context_ids)
            # The state at position p scores the id at p + 1.
            begin, end = max(first - 1, chunk.start), min(len(contexts[member].ids) - 1, chunk.start + chunk.width)
            if begin < end:
                logp = _logp(decoder, hidden[place, begin - chunk.start:end - chunk.start], temperature)
                scored[member].extend(_scored(logp, item.ids[begin + 1 - first:end + 1 - first], top_k))
    return scored


def _logp(decoder: Decoder, states: Tensor, temperature: float) -> Tensor:
    """Return log-probs [places, vocabulary] after hidden states [places, hidden]."""
    padded = torch.zeros(-(-len(states) // ROWS) * ROWS, states.shape[1])
    padded[:len(states)] = states
    logits = decoder.logits(padded)[:len(states), :decoder.architecture.vocab_size]
    return torch.log_softmax(logits / temperature, -1)


def _scored(logp: Tensor, ids: tuple[int, ...], top_k: int) -> Scored:
    """Read off log-probs [places, vocabulary] what is said of the ids at these places."""
    entropy = -(logp.exp() * logp).sum(-1)
    top_ids, top_logp = likeliest(logp.numpy(), top_k)
    return Scored(logp.gather(1, torch.tensor(ids)[:, None]).squeeze(1).tolist(), entropy.tolist(),
                  top_ids.ravel().tolist(), top_logp.ravel().tolist())
