"""Log-probs and entropies of given ids after given contexts, with the numerics of generation."""

import numpy as np
import torch
from torch import Tensor

from services.inference.native import prefill
from services.inference.native.cache import Cache
from services.inference.native.decoder import Decoder
from services.inference.native.ladder import ROWS, Ladder
from services.inference.native.prefill import Context
from services.inference.scoring import Item, Scored


def score(decoder: Decoder, cache: Cache, ladder: Ladder, items: list[Item], temperature: float) -> list[Scored]:
    """Return one result for each of at most `BATCH` items; `cache` is scratch with as many slots."""
    contexts = [Context(slot, np.array(item.context_ids + item.ids)) for slot, item in enumerate(items)]
    cache.reserve(max(len(context.ids) for context in contexts))
    logp = [np.zeros(len(item.ids), np.float32) for item in items]
    entropy = [np.zeros(len(item.ids), np.float32) for item in items]
    for chunk, hidden in prefill.fill(decoder, cache, ladder, contexts):
        for place, member in enumerate(chunk.members):
            item, first = items[member], len(items[member].context_ids)
            # The state at position p scores the id at p + 1.
            begin, end = max(first - 1, chunk.start), min(len(contexts[member].ids) - 1, chunk.start + chunk.width)
            if begin < end:
                states = hidden[place, begin - chunk.start:end - chunk.start]
                wanted = item.ids[begin + 1 - first:end + 1 - first]
                slots = slice(begin + 1 - first, end + 1 - first)
                logp[member][slots], entropy[member][slots] = _scored(decoder, states, wanted, temperature)
    return [Scored(one.tolist(), other.tolist()) for one, other in zip(logp, entropy, strict=True)]


def _scored(decoder: Decoder, states: Tensor, ids: tuple[int, ...], temperature: float) -> tuple[Tensor, Tensor]:
    padded = torch.zeros(-(-len(states) // ROWS) * ROWS, states.shape[1])
    padded[:len(states)] = states
    logits = decoder.logits(padded)[:len(states), :decoder.architecture.vocab_size]
    logp = torch.log_softmax(logits / temperature, -1)
    return logp.gather(1, torch.tensor(ids)[:, None]).squeeze(1), -(logp.exp() * logp).sum(-1)
