"""Archetypes that make records and change them: a loan, a booking, an order."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hone.environments.packages.package import Tables
from hone.environments.synthesis import naming
from hone.environments.synthesis.draft import (
    COUNT,
    DAY,
    TEXT,
    Arguments,
    Code,
    Draft,
    Guard,
    Scene,
    drafted,
    filled,
    with_argument,
    with_cell,
)
from hone.environments.synthesis.graph import Conditions
from hone.environments.synthesis.theme import Theme

NEW = "new"
"""Key of a row that a tool makes, where its effect is stated: the key is exempt."""
NOTES = ("please call before noon", "needs a receipt by mail", "will come with a wheelchair", "asks for a quiet corner",
         "brings a second person along", "pays by invoice as agreed", "prefers to be contacted in writing")


def create(theme: Theme) -> Draft:
    sized = "resize" in theme.tools
    made = ', "paid": False' if theme.paid else ""
    return drafted(
        theme, f"{theme.verbs[0]}_$item", "Make a new $record_said of $a_item for $a_person.",
        {"$person_id": TEXT, "$item_id": TEXT, **({"quantity": COUNT} if sized else {}), "$due": DAY},
        Code(["$person", "$item"], _BEFORE_CREATE, list(_create_guards(theme, sized)), f"""
$item["$unit"] -= {"quantity" if sized else "1"}
$record_id = db.new_id("{theme.record[:3]}")
db["$records"][$record_id] = {{
    "$record_id": $record_id, "$person_id": $person_id, "$item_id": $item_id,
    "quantity": {"quantity" if sized else "1"}, "status": "$open", "$due": $due{made},
    "note": "", "created_at": db.now}}
return {{"$record_id": $record_id, "status": "$open"}}
"""),
        propose=lambda scene: _new_record(theme, scene, sized),
        effect=lambda tables, given: _created(theme, tables, given),
        gives=["$record_id"], reads=["$persons", "$items", "$records"], writes=["$items", "$records"],
        phrase=lambda tables, given: _create_phrases(theme, tables, given),
        conditions=Conditions(("person active", "item available"), ("record open", "record unpaid")))


_BEFORE_CREATE = """
held = [row for row in db["$records"].values()
        if row["$person_id"] == $person_id and row["status"] == "$open"]
