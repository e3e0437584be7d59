"""The ends of a model: the tokens after which an answer is over, wherever they are declared."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from hone.text.files import Files, TokenizerError, json_file, named_tokens
from hone.text.vocabulary import Vocabulary

TEMPLATE = "chat template"
MOST_ENDS = 128
"""Every request to an engine names all ends."""


@dataclass(frozen=True)
class End:
    """A token that ends an answer, and the files that say so."""

    id: int
    text: str
    sources: tuple[str, ...]


def collect(files: Files, vocabulary: Vocabulary, of_template: int | None) -> list[End]:
    """Return every end that the files and the template declare, in the order in which they are found.

    `of_template` is the token that the template writes after an answer. Raises TokenizerError where there is no end,
    and where a file names an id that no token has.
    """
    sources: dict[int, list[str]] = {}
    for source, id in (*_declared(files, vocabulary), *([(TEMPLATE, of_template)] if of_template is not None else [])):
        sources.setdefault(id, []).append(source)
    if not sources:
        raise TokenizerError("eos: found none in generation_config.json, config.json, tokenizer_config.json and the "
                             "chat template")
    if len(sources) > MOST_ENDS:
        raise TokenizerError(f"eos_token_id: found {len(sources)} ends in all files, expected at most {MOST_ENDS}")
    return [End(id, _text(vocabulary, id, named[0]), tuple(named)) for id, named in sources.items()]


def _declared(files: Files, vocabulary: Vocabulary) -> Iterator[tuple[str, int]]:
    for name in ("generation_config.json", "config.json"):
        for id in _ids(json_file(files, name).get("eos_token_id"), name):
            yield name, id
    own = vocabulary.id_of(named_tokens(files).get("eos_token", ""))
    if own is not None:
        yield "tokenizer_config.json", own


def _ids(given: Any, name: str) -> Iterable[int]:
    ids = [] if given is None else given if isinstance(given, list) else [given]
    for id in ids:
        if type(id) is not int or id < 0:
            raise TokenizerError(f"{name}: eos_token_id: found {id!r}, expected a token id")
    return ids


def _text(vocabulary: Vocabulary, id: int, source: str) -> str:
    text = vocabulary.text_of(id)
    if text is None:
        raise TokenizerError(f"{source}: eos_token_id: found {id}, expected the id of a token")
    return text
