"""A tool as the generator writes it: its description, its code, and a second statement of what it does.

The second statement (`effect`, and `broken` of each guard) makes the cases of the procedural tester, so that code and
expectation do not come from one text.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from string import Template
from typing import Any

from hone.environments.packages.package import Tables, ToolSpec
from hone.environments.synthesis.graph import Conditions
from hone.environments.synthesis.theme import Theme

Arguments = dict[str, Any]
TEXT: dict[str, Any] = {"type": "string"}
COUNT: dict[str, Any] = {"type": "integer", "minimum": 1}
DAY: dict[str, Any] = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\d$"}
AMOUNT: dict[str, Any] = {"type": "number", "exclusiveMinimum": 0}


@dataclass(frozen=True)
class Scene:
    """Where arguments are looked for: a state, and the person whom the task is about."""

    tables: Tables
    source: random.Random
    person: str


@dataclass(frozen=True)
class Guard:
    """A declared rejection: the condition in the tool's code, and how a case is brought to meet it."""

    condition: str
    message: str
    broken: Callable[[Tables, Arguments], Arguments]  # changes the tables in place, returns the arguments


@dataclass(frozen=True)
class Draft:
    """A tool with everything that proves it and puts it into tasks."""

    spec: ToolSpec
    source: str
    guards: Sequence[Guard]
    propose: Callable[[Scene], Arguments | None]  # arguments that should be accepted; None: there are none
    effect: Callable[[Tables, Arguments], None]  # what has to become of the tables, in place
    facts: Mapping[str, str] = field(default_factory=dict)  # parameter -> the fact that it is
    finds: str = ""  # the fact that a look-up finds
    locate: Callable[[Tables, str], Arguments] | None = None  # arguments with which it finds a key
    phrase: Callable[[Tables, Arguments], Sequence[str]] | None = None  # ways to ask for it; None: it is no goal
    asked: Callable[[Tables, Arguments], str] | None = None  # of a goal that only tells: what has to be communicated
    conditions: Conditions = field(default_factory=Conditions)


def words(theme: Theme) -> dict[str, str]:
    """Return the values of `$names` in templates of code and descriptions."""
    named = {noun: getattr(theme, noun) for noun in (
        "person", "item", "record", "place", "report", "persons", "items", "records", "places", "reports",
        "code", "unit", "due")}
    ids = {f"{noun}_id": f"{named[noun]}_id" for noun in ("person", "item", "record", "place", "report")}
    said = {f"{noun}_said": named[noun].replace("_", " ") for noun in named}
    opened, completed, cancelled = theme.statuses
    a = {f"a_{noun}": f"{'an' if text[0] in 'aeio' else 'a'} {text.replace('_', ' ')}" for noun, text in named.items()}
    return {**named, **ids, **said, **a, "open": opened, "completed": completed, "cancelled": cancelled}


def filled(theme: Theme, text: str) -> str:
    """Return a template with the theme's words."""
    return Template(text).substitute(words(theme))


@dataclass(frozen=True)
class Code:
    """The parts of a tool's code, as templates: rows that are fetched by a parameter, guards, body."""

    fetches: Sequence[str] = ()  # nouns, such as `$person`: the row of the parameter `$person_id`
    before: str = ""  # lines between fetches and guards
    guards: Sequence[Guard] = ()
    body: str = ""


def drafted(
    theme: Theme, name: str, says: str, parameters: Mapping[str, dict[str, Any]], code: Code, *,
    propose: Callable[[Scene], Arguments | None], effect: Callable[[Tables, Arguments], None] | None = None,
    gives: Sequence[str] = (), reads: Sequence[str] = (), writes: Sequence[str] = (), **more: Any,
) -> Draft:
    """Return the draft of a tool. Texts are templates; `more` are fields of Draft. Facts are parameters with `_id`."""
    said, named = filled(theme, says), filled(theme, name)
    params = {filled(theme, key): schema for key, schema in parameters.items()}
    facts = {key: key.removeprefix("from_").removeprefix("to_") for key in params if key.endswith("_id")}
    guards = [*_missing(theme, code.fetches), *code.guards]
    refused = f" Refused if {', or '.join(guard.message for guard in guards)}." if guards else ""
    spec = ToolSpec(
        name=named, description=said + refused, parameters=params, required=sorted(params),
        needs=sorted(set(facts.values())), gives=[filled(theme, one) for one in gives],
        reads=[filled(theme, one) for one in reads], writes=[filled(theme, one) for one in writes],
        rejects=[guard.message for guard in guards])
    return Draft(spec, _source(theme, named, said, params, code), guards, propose, effect or _nothing, facts, **more)


def _source(theme: Theme, name: str, said: str, params: Mapping[str, Any], code: Code) -> str:
    lines = [f"def {name}({', '.join(['db', *params])}):", f'    """{said}"""']
    for guard, noun in zip(_missing(theme, code.fetches), code.fetches, strict=True):
        row, table, key = _fetch(theme, noun)
        lines += [f'    {row} = db["{table}"].get({key})', *_raised(guard)]
    lines += _indented(filled(theme, code.before))
    for guard in code.guards:
        lines += _raised(guard)
    return "\n".join([*lines, *_indented(filled(theme, code.body))]) + "\n"


def _raised(guard: Guard) -> list[str]:
    return [f"    if {guard.condition}:", f'        raise Rejected("{guard.message}")']


def _indented(text: str) -> list[str]:
    return [f"    {line}" if line else "" for line in text.strip("\n").split("\n")] if text.strip() else []


def _fetch(theme: Theme, noun: str) -> tuple[str, str, str]:
    """Return the name of the variable, the table and the parameter of a row that is fetched."""
    prefix, _, kind = noun.rpartition("$")
    return f"{prefix}{filled(theme, '$' + kind)}", filled(theme, f"${kind}s"), f"{prefix}{filled(theme, f'${kind}_id')}"


def _missing(theme: Theme, fetches: Sequence[str]) -> list[Guard]:
    guards = []
    for noun in fetches:
        row, _, key = _fetch(theme, noun)
        said = row.replace("_", " ")
        guards.append(Guard(f"{row} is None", f"there is no such {said}", _with(key, "no_such_id")))
    return guards


def _with(key: str, value: Any) -> Callable[[Tables, Arguments], Arguments]:
    def broken(_: Tables, arguments: Arguments) -> Arguments:
        return {**arguments, key: value}
    return broken


def with_argument(theme: Theme, key: str, value: Any) -> Callable[[Tables, Arguments], Arguments]:
    """Return a change of a case that breaks it by one argument."""
    return _with(filled(theme, key), value)


def with_cell(theme: Theme, table: str, key: str, column: str, value: Any) -> Callable[[Tables, Arguments], Arguments]:
    """Return a change of a case that breaks it by one cell of the row that the argument `key` names."""
    table, key, column = (filled(theme, text) for text in (table, key, column))

    def broken(tables: Tables, arguments: Arguments) -> Arguments:
        tables[table][arguments[key]][column] = value
        return arguments
    return broken


def _nothing(_tables: Tables, _arguments: Arguments) -> None:
    """A look-up changes nothing."""
