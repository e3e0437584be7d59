"""The files of a model that say how text becomes token ids."""

import json
from collections.abc import Mapping
from typing import Any

FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "generation_config.json", "config.json",
         "chat_template.jinja")
"""Names of a model's tokenizer files. Only the first is required."""

Files = Mapping[str, bytes]
"""The bytes of a model's files by their names."""


class TokenizerError(ValueError):
    """The tokenizer files cannot be used, or the chat template rejects the messages."""


class Unbounded(TokenizerError):
    """The chat template or the tokenizer needs more time or memory than it may have."""


def json_file(files: Files, name: str) -> dict[str, Any]:
    """Return the object in a JSON file; {} where the file is missing. Raises TokenizerError."""
    try:
        found = json.loads(files.get(name, b"{}"))
    except (ValueError, RecursionError) as error:
        raise TokenizerError(f"{name}: {error}") from error
    if not isinstance(found, dict):
        raise TokenizerError(f"{name}: found {type(found).__name__}, expected an object")
    return found


def named_tokens(files: Files) -> dict[str, str]:
    """Return the texts of the named special tokens, such as bos_token, as a template reads them."""
    given = {**json_file(files, "special_tokens_map.json"),
             **{name: value for name, value in json_file(files, "tokenizer_config.json").items() if value is not None}}
    return {name: text for name, value in given.items() if name.endswith("_token") and (text := _text(value))}


def _text(token: Any) -> str:
    """Return the text of a special token, which is a string or an object with the string as `content`."""
    found = token.get("content") if isinstance(token, dict) else token
    return found if isinstance(found, str) else ""
