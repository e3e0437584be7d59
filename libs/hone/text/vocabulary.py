"""The vocabulary of a model: from text to token ids, whole or from a place on, and back."""

import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from tokenizers import Encoding, normalizers
from tokenizers import Tokenizer as Backend

from hone.text.control import SENTINEL
from hone.text.files import Files, TokenizerError

MOST_TOKENS = 2**20
"""Services hold the texts of all tokens."""
_ANCHORS = ("\n", "a", ".", "0", "\u4e2d")
"""Texts that a continuation is encoded after, where its own text before would share a token with it."""
_UNLIKELY = -1e9


class Vocabulary:
    """Encodes and decodes with a model's tokenizer.json. Raises TokenizerError for a file that is missing or wrong."""

    def __init__(self, files: Files) -> None:
        self._backend = _backend(files)
        encoding = self._backend.encode("a")
        self.around = _around(encoding)
        """Ids that the tokenizer itself puts before and after a text."""
        self._backend.post_processor = None  # it would also shift the offsets of tokens
        self.added = {token.content: id for id, token in self._backend.get_added_tokens_decoder().items()}
        """Ids of the added tokens by their texts."""
        self.special = {token.content for token in self._backend.get_added_tokens_decoder().values() if token.special}
        """Texts of the added tokens that the tokenizer marks as special."""

    @cached_property
    def ids(self) -> frozenset[int]:
        """Every id that a token has."""
        return frozenset(self._backend.get_vocab().values())

    def id_of(self, text: str) -> int | None:
        """Return the id of a token; None where there is no such token."""
        return self._backend.token_to_id(text) if text else None

    def text_of(self, id: int) -> str | None:
        """Return the token of an id as the vocabulary writes it; None where no token has the id."""
        return self._backend.id_to_token(id)

    @cached_property
    def texts(self) -> dict[int, str]:
        """The token of every id, also of those whose token has another id, too."""
        found = {id: token for token, id in self._backend.get_vocab().items()}
        rest = (id for id in range(len(found)) if id not in found)
        return found | {id: token for id in rest if (token := self.text_of(id)) is not None}

    @property
    def decoder(self) -> Any:
        """The decoder in tokenizer.json, null for none."""
        return json.loads(self._backend.to_str())["decoder"]

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text, without special tokens around it. Disarmed control tokens are ordinary text."""
        return list(self._encoded(text).ids)

    def rest(self, before: str, text: str) -> list[int]:
        """Return the ids of `text` as it continues `before`: no space is added, and no id begins before it."""
        for anchor in (before, *_ANCHORS):
            encoding = self._encoded(anchor + text)
            starts = [start for start, _ in encoding.offsets]
            first = next((place for place, start in enumerate(starts) if start >= len(anchor)), len(starts))
            if first == 0 or encoding.offsets[first - 1][1] <= len(anchor):
                return list(encoding.ids[first:])
        return self.encode(text)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids. Special tokens stay in it."""
        return str(self._backend.decode(list(ids), skip_special_tokens=False))

    def _encoded(self, text: str) -> Encoding:
        if SENTINEL not in text:
            return self._backend.encode(text, add_special_tokens=False)
        return self._disarming.encode(text, add_special_tokens=False)

    @cached_property
    def _disarming(self) -> Backend:
        """The same tokenizer, which drops sentinels after it has looked for added tokens."""
        content = json.loads(self._backend.to_str())
        for token in content["added_tokens"]:
            token["normalized"] = token["normalized"] and not token["special"]  # else it is read again afterwards
        if content["model"]["type"] == "Unigram":  # which has control tokens among its ordinary pieces
            content["model"]["vocab"] = [
                [piece, _UNLIKELY if piece in self.special else score] for piece, score in content["model"]["vocab"]]
        backend = Backend.from_str(json.dumps(content))
        drop, own = normalizers.Replace(SENTINEL, ""), self._backend.normalizer
        backend.normalizer = normalizers.Sequence([drop] if own is None else [drop, own])
        return backend


def _backend(files: Files) -> Backend:
    if "tokenizer.json" not in files:
        raise TokenizerError("tokenizer.json: found nothing, expected the file of a fast tokenizer")
    try:
        backend = Backend.from_str(files["tokenizer.json"].decode())
    except Exception as error:  # the library raises bare Exception
        raise TokenizerError(f"tokenizer.json: {error}") from error
    if backend.get_vocab_size() > MOST_TOKENS:
        raise TokenizerError(f"tokenizer.json: found {backend.get_vocab_size()} tokens, expected at most {MOST_TOKENS}")
    backend.no_truncation()
    backend.no_padding()
    return backend


def _around(encoding: Encoding) -> tuple[list[int], list[int]]:
    """Return the special ids before the first and after the last ordinary id of an encoding."""
    ids, special = list(encoding.ids), list(encoding.special_tokens_mask)
    ordinary: list[Any] = [place for place, mark in enumerate(special) if not mark]
    return (ids[:ordinary[0]], ids[ordinary[-1] + 1:]) if ordinary else (ids, [])
