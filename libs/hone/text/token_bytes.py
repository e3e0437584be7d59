"""The bytes of tokens: of one by its name in the vocabulary, and of all tokens of a model."""

import re

from hone.text.model_text import ModelText

_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
_SPACE = "\u0120"
"""How byte-level vocabularies write a space."""


def named(written: str) -> bytes | None:
    """Return the bytes of a token by its name in the vocabulary: `<0xE4>`, or a character a byte, as in GPT-2.

    None for a token that is named otherwise.
    """
    if whole := _BYTE.fullmatch(written):
        return bytes([int(whole[1], 16)])
    if not written or any(character not in _CHARACTERS for character in written):
        return None
    return bytes(_CHARACTERS[character] for character in written)


def of_all(text: ModelText, size: int) -> list[bytes]:
    """Return the bytes that each id below `size` adds inside of a text; none for ids without a token."""
    byte_level = text.id_of(_SPACE)
    found = [b""] * size
    if byte_level is not None and text.read([byte_level]) == " ":
        for id in text.used_ids(size):
            written = text.written(id)
            raw = named(written)
            found[id] = written.encode() if raw is None else raw
        return found
    before = [id for id in (text.id_of("a"),) if id is not None]
    for id in text.used_ids(size):
        found[id] = _added(text, id, before)
    return found


def _added(text: ModelText, id: int, before: list[int]) -> bytes:
    added = text.added(id, before)
    raw = named(text.written(id)) if "\ufffd" in added or not added else None
    return added.encode() if raw is None else raw


def _byte_characters() -> dict[str, int]:
    """Return the byte for which each character stands in byte-level vocabularies."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + place): byte for place, byte in enumerate(others)}


_CHARACTERS = _byte_characters()
