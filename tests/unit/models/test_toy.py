"""The toy model loads in stock transformers and is the same bytes for the same seed."""

from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from hone.models import toy


def test_equal_seeds_give_equal_bytes_and_others_differ() -> None:
    assert toy.files(3) == toy.files(3)
    assert toy.files(3)["model.safetensors"] != toy.files(4)["model.safetensors"]


def test_alphabet_has_27_symbols() -> None:
    assert len(toy.SYMBOLS) == len(set(toy.SYMBOLS)) == 27


def test_stock_transformers_loads_it(tmp_path: Path) -> None:
    loaded: Any = AutoModelForCausalLM.from_pretrained(toy.write(tmp_path), dtype="auto", output_loading_info=True)
    model, report = loaded
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    assert model.dtype == torch.float32
    assert model.lm_head.weight is model.model.embed_tokens.weight
    assert sum(parameter.numel() for parameter in model.parameters()) == 529_152


def test_stock_tokenizer_round_trips_characters(tmp_path: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(toy.write(tmp_path))
    ids = tokenizer("s529170=")["input_ids"]
    assert len(ids) == 8
    assert tokenizer.decode(ids) == "s529170="
    assert tokenizer.decode([*ids, toy.EOS], skip_special_tokens=True) == "s529170="
    assert (tokenizer.eos_token_id, tokenizer.pad_token_id) == (toy.EOS, toy.PAD)
