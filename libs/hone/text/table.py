"""The tokens of a model by their ids, and ids to text, without anything that could take long.

Only decoders are accepted whose work is bounded by the text: no regular expressions, nothing that makes text longer.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from tokenizers import Tokenizer as Backend

from hone.text.files import TokenizerError

_BOUNDED = {"ByteLevel", "ByteFallback", "Metaspace", "WordPiece", "BPEDecoder", "Fuse", "Strip", "CTC"}
_STEPS, _LONGEST_TOKEN = 8, 4096
_EMPTY: Mapping[str, Any] = {
    "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
    "pre_tokenizer": None, "post_processor": None,
    "model": {"type": "WordLevel", "vocab": {}, "unk_token": ""}}


class TokenTable:
    """Decodes like the tokenizers library, of which it uses the decoder alone. Raises TokenizerError."""

    def __init__(self, texts: Mapping[int, str], decoder: Any) -> None:
        """`texts` are the tokens by id, `decoder` is that of tokenizer.json."""
        for id, text in texts.items():
            if len(text) > _LONGEST_TOKEN:
                raise TokenizerError(f"tokenizer.json: the token with id {id} has {len(text)} characters, expected at "
                                     f"most {_LONGEST_TOKEN}")
        self._texts, self._decoder = texts, _decoder(decoder)
        self._by_text = {text: id for id, text in texts.items()}

    @cached_property
    def ids(self) -> frozenset[int]:
        """Every id that a token has."""
        return frozenset(self._by_text.values())

    def id_of(self, text: str) -> int | None:
        """Return the id of a token; None where there is no such token."""
        return self._by_text.get(text)

    def text_of(self, id: int) -> str | None:
        """Return the token of an id as the vocabulary writes it; None where no token has the id."""
        return self._texts.get(id)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids. Special tokens stay in it."""
        tokens = [self._texts[id] for id in ids if id in self._texts]
        return str(self._decoder.decode(tokens)) if self._decoder else " ".join(tokens)


def _decoder(given: Any) -> Any:
    """Return the library's decoder, or None for none. Raises TokenizerError for one that is not bounded."""
    if given is None:
        return None
    steps = list(_steps(given))
    if len(steps) > _STEPS or not all(map(_bounded, steps)):
        kinds = ", ".join(str(step.get("type") if isinstance(step, dict) else step) for step in steps)[:200]
        raise TokenizerError(f"tokenizer.json: decoder: found {kinds}, expected at most {_STEPS} of "
                             f"{', '.join(sorted(_BOUNDED))}, and Replace of a text by one that is not longer")
    try:
        return Backend.from_str(json.dumps({**_EMPTY, "decoder": given})).decoder
    except Exception as error:  # the library raises bare Exception
        raise TokenizerError(f"tokenizer.json: decoder: {error}") from error


def _steps(given: Any, depth: int = 0) -> Iterator[Any]:
    if isinstance(given, dict) and given.get("type") == "Sequence" and depth <= _STEPS:
        inner = given.get("decoders")
        for step in inner if isinstance(inner, list) else [inner]:
            yield from _steps(step, depth + 1)
    else:
        yield given


def _bounded(step: Any) -> bool:
    if not isinstance(step, dict):
        return False
    if step.get("type") == "Replace":
        pattern, content = step.get("pattern"), step.get("content")
        text = pattern.get("String") if isinstance(pattern, dict) else None
        return isinstance(text, str) and isinstance(content, str) and len(content.encode()) <= len(text.encode())
    return step.get("type") in _BOUNDED