"""


def _create_guards(theme: Theme, sized: bool) -> Iterator[Guard]:
    item, person, unit = theme.item, theme.person, theme.unit
    least = "quantity" if sized else "1"
    yield Guard(f'{item}["{unit}"] < {least}', filled(theme, "not enough of the $item_said is free"),
                with_cell(theme, "$items", "$item_id", unit, 0))
    if "close_item" in theme.tools:
        yield Guard(f'{item}["state"] != "available"', filled(theme, "the $item_said is closed"),
                    with_cell(theme, "$items", "$item_id", "state", "closed"))
    if "suspended" in theme.rules:
        yield Guard(f'{person}["status"] == "suspended"', filled(theme, "the $person_said is suspended"),
                    with_cell(theme, "$persons", "$person_id", "status", "suspended"))
    if "dated" in theme.rules:
        yield Guard(f"{theme.due} <= db.now[:10]", "the day has passed", with_argument(theme, "$due", "2025-12-01"))
    if theme.restricted:
        category, level = theme.restricted
        yield Guard(f'{item}["category"] == "{category}" and {person}["level"] != "{level}"',
                    f"only {level.replace('_', ' ')} may have {category.replace('_', ' ')}",
                    lambda tables, given: _restricted(theme, tables, given))
    if "limit" in theme.rules:
        yield Guard(f"len(held) >= {theme.most_open}",
                    filled(theme, f"at most {theme.most_open} $records_said at a time"),
                    lambda tables, given: _held(theme, tables, given, theme.most_open))
    if "one_each" in theme.rules:
        yield Guard(f'any(row["{item}_id"] == {item}_id for row in held)',
                    filled(theme, "the $person_said has this $item_said already"),
                    lambda tables, given: _held(theme, tables, given, 1))


def _restricted(theme: Theme, tables: Tables, given: Arguments) -> Arguments:
    tables[theme.items][given[f"{theme.item}_id"]]["category"] = theme.categories[-1]
    tables[theme.persons][given[f"{theme.person}_id"]]["level"] = theme.levels[0]
    return given


def _held(theme: Theme, tables: Tables, given: Arguments, count: int) -> Arguments:
    for number in range(count):
        row = _record(theme, {**given, theme.due: f"2026-03-{number + 1:02d}", "quantity": 1})
        tables[theme.records][f"held_{number}"] = {**row, f"{theme.record}_id": f"held_{number}"}
    return given


def _record(theme: Theme, given: Arguments) -> dict[str, Any]:
    paid = {"paid": False} if theme.paid else {}
    ids = {f"{noun}_id": given[f"{noun}_id"] for noun in (theme.person, theme.item)}
    return {f"{theme.record}_id": NEW, **ids, "quantity": given.get("quantity", 1), "status": theme.statuses[0],
            theme.due: given[theme.due], **paid, "note": "", "created_at": ""}


def _created(theme: Theme, tables: Tables, given: Arguments) -> None:
    row = _record(theme, given)
    tables[theme.records][NEW] = row
    tables[theme.items][given[f"{theme.item}_id"]][theme.unit] -= row["quantity"]


def _new_record(theme: Theme, scene: Scene, sized: bool) -> Arguments | None:
    who = scene.tables[theme.persons][scene.person]
    mine = [row for row in scene.tables[theme.records].values()
            if row[f"{theme.person}_id"] == scene.person and row["status"] == theme.statuses[0]]
    quantity = scene.source.randint(1, 3) if sized else 1
    free = [key for key, row in scene.tables[theme.items].items() if _may_have(theme, who, row, mine, quantity)]
    if not free or ("limit" in theme.rules and len(mine) >= theme.most_open) or _suspended(theme, who):
        return None
    return {f"{theme.person}_id": scene.person, f"{theme.item}_id": scene.source.choice(free),
            **({"quantity": quantity} if sized else {}), theme.due: day(scene)}


def _suspended(theme: Theme, who: Mapping[str, Any]) -> bool:
    return "suspended" in theme.rules and who["status"] == "suspended"


def _may_have(
    theme: Theme, who: Mapping[str, Any], row: Mapping[str, Any], mine: list[dict[str, Any]], quantity: int,
) -> bool:
    return bool(
        row[theme.unit] >= quantity and row["state"] == "available"
        and (not theme.restricted or (row["category"], who["level"]) == theme.restricted
             or row["category"] != theme.restricted[0])
        and not any(one[f"{theme.item}_id"] == row[f"{theme.item}_id"] for one in mine))


def day(scene: Scene) -> str:
    """Return a day from February to June 2026, after every `db.now`."""
    return f"2026-{scene.source.randint(2, 6):02d}-{scene.source.randint(1, 28):02d}"


def _create_phrases(theme: Theme, tables: Tables, given: Arguments) -> list[str]:
    who = naming.said(theme, tables, f"{theme.person}_id", given[f"{theme.person}_id"])
    what = naming.said(theme, tables, f"{theme.item}_id", given[f"{theme.item}_id"])
    count = f" with the quantity {given['quantity']}" if "quantity" in given else ""
    return [filled(theme, f"make $a_record of {what}{count} for {who}, $due_said {given[theme.due]}"),
            filled(theme, f"{who} wants a new $record_said of {what}{count}, with the $due_said {given[theme.due]}")]


def complete(theme: Theme) -> Draft:
    unpaid = [Guard(f'not {theme.record}["paid"]', filled(theme, "the $record_said is not paid"),
                    with_cell(theme, "$records", "$record_id", "paid", False))] if _pays_first(theme) else []

    def effect(tables: Tables, given: Arguments) -> None:
        _ended(theme, tables, given, theme.statuses[1])

    return drafted(
        theme, f"{theme.verbs[1]}_$record", "Complete $a_record: it becomes $completed.", {"$record_id": TEXT},
        Code(["$record"], guards=[_not_open(theme), *unpaid], body=_ENDING.replace("$ended", "$completed")),
        propose=lambda scene: _mine(theme, scene, paid=_pays_first(theme)), effect=effect, reads=["$records", "$items"],
        writes=["$records", "$items"],
        phrase=lambda tables, given: _phrases(
            theme, tables, given, f"complete {{row}}, so that it is {theme.statuses[1].replace('_', ' ')}"),
        conditions=Conditions(("record open", *(["record paid"] if _pays_first(theme) else [])), ()))


def cancel(theme: Theme) -> Draft:
    paid = [Guard(f'{theme.record}["paid"]', filled(theme, "the $record_said is paid"),
                  with_cell(theme, "$records", "$record_id", "paid", True))] if theme.paid else []

    def effect(tables: Tables, given: Arguments) -> None:
        _ended(theme, tables, given, theme.statuses[2])

    return drafted(
        theme, f"{theme.verbs[2]}_$record", "Call $a_record off: it becomes $cancelled.", {"$record_id": TEXT},
        Code(["$record"], guards=[_not_open(theme), *paid], body=_ENDING.replace("$ended", "$cancelled")),
        propose=lambda scene: _mine(theme, scene, paid=False if theme.paid else None), effect=effect,
        reads=["$records", "$items"], writes=["$records", "$items"],
        phrase=lambda tables, given: _phrases(
            theme, tables, given, "call {row} off", f"{{row}} is off: make it {theme.statuses[2].replace('_', ' ')}"),
        conditions=Conditions(("record open", *(["record unpaid"] if theme.paid else [])), ()))


_ENDING = """
$record["status"] = "$ended"
db["$items"][$record["$item_id"]]["$unit"] += $record["quantity"]
return {"$record_id": $record_id, "status": "$ended"}
"""


def _pays_first(theme: Theme) -> bool:
    return theme.paid and "pay_first" in theme.rules


def _not_open(theme: Theme) -> Guard:
    opened = theme.statuses[0]
    return Guard(f'{theme.record}["status"] != "{opened}"', filled(theme, f"the $record_said is not {opened}"),
                 with_cell(theme, "$records", "$record_id", "status", theme.statuses[1]))


def _ended(theme: Theme, tables: Tables, given: Arguments, status: str) -> None:
    row = tables[theme.records][given[f"{theme.record}_id"]]
    row["status"] = status
    tables[theme.items][row[f"{theme.item}_id"]][theme.unit] += row["quantity"]


def _mine(
    theme: Theme, scene: Scene, more: Mapping[str, Any] | None = None, *, paid: bool | None = None,
) -> Arguments | None:
    """Return an open record of the scene's person, with further arguments; None where there is none."""
    keys = [key for key, row in scene.tables[theme.records].items()
            if row[f"{theme.person}_id"] == scene.person and row["status"] == theme.statuses[0]
            and (paid is None or not theme.paid or row["paid"] is paid)]
    return {f"{theme.record}_id": scene.source.choice(keys), **(more or {})} if keys else None


