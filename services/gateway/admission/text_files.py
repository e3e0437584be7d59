"""Checks that a model's text rules can be used: its tokenizer, its ends, and its chat template by rendering with it."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, TypeVar

from hone.models.checkpoint_header import BadCheckpoint
from hone.text.confined import ConfinedTokenizer
from hone.text.files import TokenizerError
from hone.text.model_text import ModelText
from hone.text.rules import TextRules

Found = TypeVar("Found")
_reader = ThreadPoolExecutor(4, "text")
"""Threads that wait for processes of tokenizers, apart from those of other work."""


async def in_thread(do: Callable[..., Found], *given: Any) -> Found:
    """Return the result of `do`, which reads or makes a model's text."""
    return await asyncio.get_running_loop().run_in_executor(_reader, do, *given)


def inspect(files: dict[str, bytes], vocab_size: int) -> dict[str, Any]:
    """Return facts for the manifest: ends, whether there is a template, what it cannot show, ids that no token has.

    Raises BadCheckpoint with the file and the reason: a tokenizer that cannot be read or has ids beyond the model's
    vocabulary, no end, or a template that cannot render a question and its follow-up.
    """
    try:
        tokenizer = ConfinedTokenizer(files, TextRules(date=datetime.now(UTC).date().isoformat()))
    except TokenizerError as error:
        subject, separator, reason = str(error).partition(": ")
        raise BadCheckpoint(subject if separator else "tokenizer.json", reason or str(error),
                            "a tokenizer and a template as transformers writes them") from None
    tokenizer.close()
    _check_ids(tokenizer, vocab_size)
    facts = tokenizer.facts
    for reason in facts.refuses.values():
        raise BadCheckpoint("chat_template", reason, "a template that renders a user's question")
    return {"ends": [asdict(end) for end in facts.ends], "templated": facts.templated,
            "dated": facts.dated, "lacks": facts.lacks, "bos": facts.bos,
            "unused_ids": len(tokenizer.unused_ids(vocab_size))}


def _check_ids(tokenizer: ModelText, vocab_size: int) -> None:
    id, token = tokenizer.highest
    if id >= vocab_size:
        raise BadCheckpoint("tokenizer.json", f"the token {token!r} with id {id}",
                            f"ids below vocab_size of config.json ({vocab_size})")
