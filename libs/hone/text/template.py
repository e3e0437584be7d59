"""A model's chat template: it renders a conversation as the text that the model reads.

The same environment as transformers' apply_chat_template, so that the same files give the same text.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any

from jinja2 import Environment, TemplateError, nodes
from jinja2.ext import Extension, LoopControlExtension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from hone.text.files import Files, TokenizerError, json_file, named_tokens
from hone.text.rules import TextRules

TOOLS = "tool_use"
"""Name of the template for conversations with tools, where a model has several templates."""


class ChatTemplate:
    """Renders conversations. Raises TokenizerError for a template that cannot be read."""

    def __init__(self, sources: Mapping[str, str], tokens: Mapping[str, str], rules: TextRules) -> None:
        """`sources` are templates by name, `default` among them; `tokens` are the named special tokens."""
        environment = _environment(rules)
        self._given = {**tokens, **rules.template}
        try:
            self._renders = {name: environment.from_string(source).render for name, source in sources.items()}
            self.literals = "".join(_literals(environment, source) for source in sources.values())
        except TemplateError as error:
            raise TokenizerError(f"chat_template: {error}") from error
        self.dated = any("strftime_now" in source for source in sources.values())

    def __call__(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Any], ask: bool) -> str:
        """Return the text of a conversation; with `ask` it ends where the next answer begins. Raises TokenizerError."""
        render = self._renders.get(TOOLS if tools else "default", self._renders["default"])
        try:
            return render(**{**self._given, "messages": list(messages), "tools": list(tools) or None,
                             "documents": None, "add_generation_prompt": ask})
        except (TemplateError, TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
            # A template is a program: it may add a text to a missing one.
            raise TokenizerError(f"chat_template: {error}") from error


def of_files(files: Files, rules: TextRules) -> ChatTemplate | None:
    """Return a model's template, or None if it has none. Raises TokenizerError."""
    sources = _sources(files)
    return ChatTemplate(sources, named_tokens(files), rules) if sources else None


def _sources(files: Files) -> dict[str, str]:
    if "chat_template.jinja" in files:
        return {"default": files["chat_template.jinja"].decode()}
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


class _Generation(Extension):
    """`{% generation %}` marks the model's own text for training masks. It has no effect on prompts."""

    tags = {"generation"}  # noqa: RUF012 — jinja2's own declaration

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _environment(rules: TextRules) -> Environment:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, LoopControlExtension])
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
