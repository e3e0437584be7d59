"""Archetypes about places and items: moving and receiving stock, reports about items."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from hone.environments.packages.package import Tables
from hone.environments.synthesis import naming
from hone.environments.synthesis.draft import (
    COUNT,
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
from hone.environments.synthesis.record_tools import NEW
from hone.environments.synthesis.schema import REPORT_KINDS
from hone.environments.synthesis.theme import Theme

REPORT_TEXTS = ("the sign shows the wrong time", "the description is out of date", "two people asked for their money",
                "it was not ready when it was promised", "somebody got a wrong confirmation", "the label is missing")


def stock_id(place: str, item: str) -> str:
    """Return the key of the row of stock of an item at a place."""
    return f"{place}-{item}"


def transfer(theme: Theme) -> Draft:
    place, item = f"{theme.place}_id", f"{theme.item}_id"
    start, end = f"from_{place}", f"to_{place}"

    def effect(tables: Tables, given: Arguments) -> None:
        tables["stock"][stock_id(given[start], given[item])]["quantity"] -= given["quantity"]
        tables["stock"][stock_id(given[end], given[item])]["quantity"] += given["quantity"]

    def phrases(tables: Tables, given: Arguments) -> list[str]:
        what = naming.said(theme, tables, item, given[item])
        one, other = (naming.said(theme, tables, place, given[key]) for key in (start, end))
        return [f"move {given['quantity']} of {what} from {one} to {other}",
                f"{other} needs {given['quantity']} of {what}: take them from {one}"]

    return drafted(
        theme, "transfer_stock", "Move some of $a_item from one $place_said to another.",
        {"$item_id": TEXT, "from_$place_id": TEXT, "to_$place_id": TEXT, "quantity": COUNT},
        Code(["$item", "from_$place", "to_$place"], _BEFORE_TRANSFER, [
            Guard(f"{start} == {end}", "both are the same", lambda _, given: {**given, end: given[start]}),
            Guard("source is None or target is None", filled(theme, "this $item_said is not kept there"),
                  lambda tables, given: _unkept(theme, tables, given, end)),
            Guard('source["quantity"] < quantity', "not so many are there", with_argument(theme, "quantity", 10_000))],
            _TRANSFER),
        propose=lambda scene: _moved(theme, scene), effect=effect, phrase=phrases,
        reads=["$items", "$places", "stock"], writes=["stock"],
        conditions=Conditions(("stock there",), ("stock there",)))


_BEFORE_TRANSFER = """
rows = {row["$place_id"]: row for row in db["stock"].values() if row["$item_id"] == $item_id}
source, target = rows.get(from_$place_id), rows.get(to_$place_id)
"""
_TRANSFER = """
source["quantity"] -= quantity
target["quantity"] += quantity
return {"from_quantity": source["quantity"], "to_quantity": target["quantity"]}
"""


def _unkept(theme: Theme, tables: Tables, given: Arguments, place: str) -> Arguments:
    del tables["stock"][stock_id(given[place], given[f"{theme.item}_id"])]
    return given


def _moved(theme: Theme, scene: Scene) -> Arguments | None:
    rows = [row for row in scene.tables["stock"].values() if row["quantity"] > 0]
    if not rows:
        return None
    row, place = scene.source.choice(rows), f"{theme.place}_id"
    others = [key for key in scene.tables[theme.places]
              if key != row[place] and stock_id(key, row[f"{theme.item}_id"]) in scene.tables["stock"]]
    return {f"{theme.item}_id": row[f"{theme.item}_id"], f"from_{place}": row[place],
            f"to_{place}": scene.source.choice(others),
            "quantity": scene.source.randint(1, row["quantity"])} if others else None


_BEFORE_RECEIVE = """
row = next((row for row in db["stock"].values()
            if row["$item_id"] == $item_id and row["$place_id"] == $place_id), None)
