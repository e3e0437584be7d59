"""Tokenizers of each kind, and texts for them."""

import json
from typing import Any

from tokenizers import AddedToken, decoders
from tokenizers import Tokenizer as Vocabulary
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel, Metaspace

from hone.text.tokenizer import Tokenizer

_BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
_PLAIN = ["▁", *"abcdefghijklmnopqrstuvwxyzé.,", "▁a", "ab"]
_SENTENCE_PIECE = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
TEXTS = ("👩‍🚀 and 👨‍👩‍👧", "e\u0301 x\u0323\u0307", "한국어 ab", "a €€ b", "a  ab  ", "\ufffd", "🏳️‍🌈\ufffd\ufffda")


def byte_level() -> Tokenizer:
    """A token for each byte, as GPT-2 and Qwen write them."""
    made = Vocabulary(BPE(vocab={symbol: id for id, symbol in enumerate(sorted(ByteLevel.alphabet()))}, merges=[]))
    made.pre_tokenizer, made.decoder = ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    return _tokenizer(made)


def byte_fallback() -> Tokenizer:
    """Llama-2's decoder: bytes of unknown characters, and one space less at the start."""
    symbols = ["<unk>", *_BYTES, *_PLAIN]
    made = Vocabulary(BPE(vocab={symbol: id for id, symbol in enumerate(symbols)}, byte_fallback=True,
                          merges=[("▁", "a"), ("a", "b")], unk_token="<unk>"))
    made.pre_tokenizer, made.decoder = Metaspace(), decoders.Sequence(_SENTENCE_PIECE)
    return _tokenizer(made)


def metaspace() -> Tokenizer:
    """Words that begin with a mark instead of a space, without bytes."""
    made = Vocabulary(BPE(vocab={symbol: id for id, symbol in enumerate(["<unk>", *_PLAIN])}, unk_token="<unk>",
                          merges=[("▁", "a"), ("a", "b")]))
    made.pre_tokenizer, made.decoder = Metaspace(), decoders.Metaspace()
    return _tokenizer(made)


def word_pieces() -> Tokenizer:
    """BERT's decoder, which joins by spaces."""
    made = Vocabulary(BPE(vocab={symbol: id for id, symbol in enumerate(["a", "##b", ".", "c"])}, merges=[]))
    made.decoder = decoders.WordPiece()
    return _tokenizer(made)


def _tokenizer(made: Vocabulary) -> Tokenizer:
    made.add_special_tokens([AddedToken("</s>", special=True)])
    return Tokenizer({"tokenizer.json": made.to_str().encode(),
                      "tokenizer_config.json": json.dumps({"eos_token": "</s>"}).encode()})


KINDS: list[Any] = [byte_level, byte_fallback, metaspace, word_pieces]
