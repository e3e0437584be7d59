"""The domain `orders`: customers of a shop call its order desk, whose agent has tools. After the idea of tau2-bench.

Families of tasks: `status` (when does it arrive?), `cancel`, `address`, `return`, `exchange`, `late` (a return that the
policy forbids) and `transfer` (something that no tool does). Difficulty 1: the user says the order's number at once; 2:
when it is asked; 3: the user does not know it, and the agent finds it by the e-mail address and the item.
"""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from pydantic import Field

from hone.environments.contract import EnvironmentParams
from hone.environments.dialogues import order_tools
from hone.environments.dialogues.scenario import Classes, Figure, Scenario, Store, Tables
from hone.environments.tools import Tool, ToolCall
from hone.users.profile import Fact, Goal, Mood, Profile

Family = Literal["status", "cancel", "address", "return", "exchange", "late", "transfer"]
FAMILIES: tuple[Family, ...] = get_args(Family)
POLICY = (
    "You work at the order desk of a shop. Find the customer by e-mail address before you change an order. Pending "
    "orders can be cancelled, and their address can be changed. Delivered orders can be returned or exchanged for "
    "another variant, at most 30 days after their delivery: refuse what is later, and name the days. "
    "Tell the customer amounts of refunds and differences of prices, with two decimals. Hand over to a person what no "
    "tool can do, and say so.")
CLASSES: Classes = {
    "desk": {"customer": "exempt"}, "tickets": {"summary": "exempt"}, "orders": {"street": "semantic"}}
_NAMES = ("Ada Berg", "Ben Cole", "Cleo Dahl", "Dan Egger", "Eva Fox", "Finn Gray", "Gwen Hall", "Hugo Ilic")
_PRODUCTS = ("kettle", "lamp", "jacket", "desk", "radio", "bottle")
_VARIANTS = ("red", "blue", "green")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
_STREETS = ("Mill Road", "High Street", "Park Lane", "Hill Street")
_DONE = "done|cancelled|canceled|changed|returned|exchanged|requested|refunded|confirmed|has been|have been|is now"


class OrdersParams(EnvironmentParams):
    """Choice of tasks of the domain orders."""

    families: list[Family] = Field(list(FAMILIES), min_length=1, description="Families of tasks.")
    difficulties: list[Literal[1, 2, 3]] = Field([1, 2, 3], min_length=1, description="1: the user says the order's "
                                                 "number at once; 2: when it is asked; 3: does not know it.")


class Orders:
    """An order desk with nine tools."""

    policy = POLICY
    classes = CLASSES
    columns = order_tools.COLUMNS
    figures: tuple[Figure, ...] = ("state", "communication", "goal", "repetition", "identity")
    forbidden: tuple[str, ...] = (r"\bguarantee", r"\bI promise\b")

    def tools(self, store: Store) -> Mapping[str, Tool]:
        """Return the desk's tools."""
        return order_tools.tools(store)

    def scenario(self, params: OrdersParams, seed: int) -> Scenario:
        """Return the scenario of a seed."""
        chance = random.Random(f"orders {seed}")
        case = _case(chance, chance.choice(params.families), chance.choice(params.difficulties))
        return _TASKS[case.family](case)


@dataclass(frozen=True)
class _Case:
    """Draws for a scenario, before its family says what is wanted."""

    family: Family
    difficulty: int
    chance: random.Random
    tables: Tables
    customer: str
    order: str

    @property
    def row(self) -> Mapping[str, Any]:
        return self.tables["orders"][self.order]

    @property
    def item(self) -> Mapping[str, Any]:
        return self.tables["items"][self.row["item"]]

    @property
    def email(self) -> str:
        return str(self.tables["customers"][self.customer]["email"])


