"""Tools of an order desk: customers and orders are looked up, and orders are changed by the desk's rules.

The order of the customer who was looked up last can be changed, and no other one.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal

from pydantic import BaseModel, Field

from hone.environments.dialogues.scenario import Columns, Store
from hone.environments.hashing import canonical
from hone.environments.tools import Tool, ToolError

RETURN_DAYS = 30
"""Days after delivery within which an order can be returned or exchanged."""

COLUMNS: Columns = {
    "customers": {"email": str}, "items": {"product": str, "variant": str, "price": int | float, "stock": int},
    "orders": {"customer": str, "item": str, "status": str, "price": int | float, "days": int}}
"""Data that the tools read."""


class FindCustomer(BaseModel):
    """Find a customer by e-mail address. This is needed before an order of the customer can be changed."""

    email: str = Field(description="E-mail address.")


class ListOrders(BaseModel):
    """List the orders of a customer: number, status, item."""

    customer: str = Field(description="The customer's id, such as C12.")


class GetOrder(BaseModel):
    """Read everything about an order."""

    order: str = Field(description="Order number, such as W1234.")


class ListVariants(BaseModel):
    """List the variants of a product with their ids, prices and stock."""

    product: str = Field(description="The product's name.")


class CancelOrder(BaseModel):
    """Cancel a pending order. The price is refunded."""

    order: str = Field(description="Order number.")
    reason: Literal["no longer needed", "ordered by mistake"] = Field(description="The customer's reason.")


class ChangeAddress(BaseModel):
    """Change the address of a pending order."""

    order: str = Field(description="Order number.")
    street: str = Field(description="Street and number.")
    zip: str = Field(description="Zip code.")


class ReturnOrder(BaseModel):
    """Return a delivered order, at most 30 days after its delivery. The price is refunded."""

    order: str = Field(description="Order number.")
    refund: Literal["card", "voucher"] = Field(description="How the price is refunded.")


class ExchangeItem(BaseModel):
    """Exchange the item of a delivered order for another variant that is in stock, at most 30 days after its delivery.
    """

    order: str = Field(description="Order number.")
    item: str = Field(description="Id of the new variant, such as I12.")


class Transfer(BaseModel):
    """Hand the customer over to a person, for what no other tool can do."""

    customer: str = Field(description="The customer's id.")
    summary: str = Field(description="What the customer wants.")


def tools(store: Store) -> Mapping[str, Tool]:
    """Return the desk's tools over a database."""
    made: Mapping[str, tuple[type[BaseModel], Callable[[Store, Any], str]]] = {
        "find_customer": (FindCustomer, _find_customer), "list_orders": (ListOrders, _list_orders),
        "get_order": (GetOrder, _get_order), "list_variants": (ListVariants, _list_variants),
        "cancel_order": (CancelOrder, _cancel), "change_address": (ChangeAddress, _change_address),
        "return_order": (ReturnOrder, _return), "exchange_item": (ExchangeItem, _exchange),
        "transfer_to_human": (Transfer, _transfer),
    }
    return {name: Tool(params, partial(call, store)) for name, (params, call) in made.items()}


def _find_customer(store: Store, given: FindCustomer) -> str:
    for key, row in store.rows("customers").items():
        if row["email"].casefold() == given.email.strip().casefold():
            store.write("desk", "session", customer=key)
            return canonical({"customer": key, **row})
    raise ToolError(f"no customer has the e-mail address {given.email}")


def _list_orders(store: Store, given: ListOrders) -> str:
    _customer(store, given.customer)
    return canonical([{"order": key, "status": row["status"], "item": row["item"]}
                      for key, row in store.rows("orders").items() if row["customer"] == given.customer])


def _get_order(store: Store, given: GetOrder) -> str:
    return canonical({"order": given.order, **_order(store, given.order)})


def _list_variants(store: Store, given: ListVariants) -> str:
    found = [{"item": key, **row} for key, row in store.rows("items").items()
             if row["product"].casefold() == given.product.strip().casefold()]
    if not found:
        raise ToolError(f"there is no product {given.product}")
    return canonical(found)


def _cancel(store: Store, given: CancelOrder) -> str:
    order = _changeable(store, given.order, "pending")
    store.write("orders", given.order, status="cancelled", reason=given.reason)
    return f"cancelled, {order['price']:.2f} refunded"


def _change_address(store: Store, given: ChangeAddress) -> str:
    _changeable(store, given.order, "pending")
    store.write("orders", given.order, street=given.street.strip(), zip=given.zip.strip())
    return "address changed"


def _return(store: Store, given: ReturnOrder) -> str:
    order = _delivered(store, given.order)
    store.write("orders", given.order, status="return requested", refund=given.refund)
    return f"return requested, {order['price']:.2f} will be refunded to the {given.refund}"


def _exchange(store: Store, given: ExchangeItem) -> str:
    order = _delivered(store, given.order)
    new, old = (store.rows("items").get(one) for one in (given.item, order["item"]))
    if new is None or old is None or new["product"] != old["product"]:
        raise ToolError(f"{given.item} is no variant of the order's item")
    if not new["stock"]:
        raise ToolError(f"{given.item} is out of stock")
    store.write("orders", given.order, status="exchange requested", item=given.item)
    return f"exchange requested, the price difference is {new['price'] - old['price']:.2f}"


def _transfer(store: Store, given: Transfer) -> str:
    _customer(store, given.customer)
    store.write("tickets", given.customer, summary=given.summary)
    return "handed over"


def _customer(store: Store, key: str) -> Mapping[str, Any]:
    if key not in store.rows("customers"):
        raise ToolError(f"there is no customer {key}")
    return store.rows("customers")[key]


def _order(store: Store, key: str) -> Mapping[str, Any]:
    if key not in store.rows("orders"):
        raise ToolError(f"there is no order {key}")
    return store.rows("orders")[key]


def _changeable(store: Store, key: str, status: str) -> Mapping[str, Any]:
    """Return an order of the customer who was looked up last, with this status. Raises ToolError."""
    order = _order(store, key)
    if store.rows("desk").get("session", {}).get("customer") != order["customer"]:
        raise ToolError("find the customer of this order by e-mail address first")
    if order["status"] != status:
        raise ToolError(f"the order is {order['status']}, not {status}")
    return order


def _delivered(store: Store, key: str) -> Mapping[str, Any]:
    order = _changeable(store, key, "delivered")
    if order["days"] > RETURN_DAYS:
        raise ToolError(f"the order was delivered {order['days']} days ago, more than {RETURN_DAYS}")
    return order
