"""The bytes of all tokens: joined, those of a text's tokens are the text, whatever the tokenizer decodes like."""

from collections.abc import Callable

import pytest

from hone.text import token_bytes
from hone.text.tokenizer import Tokenizer
from tests.support.text.tokenizers import TEXTS, byte_fallback, byte_level, metaspace, word_pieces


@pytest.mark.parametrize("kind", [byte_level, byte_fallback])
@pytest.mark.parametrize("text", TEXTS)
def test_joined_they_are_the_text(kind: Callable[[], Tokenizer], text: str) -> None:
    tokenizer = kind()
    found = token_bytes.of_all(tokenizer, 400)
    assert len(found) == 400
    assert b"".join(found[id] for id in tokenizer.encode(text)).decode().strip() == text.strip()


def test_marks_of_words_are_spaces() -> None:
    tokenizer = metaspace()
    assert token_bytes.of_all(tokenizer, 60)[tokenizer.id_of("▁a") or 0] == b" a"
    pieces = word_pieces()
    assert [token_bytes.of_all(pieces, 5)[pieces.id_of(one) or 0] for one in ("c", "##b")] == [b" c", b"b"]
    assert token_bytes.of_all(pieces, 6)[5] == b"", "no token has this id"
