"""A first forward pass of new weights, before anybody is served by them."""

import torch

from hone.models.architecture import Architecture
from services.inference.native.cache import Cache
from services.inference.native.decoder import Decoder
from services.inference.native.ladder import SHORTEST_REACH
from services.inference.native.weights import NotFinite, Weights


def check(architecture: Architecture, weights: Weights) -> None:
    """Raise NotFinite when `weights` answer the probe, ids spread over the vocabulary, with NaN or infinity."""
    width = SHORTEST_REACH
    with torch.inference_mode():
        decoder, cache = Decoder(architecture, weights, width), Cache(architecture, 1, width)
        ids = torch.arange(width) * architecture.vocab_size // width
        step = decoder.plan(cache, torch.arange(width)[None], torch.tensor([0]), width)
        logits = decoder.logits(decoder.hidden(cache, ids, step))[:, :architecture.vocab_size]
    if not bool(torch.isfinite(logits).all()):
        raise NotFinite("logits of the probe hold NaN or infinity")