def _case(chance: random.Random, family: Family, difficulty: int) -> _Case:
    """Draw three customers with two orders each, of different products, and the order that it is about."""
    names, numbers = chance.sample(_NAMES, 3), chance.sample(range(1000, 10000), 6)
    mails = [f"{name.split()[0].lower()}{chance.randrange(10, 99)}@mail.org" for name in names]
    customers = {f"C{10 + place}": {"name": name, "email": mails[place]} for place, name in enumerate(names)}
    items = {f"I{10 + place}": {"product": product, "variant": variant, "price": chance.randrange(900, 9900) / 100,
                                "stock": chance.randrange(1, 9)}
             for place, (product, variant) in enumerate((one, other) for one in _PRODUCTS for other in _VARIANTS)}
    products = [chance.sample(range(len(_PRODUCTS)), 2) for _ in customers]
    orders = {f"W{number}": _order(chance, [*customers][place // 2], items, products[place // 2][place % 2])
              for place, number in enumerate(numbers)}
    chosen = f"W{numbers[0]}"
    status = "delivered" if family in ("return", "exchange", "late") else "shipped" if family == "status" else "pending"
    days = chance.randrange(31, 90) if family == "late" else chance.randrange(1, 29)
    orders[chosen] |= {"status": status, "days": days if status == "delivered" else 0}
    desk = {"session": {"customer": ""}}
    return _Case(family, difficulty, chance, {
        "customers": customers, "items": items, "orders": orders, "tickets": {}, "desk": desk}, "C10", chosen)


def _order(
    chance: random.Random, customer: str, items: Mapping[str, Mapping[str, Any]], product: int
) -> dict[str, Any]:
    item = f"I{10 + product * len(_VARIANTS) + chance.randrange(len(_VARIANTS))}"
    return {"customer": customer, "item": item, "price": items[item]["price"], "status": "pending", "days": 0,
            "arrives": chance.choice(_DAYS), "street": f"{chance.choice(_STREETS)} {chance.randrange(1, 99)}",
            "zip": str(chance.randrange(10000, 99999)), "reason": "", "refund": ""}


def _status(case: _Case) -> Scenario:
    day = case.row["arrives"]
    return _scenario(case, f"I want to know when my {case.item['product']} arrives.", [], case.tables, (day,),
                     [f"It arrives on {day}."], [day], changes=False)


def _cancel(case: _Case) -> Scenario:
    reason, price = case.chance.choice(["no longer needed", "ordered by mistake"]), f"{case.row['price']:.2f}"
    why = Fact(name="reason", value=reason, asked=["reason|why"], says="The reason: {value}.")
    return _scenario(
        case, f"I want to cancel my order of a {case.item['product']}.", [why],
        _after(case, status="cancelled", reason=reason), (price,),
        ["Why do you want to cancel it?", _call("cancel_order", order=case.order, reason=reason),
         f"It is cancelled, {price} is refunded."], [_DONE, price])


def _address(case: _Case) -> Scenario:
    street, code = f"{case.chance.choice(_STREETS)} {case.chance.randrange(100, 200)}", str(
        case.chance.randrange(10000, 99999))
    facts = [Fact(name="street", value=street, asked=["address|street|where"], says="It is {value}."),
             Fact(name="zip", value=code, asked=["address|zip|zip code"], says="The zip code is {value}.")]
    return _scenario(
        case, f"My order of a {case.item['product']} has to go to another address.", facts,
        _after(case, street=street, zip=code), (code,),
        ["What is the new address?", _call("change_address", order=case.order, street=street, zip=code),
         f"The address is changed to {street}, {code}."], [_DONE, code])


def _return(case: _Case) -> Scenario:
    refund, price = case.chance.choice(["card", "voucher"]), f"{case.row['price']:.2f}"
    how = Fact(name="refund", value=refund, asked=["refund*|voucher|card"], says="I want the money on a {value}.")
    return _scenario(
        case, f"I want to return a {case.item['product']}.", [how],
        _after(case, status="return requested", refund=refund), (price,),
        ["How do you want the refund, card or voucher?", _call("return_order", order=case.order, refund=refund),
         f"The return is requested, {price} comes back."], [_DONE, price])


def _exchange(case: _Case) -> Scenario:
    others = {key: row for key, row in case.tables["items"].items()
              if row["product"] == case.item["product"] and key != case.row["item"]}
    new = case.chance.choice([*others])
    variant, difference = others[new]["variant"], f"{others[new]['price'] - case.item['price']:.2f}"
    which = Fact(name="variant", value=variant, asked=["variant*|colour*|color*|which one"], says="The {value} one.")
    return _scenario(
        case, f"I want another variant of my {case.item['product']}.", [which],
        _after(case, status="exchange requested", item=new), (difference,),
        ["Which variant do you want?", _call("list_variants", product=case.item["product"]),
         _call("exchange_item", order=case.order, item=new),
         f"The exchange is requested, the difference is {difference}."], [_DONE, difference])


def _late(case: _Case) -> Scenario:
    days = str(case.row["days"])
    return _scenario(
        case, f"I want to return a {case.item['product']}.", [], case.tables, (days,),
        [f"I am sorry, it was delivered {days} days ago and cannot be returned."],
        ["cannot|can not|can't|unable|not possible|too late|sorry", days], changes=False)


def _transfer(case: _Case) -> Scenario:
    tables = {**case.tables, "tickets": {case.customer: {"summary": ""}}}
    return _scenario(
        case, f"I want a gift card in the parcel with my {case.item['product']}.", [], tables, ("person|colleague",),
        [_call("transfer_to_human", customer=case.customer, summary="wants a gift card"),
         "A person will take over."], ["person|colleague"])


_TASKS: Mapping[Family, Callable[[_Case], Scenario]] = {
    "status": _status, "cancel": _cancel, "address": _address, "return": _return, "exchange": _exchange, "late": _late,
    "transfer": _transfer,
}


def _scenario(
    case: _Case, goal: str, facts: Sequence[Fact], expected: Tables, communicate: tuple[str, ...],
    ends: Sequence[str], hears: Sequence[str], changes: bool = True,
) -> Scenario:
    """Return the scenario of a family. `ends` are the gold actions once the order is known."""
    number = Fact(name="order", value=case.order, reveal="opening" if case.difficulty == 1 else "asked", form="W9999",
                  asked=["order number|number of the order|order id|which order"], says="The order number is {value}.")
    known = [Fact(name="email", value=case.email, asked=["email*|e-mail*|mail"], says="My e-mail address is {value}."),
             *([number] if case.difficulty < 3 else []), *facts,
             Fact(name="card_number", value=str(case.chance.randrange(10**15, 10**16)), reveal="never",
                  asked=["card number"], form="9" * 16)]
    return Scenario(
        Profile(id=f"{case.family}-{case.difficulty}", persona="You are a customer of a shop.", turns=12,
                goal=Goal(text=goal, hears=list(hears)), knowledge=known, mood=Mood(least=-4, again=-1, repeats=-1)),
        POLICY, case.tables, expected, communicate, {"family": case.family, "difficulty": case.difficulty},
        (*_found(case, changes or case.family == "transfer"), *ends))


def _found(case: _Case, customer: bool) -> list[str]:
    """Return the gold actions that find the order, and the customer where that is needed."""
    asks = [] if case.difficulty != 2 else ["What is the order number?"]
    looks = ["What is your e-mail address?", _call("find_customer", email=case.email)]
    if case.difficulty == 3:
        asks = [_call("list_orders", customer=case.customer)]
    return [*(looks if customer or case.difficulty == 3 else []), *asks, _call("get_order", order=case.order)]


def _after(case: _Case, **cells: Any) -> Tables:
    store = Store(case.tables)
    store.write("orders", case.order, **cells)
    return store.tables


def _call(tool: str, **arguments: Any) -> str:
    return ToolCall(tool, json.loads(json.dumps(arguments))).action()