def _phrases(theme: Theme, tables: Tables, given: Arguments, *texts: str) -> list[str]:
    row = naming.said(theme, tables, f"{theme.record}_id", given[f"{theme.record}_id"])
    return [text.replace("{row}", row) for text in texts]


def move(theme: Theme) -> Draft:
    dated = [Guard(f"{theme.due} <= db.now[:10]", "the day has passed", with_argument(theme, "$due", "2025-12-01"))]
    same = Guard(f'{theme.due} == {theme.record}["{theme.due}"]', filled(theme, "this is the $due_said already"),
                 lambda tables, given: {**given, theme.due: row(tables, given)[theme.due]})

    def row(tables: Tables, given: Arguments) -> dict[str, Any]:
        return tables[theme.records][given[f"{theme.record}_id"]]

    def effect(tables: Tables, given: Arguments) -> None:
        row(tables, given)[theme.due] = given[theme.due]

    return drafted(
        theme, f"{theme.verbs[3]}_$record", "Give an open $record_said another $due_said.",
        {"$record_id": TEXT, "$due": DAY},
        Code(["$record"], guards=[_not_open(theme), *(dated if "dated" in theme.rules else []), same], body="""
$record["$due"] = $due
return {"$record_id": $record_id, "$due": $due}
"""),
        propose=lambda scene: _mine(theme, scene, {theme.due: day(scene)}), effect=effect, reads=["$records"],
        writes=["$records"],
        phrase=lambda tables, given: _phrases(
            theme, tables, given, filled(theme, f"move {{row}} to the $due_said {given[theme.due]}"),
            filled(theme, f"{{row}} has to get the $due_said {given[theme.due]}")),
        conditions=Conditions(("record open",), ()))


