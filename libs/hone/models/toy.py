"""A small random Qwen3 with a character tokenizer, for demos, tests and benchmarks. Torch-free.

The task alphabet and default size are those of the two-core recipe: 27 symbols, 0.53M parameters.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
from tokenizers import AddedToken, Tokenizer, decoders
from tokenizers.models import BPE

from hone.models import architecture

SPECIALS = ["<pad>", "<bos>", "<eos>", "<unk>"]
SYMBOLS = [*SPECIALS, *"0123456789", *"+-*/=()", "s", *" ,.:?"]
TEXT = [*SPECIALS, "\n", *map(chr, range(32, 127))]
"""Symbols of plain English and code; they need a vocabulary of 100 or more."""
PAD, BOS, EOS, UNK = range(4)
_STD = 0.02


def files(
    seed: int = 0, *, hidden: int = 128, layers: int = 2, heads: int = 4, kv_heads: int | None = None,
    head_dim: int = 32, ffn: int = 512, vocab_size: int = 32, tied: bool = True, symbols: Sequence[str] = SYMBOLS,
) -> dict[str, bytes]:
    """Return the files of a model directory by name; equal arguments give equal bytes. `symbols` begin with SPECIALS.

    Symbols of several characters are tokens of their own, which are taken before single characters.
    Weights are normal with standard deviation 0.02, norms 1. Loads with AutoModelForCausalLM and AutoTokenizer.
    """
    if vocab_size < len(symbols):
        raise ValueError(f"vocab_size: found {vocab_size}, expected {len(symbols)} or more, one a symbol")
    config = _config(
        num_hidden_layers=layers, hidden_size=hidden, intermediate_size=ffn, num_attention_heads=heads,
        num_key_value_heads=kv_heads or heads, head_dim=head_dim, vocab_size=vocab_size, tie_word_embeddings=tied,
    )
    return {
        "config.json": _json(config),
        "generation_config.json": _json({"bos_token_id": BOS, "eos_token_id": EOS, "pad_token_id": PAD}),
        "model.safetensors": _weights(config, seed),
        "tokenizer.json": _tokenizer(symbols).to_str(pretty=True).encode(),
        "tokenizer_config.json": _json({
            "tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False,
            "pad_token": "<pad>", "bos_token": "<bos>", "eos_token": "<eos>", "unk_token": "<unk>",
        }),
    }


def write(directory: Path | str, seed: int = 0, **sizes: Any) -> Path:
    """Write `files(seed, **sizes)` to `directory`, make it if it is missing, and return its path."""
    target = Path(directory)
    target.mkdir(parents=True, exist_ok=True)
    for name, data in files(seed, **sizes).items():
        (target / name).write_bytes(data)
    return target


def _config(**sizes: int) -> dict[str, Any]:
    return {
        "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "dtype": "float32",
        **sizes, "hidden_act": "silu", "rms_norm_eps": 1e-6, "max_position_embeddings": 4096,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}, "attention_bias": False,
        "attention_dropout": 0.0, "use_sliding_window": False, "use_cache": True,
        "initializer_range": _STD, "bos_token_id": BOS, "eos_token_id": EOS, "pad_token_id": PAD,
    }


def _weights(config: dict[str, Any], seed: int) -> bytes:
    random = np.random.Generator(np.random.PCG64(seed))
    tensors = {}
    for name, shape in architecture.parse(config).shapes().items():
        drawn = random.standard_normal(shape, dtype=np.float32) * np.float32(_STD)
        tensors[name] = np.ones(shape, np.float32) if len(shape) == 1 else drawn
    return safetensors.numpy.save(tensors, metadata={"format": "pt"})


def _tokenizer(symbols: Sequence[str]) -> Tokenizer:
    vocabulary = {symbol: number for number, symbol in enumerate(symbols)}
    tokenizer = Tokenizer(BPE(vocab=vocabulary, merges=[], unk_token="<unk>"))
    tokenizer.decoder = decoders.Fuse()
    tokenizer.add_special_tokens([AddedToken(symbol, special=True) for symbol in SPECIALS])
    tokenizer.add_tokens([AddedToken(symbol, normalized=False) for symbol in symbols if len(symbol) > 1
                          and symbol not in SPECIALS])
    return tokenizer


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=2, sort_keys=True).encode()