"""


def receive(theme: Theme) -> Draft:
    place, item = f"{theme.place}_id", f"{theme.item}_id"

    def effect(tables: Tables, given: Arguments) -> None:
        tables["stock"][stock_id(given[place], given[item])]["quantity"] += given["quantity"]

    def propose(scene: Scene) -> Arguments:
        row = scene.tables["stock"][scene.source.choice(list(scene.tables["stock"]))]
        return {item: row[item], place: row[place], "quantity": scene.source.randint(1, 30)}

    return drafted(
        theme, "receive_stock", "Add a delivery of $a_item to what lies at $a_place.",
        {"$item_id": TEXT, "$place_id": TEXT, "quantity": COUNT},
        Code(["$item", "$place"], _BEFORE_RECEIVE, [
            Guard("row is None", filled(theme, "this $item_said is not kept there"),
                  lambda tables, given: _unkept(theme, tables, given, place)),
            Guard("quantity > 100", "a delivery has at most 100", with_argument(theme, "quantity", 101))], """
row["quantity"] += quantity
return {"quantity": row["quantity"]}
"""),
        propose=propose, effect=effect, reads=["$items", "$places", "stock"], writes=["stock"],
        phrase=lambda tables, given: [
            f"a delivery of {given['quantity']} of {naming.said(theme, tables, item, given[item])} has come to "
            f"{naming.said(theme, tables, place, given[place])}: add it to the stock"],
        conditions=Conditions((), ("stock there",)))


def file_report(theme: Theme) -> Draft:
    item, kinds = f"{theme.item}_id", list(REPORT_KINDS)

    def effect(tables: Tables, given: Arguments) -> None:
        tables[theme.reports][NEW] = {f"{theme.report}_id": NEW, item: given[item], "kind": given["kind"],
                                      "text": given["text"], "status": "open", "created_at": ""}

    def propose(scene: Scene) -> Arguments:
        return {item: scene.source.choice(list(scene.tables[theme.items])), "kind": scene.source.choice(kinds),
                "text": scene.source.choice(REPORT_TEXTS)}

    return drafted(
        theme, "file_$report", f"File $a_report about $a_item, of kind {', '.join(kinds)}.",
        {"$item_id": TEXT, "kind": {"type": "string"}, "text": TEXT},
        Code(["$item"], guards=[
            Guard(f"kind not in {json.dumps(kinds)}", "there is no such kind", with_argument(theme, "kind", "none")),
            Guard("not text.strip()", "a text is needed", with_argument(theme, "text", " "))], body="""
$report_id = db.new_id("rep")
db["$reports"][$report_id] = {
    "$report_id": $report_id, "$item_id": $item_id, "kind": kind, "text": text, "status": "open",
    "created_at": db.now}
return {"$report_id": $report_id}
"""),
        propose=propose, effect=effect, gives=["$report_id"], reads=["$items"], writes=["$reports"],
        phrase=lambda tables, given: _file_phrases(theme, tables, given), conditions=Conditions((), ("report open",)))


def _file_phrases(theme: Theme, tables: Tables, given: Arguments) -> list[str]:
    what = naming.said(theme, tables, f"{theme.item}_id", given[f"{theme.item}_id"])
    return [filled(theme, f'file $a_report of kind {given["kind"]} about {what}, with the text "{given["text"]}"')]


def close_report(theme: Theme) -> Draft:
    key = f"{theme.report}_id"

    def effect(tables: Tables, given: Arguments) -> None:
        tables[theme.reports][given[key]]["status"] = "closed"

    def propose(scene: Scene) -> Arguments | None:
        found = [one for one, row in scene.tables[theme.reports].items() if row["status"] == "open"]
        return {key: scene.source.choice(found)} if found else None

    more: dict[str, Any] = {"conditions": Conditions(("report open",), ())}
    return drafted(
        theme, "close_$report", "Close $a_report that is open.", {"$report_id": TEXT},
        Code(["$report"], guards=[
            Guard(f'{theme.report}["status"] != "open"', filled(theme, "the $report_said is closed"),
                  with_cell(theme, "$reports", "$report_id", "status", "closed"))], body="""
$report["status"] = "closed"
return {"$report_id": $report_id, "status": "closed"}
"""),
        propose=propose, effect=effect, reads=["$reports"], writes=["$reports"],
        phrase=lambda tables, given: [f"close {naming.said(theme, tables, key, given[key])}"], **more)


STOCK_TOOLS: Mapping[str, Callable[[Theme], Draft]] = {
    "transfer": transfer, "receive": receive, "file_report": file_report, "close_report": close_report}
