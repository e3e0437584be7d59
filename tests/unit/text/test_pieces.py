"""Text token by token: joined, the pieces are the text of all ids, whatever the tokenizer decodes like."""

import json
import random
from collections.abc import Sequence
from typing import Any

import pytest
from tokenizers import AddedToken, decoders
from tokenizers import Tokenizer as Vocabulary
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel, Metaspace

from hone.text.tokenizer import Tokenizer
from services.inference.answers import TextStops

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


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("kind", [byte_level, byte_fallback])
def test_each_character_comes_with_its_last_token(kind: Any, text: str) -> None:
    tokenizer = kind()
    ids = tokenizer.encode(text)
    assert "".join(tokenizer.pieces(ids)) == tokenizer.decode(ids) == text
    reached = 0
    for end, piece in enumerate(tokenizer.pieces(ids)):
        reached += len(piece)
        assert not piece or tokenizer.decode(ids[:end + 1]) == text[:reached]


@pytest.mark.parametrize("kind", KINDS)
def test_the_pieces_of_random_ids_joined_are_their_text(kind: Any) -> None:
    tokenizer, noise = kind(), random.Random(0)
    for _ in range(500):
        ids = noise.choices(sorted(tokenizer._vocabulary.ids), k=noise.randrange(40))
        pieces = tokenizer.pieces(ids)
        assert len(pieces) == len(ids)
        assert "".join(pieces) == tokenizer._decoded(ids)


def test_one_wrong_byte_makes_all_bytes_beside_it_unreadable() -> None:
    tokenizer = byte_fallback()
    euro = [1 + byte for byte in "€".encode()]
    assert tokenizer.pieces([*euro, *tokenizer.encode("a")])[:3] == ["", "", "€"]
    assert "".join(tokenizer.pieces([*euro, 1 + 0xFF])) == "\ufffd" * 4 == tokenizer.decode([*euro, 1 + 0xFF])


@pytest.mark.parametrize("kind", [byte_level, byte_fallback])
def test_the_work_grows_with_the_length_and_not_with_its_square(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer, decoded, work = kind(), Tokenizer._decoded, list[int]()

    def counted(self: Tokenizer, ids: Sequence[int]) -> str:
        work.append(len(ids))
        return decoded(self, ids)

    monkeypatch.setattr(Tokenizer, "_decoded", counted)
    for ids in (tokenizer.encode("€") * 1000, [1 + 0x80] * 3000, tokenizer.encode("👩‍🚀") * 300 + [1 + 0xFF]):
        work.clear()
        tokenizer.pieces(ids)
        assert sum(work) < 30 * len(ids)


def test_a_stop_text_is_found_among_bytes() -> None:
    tokenizer = byte_fallback()
    stops, before = TextStops(tokenizer), tokenizer.encode("€" * 20 + "é")
    stop = tokenizer.encode("x答え")[1:]  # without the mark of the space before a text
    for end in range(1, len(stop)):
        assert stops.tokens_kept([*before, *stop[:end]], ("答え",), include_stop=False) is None
    assert stops.tokens_kept([*before, *stop], ("答え",), include_stop=False) == len(before) + 1
    longer = [*before, *stop, *tokenizer.encode("€")[1:]]
    assert stops.tokens_kept(longer, ("答え",), include_stop=False) == len(before) + 1


def test_ids_that_no_token_has_are_the_padding_and_the_holes() -> None:
    made = Vocabulary(BPE(vocab={"a": 0, "b": 3}, merges=[]))
    made.add_special_tokens([AddedToken("</s>", special=True)])
    end = made.token_to_id("</s>")
    tokenizer = Tokenizer({"tokenizer.json": made.to_str().encode(), "tokenizer_config.json": b'{"eos_token": "</s>"}'})
    assert tokenizer.unused_ids(8) == [id for id in range(8) if id not in (0, 3, end)]
    assert tokenizer.unused_ids(1) == []
