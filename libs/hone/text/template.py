"""A model's chat template: it renders a conversation as the text that the model reads.

The same environment as transformers' apply_chat_template, so that the same files give the same text.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from datetime import date
from typing import Any

from jinja2 import Environment, TemplateError, nodes
from jinja2.ext import Extension, LoopControlExtension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from hone.process.confined import PROCESSOR, TimeUp, interrupted
from hone.text.files import Files, TokenizerError, Unbounded, json_file, named_tokens
from hone.text.rules import TextRules

MOST_CHARACTERS = 2**24
"""Of the text of a conversation."""

TOOLS = "tool_use"
"""Name of the template for conversations with tools, where a model has several templates."""


class ChatTemplate:
    """Renders conversations. Raises TokenizerError for a template that cannot be read."""

    def __init__(
        self, sources: Mapping[str, str], tokens: Mapping[str, str], rules: TextRules, render_s: float | None = None,
    ) -> None:
        """`sources` are templates by name, `default` among them; `tokens` are the named special tokens.

        Each rendering may take `render_s` seconds of processor time, which only a main thread can measure.
        """
        environment, self._render_s = _environment(rules), render_s
        self._given = {**tokens, **rules.template}
        try:
            self._renders = {name: environment.from_string(source).render for name, source in sources.items()}
            self.literals = "".join(_literals(environment, source) for source in sources.values())
        except (TemplateError, RecursionError) as error:
            raise TokenizerError(f"chat_template: {error}") from error
        self.dated = any("strftime_now" in source for source in sources.values())

    def __call__(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Any], ask: bool) -> str:
        """Return the text of a conversation; with `ask` it ends where the next answer begins.

        Raises TokenizerError, and Unbounded for a template that loops or grows.
        """
        render = self._renders.get(TOOLS if tools else "default", self._renders["default"])
        given = {**self._given, "messages": list(messages), "tools": list(tools) or None, "documents": None,
                 "add_generation_prompt": ask}
        try:
            with interrupted(self._render_s, PROCESSOR) if self._render_s else nullcontext():
                text = render(**given)
        except TimeUp as error:
            limit = f"it did not finish within {self._render_s:g} s on {size(messages)}"
            raise Unbounded(f"chat_template: {limit}") from error
        except MemoryError as error:
            raise Unbounded(f"chat_template: it needs too much memory for {size(messages)}") from error
        except Exception as error:  # a template is a program: it may add a text to a missing one
            raise TokenizerError(f"chat_template: {error}") from error
        if len(text) > MOST_CHARACTERS:
            raise Unbounded(f"chat_template: it made {len(text)} characters of {size(messages)}, expected at most "
                            f"{MOST_CHARACTERS}")
        return text


def size(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return how long a conversation is, for people."""
    return f"a conversation of {sum(len(str(one.get('content') or '')) for one in messages)} characters"


def of_files(files: Files, rules: TextRules, render_s: float | None = None) -> ChatTemplate | None:
    """Return a model's template, or None if it has none. Raises TokenizerError."""
    sources = _sources(files)
    return ChatTemplate(sources, named_tokens(files), rules, render_s) if sources else None


def _sources(files: Files) -> dict[str, str]:
    if "chat_template.jinja" in files:
        return {"default": _decoded(files["chat_template.jinja"])}
    given = json_file(files, "tokenizer_config.json").get("chat_template")
    if not given:
        return {}
    if isinstance(given, str):
        return {"default": given}
    try:
        sources = {str(entry["name"]): str(entry["template"]) for entry in given}
    except (TypeError, KeyError) as error:
        raise TokenizerError("chat_template: expected a text, or a list of templates with names") from error
    if "default" not in sources:
        raise TokenizerError(f"chat_template: found templates named {', '.join(sorted(sources))}, expected one named "
                             "default among them")
    return sources


def _decoded(source: bytes) -> str:
    try:
        return source.decode()
    except UnicodeDecodeError as error:
        raise TokenizerError(f"chat_template.jinja: {error}") from error


class _Generation(Extension):
    """`{% generation %}` marks the model's own text for training masks. It has no effect on prompts."""

    tags = {"generation"}  # noqa: RUF012 — jinja2's own declaration

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _environment(rules: TextRules) -> Environment:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, LoopControlExtension])
    # Large constants are computed while a conversation is rendered, within its limit, not while the template is read.
    environment.intercepted_binops = frozenset({"*", "**"})
    environment.filters["tojson"] = _to_json
    environment.globals.update(raise_exception=_refuse, strftime_now=_clock(rules))
    return environment


def _clock(rules: TextRules) -> Callable[[str], str]:
    def strftime_now(form: str) -> str:
        if rules.date is None:
            raise TemplateError("the template writes a date; expected chat.date in the run's spec")
        return date.fromisoformat(rules.date).strftime(form)

    return strftime_now


def _literals(environment: Environment, source: str) -> str:
    """Return everything that a template can write by itself."""
    found = environment.parse(source)
    texts = [node.data for node in found.find_all(nodes.TemplateData)]
    return "\n".join([*texts, *(node.value for node in found.find_all(nodes.Const) if isinstance(node.value, str))])


def _refuse(message: str) -> None:
    raise TemplateError(message)


def _to_json(value: Any, ensure_ascii: bool = False, indent: int | None = None,
             separators: tuple[str, str] | None = None, sort_keys: bool = False) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
