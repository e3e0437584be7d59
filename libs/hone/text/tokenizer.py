"""Text to token ids and back, with the tokenizer files of a version of the weights. Nothing else tokenizes."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jinja2 import TemplateError
from jinja2.ext import Extension, LoopControlExtension
from jinja2.nodes import Node
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import Tokenizer as Vocabulary

FILES = ("tokenizer.json", "tokenizer_config.json", "generation_config.json", "config.json", "chat_template.jinja")
"""Names of a model's tokenizer files. Only the first is required."""

Message = Mapping[str, str]

_ALWAYS_TRIED = 16
"""Ids without any text, after which text is looked for at each of them; then after twice as many, and so on."""
_MOST_BYTES = 4
"""Of a character."""


class TokenizerError(ValueError):
    """The tokenizer files cannot be used, or the chat template rejects the messages."""


class Tokenizer:
    """Turns conversations into prompt ids and completions into text.

    `files` maps names of FILES to their bytes. Raises TokenizerError naming the file that is missing or wrong.
    """

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._vocabulary = _vocabulary(files)
        self._inside = {self._vocabulary.token_to_id(f"<0x{byte:02X}>") for byte in range(0x80, 0xC0)}  # of characters
        self._config = _json(files, "tokenizer_config.json")
        self._template = _template(files, self._config)
        self.stop_ids = _stop_ids(self._vocabulary, self._config, files)

    @property
    def templated(self) -> bool:
        """Whether the model has a chat template. Without one the contents of messages are joined."""
        return self._template is not None

    @property
    def eos_id(self) -> int:
        """The id that ends a completion in training data: the tokenizer's eos, else the model's first stop id."""
        own = self._vocabulary.token_to_id(_text(self._config.get("eos_token")))
        return self.stop_ids[0] if own is None else own

    def prompt_ids(self, messages: Sequence[Message]) -> list[int]:
        """Return the ids that ask for the next answer to `messages` (each with role and content).

        The chat template renders them if the model has one. Otherwise their contents are joined as plain text, with the
        tokens that the tokenizer itself puts around a text. Raises TokenizerError if the template rejects them.
        """
        if self._template is None:
            return list(self._vocabulary.encode(self._rendered(messages)).ids)
        return self.encode(self._rendered(messages))

    def next_prompt_ids(
        self, said: Sequence[Message], prompt_ids: list[int], completion_ids: list[int], added: Sequence[Message]
    ) -> list[int]:
        """Return the ids that ask for the answer to `said`, the sampled completion and the messages `added` after it.

        The sampled ids are kept as they are, so that their log-probs stay true, and only the text after them is
        tokenized. If the template renders the earlier text differently (it drops thoughts, say), all text is tokenized.
        """
        text = self.decode(completion_ids)
        whole = self._rendered([*said, {"role": "assistant", "content": text}, *added])
        before = self._rendered(said) + text
        if not whole.startswith(before):
            return self.encode(whole)
        rest = whole[len(before):]
        if completion_ids and completion_ids[-1] in self.stop_ids:
            rest = rest.removeprefix(self._vocabulary.id_to_token(completion_ids[-1]) or "")
        return prompt_ids + completion_ids + self.encode(rest)

    def _rendered(self, messages: Sequence[Message]) -> str:
        if self._template is None:
            return "".join(message["content"] for message in messages)
        return self._template(messages=list(messages), add_generation_prompt=True)

    def encode(self, text: str) -> list[int]:
        """Return the ids of `text` alone, without special tokens around it."""
        return list(self._vocabulary.encode(text, add_special_tokens=False).ids)

    def completion_ids(self, text: str) -> list[int]:
        """Return the ids of an answer in training data: `text`, then eos."""
        return [*self.encode(text), self.eos_id]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of `ids` without a stop id at their end. Special tokens inside stay in the text."""
        body = ids[:-1] if ids and ids[-1] in self.stop_ids else ids
        return self._decoded(body)

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the text that each id adds. Joined they are the text of all ids; stop ids are shown too.

        The last id of a character gives the character. A text that later ids change (one wrong byte makes every byte
        beside it unreadable) belongs to the id after which it stays.
        """
        whole, found = self._decoded(ids), list[str]()
        known = shown = given = 0  # `ids[known:shown]` gave the last text, and whole[:given] is given in all
        for end in range(1, len(ids) + 1):
            added = self._added(ids[known:end], shown - known, end == len(ids)) if _tried(end - shown) else None
            if added is None or not whole.startswith(added, given):
                found.append("")
                continue
            known, shown, given = shown, end, given + len(added)
            found.append(added)
        return [*found[:-1], found[-1] + whole[given:]] if found else []

    def _added(self, ids: Sequence[int], since: int, last: bool) -> str | None:
        """Return the text that `ids[since:]` add to that of the ids before.

        None if they change it, or if their last character may be incomplete and more ids follow.
        """
        before, now = self._decoded(ids[:since]), self._decoded(ids)
        incomplete = now.endswith("\ufffd") and len(ids) - since < _MOST_BYTES and not last
        return None if incomplete or not now.startswith(before) else now[len(before):]

    def tail(self, ids: Sequence[int], count: int) -> str:
        """Return the text of the last `count` ids, and of up to three more where the first is inside a character.

        A stop id at the end is left out, as in `decode`.
        """
        start = least = max(0, len(ids) - count)
        while start > max(0, least - _MOST_BYTES + 1) and ids[start] in self._inside:
            start -= 1
        return self.decode(ids[start:])

    def unused_ids(self, vocabulary: int) -> list[int]:
        """Return the ids below `vocabulary`, a model's number of rows, that no token has, in ascending order."""
        return sorted(set(range(vocabulary)).difference(self._vocabulary.get_vocab().values()))

    def _decoded(self, ids: Sequence[int]) -> str:
        return str(self._vocabulary.decode(list(ids), skip_special_tokens=False))