def resize(theme: Theme) -> Draft:
    few = Guard(f'{theme.item}["{theme.unit}"] + {theme.record}["quantity"] < quantity',
                filled(theme, "not enough of the $item_said is free"),
                lambda _, given: {**given, "quantity": 100_000})

    def effect(tables: Tables, given: Arguments) -> None:
        row = tables[theme.records][given[f"{theme.record}_id"]]
        tables[theme.items][row[f"{theme.item}_id"]][theme.unit] -= given["quantity"] - row["quantity"]
        row["quantity"] = given["quantity"]

    return drafted(
        theme, "resize_$record", "Change the quantity of an open $record_said.",
        {"$record_id": TEXT, "quantity": COUNT},
        Code(["$record"], before='$item = db["$items"][$record["$item_id"]]', guards=[_not_open(theme), few], body="""
$item["$unit"] += $record["quantity"] - quantity
$record["quantity"] = quantity
return {"$record_id": $record_id, "quantity": quantity}
"""),
        propose=lambda scene: _resized(theme, scene), effect=effect, reads=["$records", "$items"],
        writes=["$records", "$items"],
        phrase=lambda tables, given: _phrases(
            theme, tables, given, f"set the quantity of {{row}} to {given['quantity']}"),
        conditions=Conditions(("record open",), ()))


def _resized(theme: Theme, scene: Scene) -> Arguments | None:
    found = _mine(theme, scene)
    if found is None:
        return None
    row = scene.tables[theme.records][found[f"{theme.record}_id"]]
    most = row["quantity"] + scene.tables[theme.items][row[f"{theme.item}_id"]][theme.unit]
    others = [count for count in range(1, min(most, 6) + 1) if count != row["quantity"]]
    return {**found, "quantity": scene.source.choice(others)} if others else None


def note(theme: Theme) -> Draft:
    def effect(tables: Tables, given: Arguments) -> None:
        tables[theme.records][given[f"{theme.record}_id"]]["note"] = given["note"]

    return drafted(
        theme, "set_${record}_note", "Write the note of $a_record anew.", {"$record_id": TEXT, "note": TEXT},
        Code(["$record"], guards=[Guard("not note.strip()", "a note needs a text", with_argument(theme, "note", " "))],
             body="""
$record["note"] = note
return {"$record_id": $record_id, "note": note}
"""),
        propose=lambda scene: _mine(theme, scene, {"note": scene.source.choice(NOTES)}), effect=effect,
        reads=["$records"], writes=["$records"],
        phrase=lambda tables, given: _phrases(theme, tables, given, f'write the note "{given["note"]}" on {{row}}'))


RECORD_TOOLS: Mapping[str, Callable[[Theme], Draft]] = {
    "create": create, "complete": complete, "cancel": cancel, "move": move, "resize": resize, "note": note}
