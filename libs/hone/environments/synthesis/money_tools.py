"""Archetypes about money: paying for a record, filling a balance, sending money, setting a price."""

import json
from collections.abc import Callable, Mapping

from hone.environments.packages.package import Tables
from hone.environments.synthesis import naming
from hone.environments.synthesis.draft import (
    AMOUNT,
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
from hone.environments.synthesis.schema import PAYMENT_METHODS
from hone.environments.synthesis.theme import Theme

MOST_TOP_UP = 500


def pay(theme: Theme) -> Draft:
    opened = theme.statuses[0]
    guards = [
        Guard(f"method not in {json.dumps(PAYMENT_METHODS)}", "there is no such method",
              with_argument(theme, "method", "shells")),
        Guard(f'{theme.record}["status"] != "{opened}"', filled(theme, f"the $record_said is not {opened}"),
              with_cell(theme, "$records", "$record_id", "status", theme.statuses[2])),
        Guard(f'{theme.record}["paid"]', filled(theme, "the $record_said is paid already"),
              with_cell(theme, "$records", "$record_id", "paid", True)),
        Guard(f'method == "balance" and {theme.person}["balance"] < amount', "the balance is too low",
              lambda tables, given: _poor(theme, tables, given))]
    return drafted(
        theme, "pay_$record", "Pay for $a_record: price times quantity, from the balance or by voucher.",
        {"$record_id": TEXT, "method": {"type": "string", "enum": list(PAYMENT_METHODS)}},
        Code(["$record"], _BEFORE_PAY, guards, _PAY), propose=lambda scene: _unpaid(theme, scene),
        effect=lambda tables, given: _paid(theme, tables, given), reads=["$persons", "$items", "$records"],
        writes=["$persons", "$records", "payments"], gives=["payment_id"],
        phrase=lambda tables, given: _pay_phrases(theme, tables, given),
        conditions=Conditions(("record open", "record unpaid", "balance filled"), ("record paid",)))


_BEFORE_PAY = """
$person = db["$persons"][$record["$person_id"]]
amount = round(db["$items"][$record["$item_id"]]["price"] * $record["quantity"], 2)
"""
_PAY = """
if method == "balance":
    $person["balance"] = round($person["balance"] - amount, 2)
$record["paid"] = True
payment_id = db.new_id("pay")
db["payments"][payment_id] = {
    "payment_id": payment_id, "$person_id": $record["$person_id"], "$record_id": $record_id,
    "amount": amount, "method": method, "created_at": db.now}
return {"payment_id": payment_id, "amount": amount}
"""


def _poor(theme: Theme, tables: Tables, given: Arguments) -> Arguments:
    who = tables[theme.records][given[f"{theme.record}_id"]][f"{theme.person}_id"]
    tables[theme.persons][who]["balance"] = 0.0
    return {**given, "method": "balance"}


def _price(theme: Theme, tables: Tables, key: str) -> float:
    row = tables[theme.records][key]
    return float(round(tables[theme.items][row[f"{theme.item}_id"]]["price"] * row["quantity"], 2))


def _unpaid(theme: Theme, scene: Scene) -> Arguments | None:
    keys = [key for key, row in scene.tables[theme.records].items()
            if row[f"{theme.person}_id"] == scene.person and row["status"] == theme.statuses[0] and not row["paid"]]
    if not keys:
        return None
    key, balance = scene.source.choice(keys), scene.tables[theme.persons][scene.person]["balance"]
    affordable = PAYMENT_METHODS if balance >= _price(theme, scene.tables, key) else PAYMENT_METHODS[1:]
    return {f"{theme.record}_id": key, "method": scene.source.choice(affordable)}


def _paid(theme: Theme, tables: Tables, given: Arguments) -> None:
    key = given[f"{theme.record}_id"]
    row, amount = tables[theme.records][key], _price(theme, tables, key)
    who = row[f"{theme.person}_id"]
    if given["method"] == "balance":
        tables[theme.persons][who]["balance"] -= amount
    row["paid"] = True
    tables["payments"][NEW] = {"payment_id": NEW, f"{theme.person}_id": who, f"{theme.record}_id": key,
                               "amount": amount, "method": given["method"], "created_at": ""}


def _pay_phrases(theme: Theme, tables: Tables, given: Arguments) -> list[str]:
    row = naming.said(theme, tables, f"{theme.record}_id", given[f"{theme.record}_id"])
    means = "from the balance" if given["method"] == "balance" else "with a voucher"
    return [f"pay for {row} {means}", f"settle what is due for {row} {means}"]


def top_up(theme: Theme) -> Draft:
    key = f"{theme.person}_id"

    def effect(tables: Tables, given: Arguments) -> None:
        tables[theme.persons][given[key]]["balance"] += given["amount"]

    return drafted(
        theme, "top_up_balance", "Add money to the balance of $a_person.", {"$person_id": TEXT, "amount": AMOUNT},
        Code(["$person"], guards=[
            Guard("amount <= 0", "the amount has to be positive", with_argument(theme, "amount", -5.0)),
            Guard(f"amount > {MOST_TOP_UP}", f"at most {MOST_TOP_UP} at a time",
                  with_argument(theme, "amount", MOST_TOP_UP + 0.5))], body="""
$person["balance"] = round($person["balance"] + amount, 2)
return {"balance": $person["balance"]}
"""),
        propose=lambda scene: {key: scene.person, "amount": scene.source.randint(4, 40) * 2.5}, effect=effect,
        reads=["$persons"], writes=["$persons"],
        phrase=lambda tables, given: [
            f"add {given['amount']:.2f} to the balance of {naming.said(theme, tables, key, given[key])}"],
        conditions=Conditions((), ("balance filled",)))


def send_money(theme: Theme) -> Draft:
    one, other = f"from_{theme.person}_id", f"to_{theme.person}_id"

    def effect(tables: Tables, given: Arguments) -> None:
        tables[theme.persons][given[one]]["balance"] -= given["amount"]
        tables[theme.persons][given[other]]["balance"] += given["amount"]

    def propose(scene: Scene) -> Arguments | None:
        others = [key for key in scene.tables[theme.persons] if key != scene.person]
        most = int(scene.tables[theme.persons][scene.person]["balance"])
        return {one: scene.person, other: scene.source.choice(others),
                "amount": float(scene.source.randint(1, min(most, 60)))} if most > 1 and others else None

    def phrases(tables: Tables, given: Arguments) -> list[str]:
        sender, receiver = (naming.said(theme, tables, f"{theme.person}_id", given[key]) for key in (one, other))
        return [f"send {given['amount']:.2f} from the balance of {sender} to that of {receiver}"]

    return drafted(
        theme, "send_money", "Move money from the balance of one $person_said to that of another.",
        {"from_$person_id": TEXT, "to_$person_id": TEXT, "amount": AMOUNT},
        Code(["from_$person", "to_$person"], guards=[
            Guard(f"{one} == {other}", "both are the same", lambda _, given: {**given, other: given[one]}),
            Guard("amount <= 0", "the amount has to be positive", with_argument(theme, "amount", -5.0)),
            Guard(f'from_{theme.person}["balance"] < amount', "the balance is too low",
                  with_argument(theme, "amount", 1e6))], body="""
from_$person["balance"] = round(from_$person["balance"] - amount, 2)
to_$person["balance"] = round(to_$person["balance"] + amount, 2)
return {"balance": from_$person["balance"]}
"""),
        propose=propose, effect=effect, reads=["$persons"], writes=["$persons"], phrase=phrases,
        conditions=Conditions(("balance filled",), ()))


def set_price(theme: Theme) -> Draft:
    key = f"{theme.item}_id"

    def effect(tables: Tables, given: Arguments) -> None:
        tables[theme.items][given[key]]["price"] = given["price"]

    return drafted(
        theme, "set_${item}_price", "Give $a_item another price.", {"$item_id": TEXT, "price": AMOUNT},
        Code(["$item"], guards=[Guard("price <= 0", "a price is positive", with_argument(theme, "price", 0.0))],
             body="""
$item["price"] = price
return {"$item_id": $item_id, "price": price}
"""),
        propose=lambda scene: {key: scene.source.choice(list(scene.tables[theme.items])),
                               "price": scene.source.randint(81, 199) / 2}, effect=effect,
        reads=["$items"], writes=["$items"],
        phrase=lambda tables, given: [
            f"change the price of {naming.said(theme, tables, key, given[key])} to {given['price']:.2f}"])


MONEY_TOOLS: Mapping[str, Callable[[Theme], Draft]] = {
    "pay": pay, "top_up": top_up, "send_money": send_money, "set_price": set_price}