def _tried(held: int) -> bool:
    """Whether to look for text after so many ids without any. Each try decodes all of them, so they become rare."""
    return held <= _ALWAYS_TRIED or held & (held - 1) == 0


class _Generation(Extension):
    """`{% generation %}` marks the model's own text for training masks. It has no effect on prompts."""

    tags = {"generation"}  # noqa: RUF012 — jinja2's own declaration

    def parse(self, parser: Parser) -> list[Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _vocabulary(files: Mapping[str, bytes]) -> Vocabulary:
    if "tokenizer.json" not in files:
        raise TokenizerError("tokenizer.json: found nothing, expected the file of a fast tokenizer")
    try:
        vocabulary = Vocabulary.from_str(files["tokenizer.json"].decode())
    except Exception as error:  # the library raises bare Exception
        raise TokenizerError(f"tokenizer.json: {error}") from error
    vocabulary.no_truncation()
    vocabulary.no_padding()
    return vocabulary


def _json(files: Mapping[str, bytes], name: str) -> dict[str, Any]:
    try:
        found = json.loads(files.get(name, b"{}"))
    except ValueError as error:
        raise TokenizerError(f"{name}: {error}") from error
    if not isinstance(found, dict):
        raise TokenizerError(f"{name}: found {type(found).__name__}, expected an object")
    return found


def _template(files: Mapping[str, bytes], config: Mapping[str, Any]) -> Callable[..., str] | None:
    source = files["chat_template.jinja"].decode() if "chat_template.jinja" in files else config.get("chat_template")
    if isinstance(source, list):  # several, by name
        source = {entry["name"]: entry["template"] for entry in source}.get("default")
    if not source:
        return None
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, LoopControlExtension])
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _refuse
    tokens = {name: _text(value) for name, value in config.items() if name.endswith("_token")}
    try:
        render = environment.from_string(source, globals=tokens).render
    except TemplateError as error:
        raise TokenizerError(f"chat_template: {error}") from error
    return lambda **given: _rendered(render, given)


def _rendered(render: Callable[..., str], given: Mapping[str, Any]) -> str:
    try:
        return render(**given)
    except TemplateError as error:
        raise TokenizerError(f"chat_template: {error}") from error


def _refuse(message: str) -> None:
    raise TemplateError(message)


def _to_json(value: Any, indent: int | None = None, **options: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent, **options)


def _stop_ids(vocabulary: Vocabulary, config: Mapping[str, Any], files: Mapping[str, bytes]) -> list[int]:
    """Return the stop ids of the first of three files that names any, as transformers' generate does."""
    for name in ("generation_config.json", "config.json"):
        found = _json(files, name).get("eos_token_id")
        if found is not None:
            return list(found) if isinstance(found, list) else [found]
    own = vocabulary.token_to_id(_text(config.get("eos_token")))
    if own is None:
        raise TokenizerError("eos: found none in generation_config.json, config.json and tokenizer_config.json")
    return [own]


def _text(token: Any) -> str:
    """Return the text of a special token, which is a string or an object with the string as `content`."""
    return str(token.get("content", "")) if isinstance(token, dict) else str(token or "")
