"""Rows of a dataset as scenarios: `prompt`, `goal` and `knowledge`, and perhaps a profile, a policy and a database."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from pydantic import TypeAdapter, ValidationError

from hone.environments import row_json
from hone.environments.contract import Row, WrongParams
from hone.environments.dialogues.scenario import DialogueDomain, Scenario, Store, Tables
from hone.spec.findings import first
from hone.users import profile as profiles

_OWN = ("goal", "knowledge")
_FIELDS = ("prompt", *_OWN, "profile", "policy", "database", "expected", "communicate")
_LIKE = 0.8
"""How like a field's name (difflib's ratio) that of another column is where it counts as misspelt: ours."""
_PHRASES = TypeAdapter(list[profiles.Phrases])


def scenario(item: Row, domain: DialogueDomain) -> Scenario:
    """Return the scenario of a row, whose `prompt` is what the user says first.

    Raises WrongParams with the path of the field in the row.
    `expected` holds the rows of the database that are other ones at the end: cells of a row by its key, by table.
    """
    item = row_json.plain(item)
    _refuse_misspelt(item)
    tables, says = _tables(item.get("database", {}), "item.database"), _phrases(item.get("communicate", []))
    _check_columns(tables, domain)
    _expect_tools(item, domain)
    store = Store(tables)
    for table, rows in _tables(item.get("expected", {}), "item.expected").items():
        for key, cells in rows.items():
            store.write(table, key, **cells)
    return Scenario(
        _profile(item), _text(item.get("policy", domain.policy), "item.policy"), tables,
        store.tables if "expected" in item or (tables and says) else None, tuple(says))


def _profile(item: Row) -> profiles.Profile:
    given = item.get("profile", {})
    if not isinstance(given, dict):
        raise WrongParams("item.profile", given, "an object")
    if doubled := sorted(given.keys() & set(_OWN)):
        raise WrongParams(f"item.profile.{doubled[0]}", given[doubled[0]], f"nothing: the row has {doubled[0]} itself")
    _refuse_other_openings(item, given)
    own = {name: item[name] for name in _OWN if name in item}
    if "prompt" in item:
        given = {**given, "opening": _text(item["prompt"], "item.prompt")}
    if isinstance(own.get("goal"), str):
        own["goal"] = {"text": own["goal"]}
    try:
        return profiles.profile({**given, **own})
    except profiles.WrongProfile as error:
        part = error.field.partition(".")[0]
        path = error.field if part in _OWN else f"profile.{error.field}"
        raise WrongParams(f"item.{path.removesuffix('.profile')}", error.found, error.expected) from error


def _refuse_misspelt(item: Row) -> None:
    """Raise WrongParams for a column that is named almost like a field that the row lacks. Other columns are left."""
    absent = [field for field in _FIELDS if field not in item]
    for name in sorted(map(str, item.keys() - set(_FIELDS))):
        if meant := get_close_matches(name[:100], absent, n=1, cutoff=_LIKE):
            raise WrongParams(f"item.{name[:100]}", item[name], f"the field {meant[0]}, which the row lacks")


def _refuse_other_openings(item: Row, given: Row) -> None:
    for field, found in (("messages", item.get("messages")), ("profile.opening", given.get("opening"))):
        if found is not None and (field == "messages" or "prompt" in item):
            raise WrongParams(f"item.{field}", found, "a prompt instead: the user's first words")


def _tables(value: Any, field: str) -> Tables:
    if not isinstance(value, dict):
        raise WrongParams(field, value, "tables by name: rows by their key")
    for table, rows in value.items():
        if not isinstance(rows, dict):
            raise WrongParams(f"{field}.{table}", rows, "rows by their key")
        for key, row in rows.items():
            if not isinstance(row, dict):
                raise WrongParams(f"{field}.{table}.{key}", row, "an object with the row's cells")
    tables: Mapping[str, Any] = value
    return tables


def _check_columns(tables: Tables, domain: DialogueDomain) -> None:
    for table, rows in tables.items():
        for key, row in rows.items():
            for column, kind in domain.columns.get(table, {}).items():
                if isinstance(row.get(column), bool) or not isinstance(row.get(column), kind):
                    wanted = kind.__name__ if isinstance(kind, type) else str(kind)
                    raise WrongParams(f"item.database.{table}.{key}.{column}", row.get(column), f"a value of {wanted}")


def _expect_tools(item: Row, domain: DialogueDomain) -> None:
    """Raise WrongParams for a database that no tool of the domain reads: it would stay as it is, whatever is said."""
    for field in ("database", "expected"):
        if item.get(field) and not domain.tools(Store({})):
            raise WrongParams(f"item.{field}", ", ".join(item[field]), "nothing: the domain has no tools")


def _phrases(value: Any) -> list[str]:
    try:
        return _PHRASES.validate_python(value, strict=True)
    except ValidationError as error:
        raise WrongParams(*first(error, "item.communicate")) from error


def _text(value: Any, field: str) -> str:
    if not isinstance(value, str):
        raise WrongParams(field, value, "a text")
    return value
