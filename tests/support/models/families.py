"""A small model of each family, in the stock library and in ours."""

import json

import numpy as np
import torch
import transformers

from hone.trajectory.microbatches import cut
from hone.trajectory.packing import pack

_SMALL = {
    "vocab_size": 32, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "head_dim": 8,
    "intermediate_size": 48, "max_position_embeddings": 256, "rms_norm_eps": 1e-6,
}
FAMILIES = {
    "qwen3": ("Qwen3", {"num_key_value_heads": 2, "tie_word_embeddings": True}),
    "qwen3 untied": ("Qwen3", {"num_key_value_heads": 4, "tie_word_embeddings": False}),
    "qwen2": ("Qwen2", {"num_key_value_heads": 2, "tie_word_embeddings": True}),
    "qwen3 of one layer": ("Qwen3", {"num_key_value_heads": 2, "tie_word_embeddings": True, "num_hidden_layers": 1}),
    "llama": ("Llama", {"num_key_value_heads": 1, "tie_word_embeddings": False, "rope_theta": 5000.0}),
}


def stock(family, changes):
    """A transformers model with random weights and its config.json."""
    torch.manual_seed(0)
    config = getattr(transformers, f"{family}Config")(**{**_SMALL, **changes})
    model = getattr(transformers, f"{family}ForCausalLM")(config)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3 if parameter.dim() > 1 else 1.0)
    return model, {**json.loads(config.to_json_string(use_diff=False)), "architectures": [f"{family}ForCausalLM"]}


def of_stock(model, trajectories, temperature):
    """Log-probabilities and entropies of all completions, one after the other."""
    logps, entropies = [], []
    for each in trajectories:
        [only] = each.calls
        ids = torch.tensor([only.prompt_ids + only.completion_ids])
        logp = (model(ids).logits[0, len(only.prompt_ids) - 1:-1] / temperature).log_softmax(-1)
        logps.append(logp.gather(1, torch.tensor(only.completion_ids)[:, None])[:, 0])
        entropies.append(-(logp.exp() * logp).sum(-1))
    return torch.cat(logps), torch.cat(entropies)


def of_policy(trained, step, temperature, budget, weights):
    """The same through packing; adds the gradient of sum(weights[0] logp + weights[1] entropy)."""
    batch = pack(*step)
    outputs = torch.empty(2, int(batch.tokens.sum()))
    for micro in cut(batch, np.ones(len(batch.rows), np.bool_), budget):
        found = torch.stack(trained(micro, temperature, entropy_gradient=True))
        (found * weights[:, micro.token]).sum().backward()
        outputs[:, micro.token] = found.detach()
    return outputs
