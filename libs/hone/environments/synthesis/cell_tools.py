"""Archetypes that set one cell of a person or an item: a status, a level, a phone number."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hone.environments.packages.package import Tables
from hone.environments.synthesis import naming
from hone.environments.synthesis.draft import TEXT, Arguments, Code, Draft, Guard, Scene, drafted, filled, with_cell
from hone.environments.synthesis.graph import Conditions
from hone.environments.synthesis.theme import Theme


def suspend(theme: Theme) -> Draft:
    return _switch(theme, "suspend_$person", "$person", "status", "active", "suspended", ["suspend {row}"])


def reinstate(theme: Theme) -> Draft:
    return _switch(theme, "reinstate_$person", "$person", "status", "suspended", "active",
                   ["lift the suspension of {row}"], Conditions((), ("person active",)))


def close_item(theme: Theme) -> Draft:
    return _switch(theme, "close_$item", "$item", "state", "available", "closed",
                   ["close {row}", "{row} is to be closed"])


def open_item(theme: Theme) -> Draft:
    return _switch(theme, "reopen_$item", "$item", "state", "closed", "available", ["open {row} again"],
                   Conditions((), ("item available",)))


def change_phone(theme: Theme) -> Draft:
    key = f"{theme.person}_id"

    def effect(tables: Tables, given: Arguments) -> None:
        tables[theme.persons][given[key]]["phone"] = given["phone"]

    return drafted(
        theme, "change_phone", "Give $a_person another phone number.", {"$person_id": TEXT, "phone": TEXT},
        Code(["$person"], guards=[
            Guard(f'phone == {theme.person}["phone"]', "this is the number already",
                  lambda tables, given: {**given, "phone": tables[theme.persons][given[key]]["phone"]})], body="""
$person["phone"] = phone
return {"$person_id": $person_id, "phone": phone}
"""),
        propose=lambda scene: {key: scene.person, "phone": f"555-{scene.source.randint(1000, 9999)}"}, effect=effect,
        reads=["$persons"], writes=["$persons"],
        phrase=lambda tables, given: [
            f"note {given['phone']} as the new phone number of {naming.said(theme, tables, key, given[key])}"])


def change_level(theme: Theme) -> Draft:
    key, levels = f"{theme.person}_id", list(theme.levels)

    def effect(tables: Tables, given: Arguments) -> None:
        tables[theme.persons][given[key]]["level"] = given["level"]

    def propose(scene: Scene) -> Arguments:
        now = scene.tables[theme.persons][scene.person]["level"]
        return {key: scene.person, "level": scene.source.choice([level for level in levels if level != now])}

    def same(tables: Tables, given: Arguments) -> Arguments:
        return {**given, "level": tables[theme.persons][given[key]]["level"]}

    return drafted(
        theme, "change_level", f"Give $a_person another level: {', '.join(levels)}.",
        {"$person_id": TEXT, "level": TEXT},
        Code(["$person"], guards=[
            Guard(f"level not in {json.dumps(levels)}", "there is no such level",
                  lambda _, given: {**given, "level": "none"}),
            Guard(f'level == {theme.person}["level"]', "this is the level already", same)], body="""
$person["level"] = level
return {"$person_id": $person_id, "level": level}
"""),
        propose=propose, effect=effect, reads=["$persons"], writes=["$persons"],
        phrase=lambda tables, given: [
            f"change the level of {naming.said(theme, tables, key, given[key])} to {given['level']}"],
        conditions=Conditions((), ("person level",)))


def _switch(
    theme: Theme, name: str, noun: str, column: str, before: str, after: str, phrases: Sequence[str],
    conditions: Conditions = Conditions(),
) -> Draft:
    """Return a tool that sets a cell from one value to another, and rejects what is not at the first."""
    key, table = filled(theme, f"{noun}_id"), filled(theme, f"{noun}s")

    def effect(tables: Tables, given: Arguments) -> None:
        tables[table][given[key]][column] = after

    def propose(scene: Scene) -> Arguments | None:
        rows = {scene.person: scene.tables[table][scene.person]} if noun == "$person" else scene.tables[table]
        found = [one for one, row in rows.items() if row[column] == before]
        return {key: scene.source.choice(found)} if found else None

    def said(tables: Tables, given: Arguments) -> list[str]:
        return [text.replace("{row}", naming.said(theme, tables, key, given[key])) for text in phrases]

    more: dict[str, Any] = {"phrase": said, "conditions": conditions}
    return drafted(
        theme, name, f"Set the {column} of $a_{noun[1:]} from {before} to {after}.", {f"{noun}_id": TEXT},
        Code([noun], guards=[Guard(f'{filled(theme, noun)}["{column}"] != "{before}"',
                                   filled(theme, f"the {noun}_said is not {before}"),
                                   with_cell(theme, table, key, column, after))],
             body=f'{noun}["{column}"] = "{after}"\nreturn {{"{noun}_id": {noun}_id, "{column}": "{after}"}}'),
        propose=propose, effect=effect, reads=[f"{noun}s"], writes=[f"{noun}s"], **more)


CELL_TOOLS: Mapping[str, Callable[[Theme], Draft]] = {
    "suspend": suspend, "reinstate": reinstate, "close_item": close_item, "open_item": open_item,
    "change_phone": change_phone, "change_level": change_level}
