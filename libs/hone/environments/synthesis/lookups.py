"""Archetypes that look up: they tell ids and cells, and change nothing."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hone.environments.packages.package import Tables
from hone.environments.synthesis import naming
from hone.environments.synthesis.draft import TEXT, Arguments, Code, Draft, Guard, Scene, drafted, filled
from hone.environments.synthesis.theme import Theme

Propose = Callable[[Scene], Arguments | None]


def find_person(theme: Theme) -> Draft:
    column = "name" if theme.by_name else "email"
    return drafted(
        theme, "find_$person", f"Find $persons_said by their {column}.", {column: TEXT},
        Code(body=f"""
found = [row for row in db["$persons"].values() if row["{column}"] == {column}]
return [{{"$person_id": row["$person_id"], "name": row["name"], "email": row["email"]}} for row in found]
"""),
        propose=lambda scene: {column: scene.tables[theme.persons][scene.person][column]},
        gives=["$person_id"], reads=["$persons"], finds=f"{theme.person}_id",
        locate=lambda tables, key: {column: tables[theme.persons][key][column]})


def get_person(theme: Theme) -> Draft:
    return _get(theme, "$person", lambda scene: scene.person, "phone", "phone number")


def find_items(theme: Theme) -> Draft:
    return drafted(
        theme, "find_$items", "Find $items_said by their title.", {"title": TEXT},
        Code(body="""
found = [row for row in db["$items"].values() if row["title"] == title]
return [{"$item_id": row["$item_id"], "title": row["title"], "category": row["category"]} for row in found]
"""),
        propose=lambda scene: {"title": _any(scene, theme.items)["title"]},
        gives=["$item_id"], reads=["$items"], finds=f"{theme.item}_id",
        locate=lambda tables, key: {"title": tables[theme.items][key]["title"]})


def get_item(theme: Theme) -> Draft:
    return _get(theme, "$item", lambda scene: scene.source.choice(list(scene.tables[theme.items])), theme.code,
                theme.code.replace("_", " "))


def list_category(theme: Theme) -> Draft:
    known = list(theme.categories)
    return drafted(
        theme, "list_$items", "List the $items_said of a category, with what is free.",
        {"category": {"type": "string"}},
        Code(guards=[Guard(f"category not in {json.dumps(known)}", "there is no such category",
                           lambda _, given: {**given, "category": "none"})],
             body="""
return [{"$item_id": row["$item_id"], "title": row["title"], "$unit": row["$unit"]}
        for row in db["$items"].values() if row["category"] == category]
"""),
        propose=lambda scene: {"category": scene.source.choice(theme.categories)},
        gives=["$item_id"], reads=["$items"])


def list_records(theme: Theme) -> Draft:
    return drafted(
        theme, "list_$records", "List the $records_said of $a_person.", {"$person_id": TEXT},
        Code(["$person"], body="""
return [row for row in db["$records"].values() if row["$person_id"] == $person_id]
"""),
        propose=lambda scene: {f"{theme.person}_id": scene.person},
        gives=["$record_id", "$item_id"], reads=["$persons", "$records"], finds=f"{theme.record}_id",
        locate=lambda tables, key: {f"{theme.person}_id": tables[theme.records][key][f"{theme.person}_id"]})


def get_record(theme: Theme) -> Draft:
    return _get(theme, "$record", lambda scene: next(
        (key for key, row in scene.tables[theme.records].items() if row[f"{theme.person}_id"] == scene.person), None))


def find_places(theme: Theme) -> Draft:
    return drafted(
        theme, "find_$places", "Find $places_said by their name.", {"name": TEXT},
        Code(body="""
return [row for row in db["$places"].values() if row["name"] == name]
"""),
        propose=lambda scene: {"name": _any(scene, theme.places)["name"]},
        gives=["$place_id"], reads=["$places"], finds=f"{theme.place}_id",
        locate=lambda tables, key: {"name": tables[theme.places][key]["name"]})


def list_place_items(theme: Theme) -> Draft:
    return drafted(
        theme, "list_${items}_of_$place", "List the $items_said of $a_place.",
        {"$place_id": TEXT},
        Code(["$place"], body="""
return [{"$item_id": row["$item_id"], "title": row["title"], "category": row["category"]}
        for row in db["$items"].values() if row["$place_id"] == $place_id]
"""),
        propose=lambda scene: {f"{theme.place}_id": scene.source.choice(list(scene.tables[theme.places]))},
        gives=["$item_id"], reads=["$places", "$items"])


def list_stock(theme: Theme) -> Draft:
    return drafted(
        theme, "list_stock", "List how many of $a_item lie at each $place_said.", {"$item_id": TEXT},
        Code(["$item"], body="""
return [row for row in db["stock"].values() if row["$item_id"] == $item_id]
"""),
        propose=lambda scene: {f"{theme.item}_id": scene.source.choice(list(scene.tables[theme.items]))},
        gives=["$place_id"], reads=["$items", "stock"])


def list_payments(theme: Theme) -> Draft:
    return drafted(
        theme, "list_payments", "List the payments of $a_person.", {"$person_id": TEXT},
        Code(["$person"], body="""
return [row for row in db["payments"].values() if row["$person_id"] == $person_id]
"""),
        propose=lambda scene: {f"{theme.person}_id": scene.person},
        gives=["payment_id"], reads=["$persons", "payments"])


def list_reports(theme: Theme) -> Draft:
    return drafted(
        theme, "list_$reports", "List the $reports_said about $a_item.", {"$item_id": TEXT},
        Code(["$item"], body="""
return [row for row in db["$reports"].values() if row["$item_id"] == $item_id]
"""),
        propose=lambda scene: {f"{theme.item}_id": scene.source.choice(list(scene.tables[theme.items]))},
        gives=["$report_id"], reads=["$items", "$reports"], finds=f"{theme.report}_id",
        locate=lambda tables, key: {f"{theme.item}_id": tables[theme.reports][key][f"{theme.item}_id"]})


def _get(
    theme: Theme, noun: str, chosen: Callable[[Scene], str | None], asked: str = "", called: str = "",
) -> Draft:
    """Return the look-up of a whole row; `asked`: the column that a task may ask for, and what it is called."""
    key, table = filled(theme, f"{noun}_id"), filled(theme, f"{noun}s")

    def propose(scene: Scene) -> Arguments | None:
        found = chosen(scene)
        return None if found is None else {key: found}

    def phrases(tables: Tables, given: Arguments) -> Sequence[str]:
        row = naming.said(theme, tables, key, given[key])
        return [f"tell me the {called} of {row}", f"look up the {called} of {row} and tell me"]

    goal: Mapping[str, Any] = {} if not asked else {
        "phrase": phrases, "asked": lambda tables, given: str(tables[table][given[key]][asked])}
    return drafted(theme, f"get_{noun}", f"Show everything about $a_{noun[1:]}.", {f"{noun}_id": TEXT},
                   Code([noun], body=f"return {noun}"), propose=propose, reads=[f"{noun}s"], **goal)


def _any(scene: Scene, table: str) -> dict[str, Any]:
    return scene.tables[table][scene.source.choice(list(scene.tables[table]))]


LOOKUPS: Mapping[str, Callable[[Theme], Draft]] = {
    "find_person": find_person, "get_person": get_person, "find_items": find_items, "get_item": get_item,
    "list_category": list_category, "list_records": list_records, "get_record": get_record,
    "find_places": find_places, "list_place_items": list_place_items, "list_stock": list_stock,
    "list_payments": list_payments, "list_reports": list_reports}
