"""Text while it arrives: joined, the pieces are the text of the whole answer; bytes of tokens are those of the text."""

import random
from collections.abc import Callable

import pytest

from hone.text.files import TokenizerError
from hone.text.streaming import TextStream, token
from hone.text.tokenizer import Tokenizer
from tests.support.text.tokenizers import KINDS, TEXTS, byte_fallback, byte_level


@pytest.mark.parametrize("kind", KINDS)
def test_pieces_of_any_size_join_to_the_text(kind: Callable[[], Tokenizer]) -> None:
    tokenizer, draw = kind(), random.Random(1)
    for text in [*TEXTS, "a. ab c", ""] * 20:
        try:
            prompt, answer = tokenizer.encode("b a"), tokenizer.encode(text)
        except TokenizerError:  # a vocabulary without bytes lacks some characters
            continue
        ended = [*answer, *tokenizer.stop_ids[:draw.randrange(2)]]
        stream, start, said = TextStream(tokenizer, prompt), 0, ""
        while start < len(ended):
            end = min(len(ended), start + draw.randrange(1, 4))
            said += stream.push(ended[start:end], last=end == len(ended))
            start = end
        assert said == tokenizer.decode(ended, after=prompt)


@pytest.mark.parametrize("kind", [byte_level, byte_fallback])
def test_a_character_is_given_with_its_last_byte(kind: Callable[[], Tokenizer]) -> None:
    tokenizer = kind()
    stream, ids = TextStream(tokenizer, []), tokenizer.encode("a👩b")
    pieces = [stream.push([id], last=id == ids[-1]) for id in ids]
    assert "👩" in pieces
    assert "".join(pieces).strip() == "a👩b"


@pytest.mark.parametrize("kind", [byte_level, byte_fallback])
@pytest.mark.parametrize("text", TEXTS)
def test_the_bytes_of_tokens_are_those_of_the_text(kind: Callable[[], Tokenizer], text: str) -> None:
    tokenizer = kind()
    ids = tokenizer.encode(text)
    raw = b"".join(token(tokenizer, id, ids[:place])[1] for place, id in enumerate(ids))
    assert raw.decode().strip() == text.strip()
    assert token(byte_level(), byte_level().encode("👩")[0], [])[0] == "bytes:\\xf0"
