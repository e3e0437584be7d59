"""Text token by token: joined, the pieces are the text of all ids, whatever the tokenizer decodes like."""

import random
from collections.abc import Sequence
from typing import Any

import pytest
from tokenizers import AddedToken
from tokenizers import Tokenizer as Vocabulary
from tokenizers.models import BPE

from hone.text.tokenizer import Tokenizer
from services.inference.answers import TextStops
from tests.support.text.tokenizers import KINDS, TEXTS, byte_fallback, byte_level


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
