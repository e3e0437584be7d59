"""The quotas of tenants: what is used of each, and the refusal of what would exceed the storage."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from hone.client.account_resources import Prices, Quota, Quotas
from hone.spec.problems import Problem
from hone.store.database import AsyncTransaction, Row
from services.gateway.middleware.errors import Conflict, NotFound
from services.gateway.middleware.tenancy import TenantSession

Price = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]
_PRICES = ("currency", "prompt_tokens", "completion_tokens", "scored_tokens", "trained_tokens", "grading_s",
           "trainer_s")


class PriceChange(BaseModel):
    """Prices that are to change; those that are absent stay."""

    model_config = ConfigDict(extra="forbid", strict=True)

    currency: Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{2,10}$")] | None = Field(
        None, description="Word after amounts, such as EUR. Amounts are not converted.")
    prompt_tokens: Price | None = Field(None, description="Of a million tokens of prompts.")
    completion_tokens: Price | None = Field(None, description="Of a million generated tokens.")
    scored_tokens: Price | None = Field(None, description="Of a million tokens of calls to Score.")
    trained_tokens: Price | None = Field(None, description="Of a million trained tokens.")
    grading_s: Price | None = Field(None, description="Of a second of grading.")
    trainer_s: Price | None = Field(None, description="Of a second of a trainer.")


async def of_tenant(session: TenantSession) -> Quotas:
    """Return the quotas of the session's tenant, and what is used of each now."""
    async with session.transaction() as transaction:
        row = await transaction.one("tenants.quotas", tenant=session.tenant_id)
    if row is None:
        raise NotFound("The tenant is gone.")
    used = {"max_runs": "runs", "max_running_groups": "running_groups", "max_tokens_a_day": "tokens_a_day",
            "max_stored_bytes": "stored_bytes", "month_budget": "month_cost"}
    quotas = {name: Quota(limit=row[name], used=row[column]) for name, column in used.items()}
    return Quotas(**quotas, currency=row["currency"])


async def expect_storage(transaction: AsyncTransaction, session: TenantSession, needed: int) -> None:
    """Raise Conflict if `needed` bytes more would exceed the tenant's max_stored_bytes.

    Until the transaction ends, no other request of the tenant gets an answer to this question.
    """
    await transaction.one("tenants.lock_storage", tenant=session.tenant_id)
    found = await transaction.one("tenants.stored_bytes", tenant=session.tenant_id)
    if found is not None and found["stored_bytes"] + needed > found["max_stored_bytes"]:
        raise Conflict("The tenant's storage quota does not allow it. Delete something, or ask for a higher quota.", [
            Problem("files", f"{needed} bytes, with {found['stored_bytes']} bytes stored already",
                    f"at most {found['max_stored_bytes']} bytes in all (max_stored_bytes)")])


async def prices(session: TenantSession) -> Prices:
    """Return the price list that is in force."""
    async with session.transaction() as transaction:
        return _prices(await transaction.one("prices.newest"))


async def set_prices(session: TenantSession, wanted: PriceChange) -> Prices:
    """Begin a new price list: the one in force with these changes."""
    given = {name: value for name, value in wanted.model_dump(exclude_unset=True).items() if value is not None}
    session.about("prices")
    async with session.operation() as transaction:
        before = _prices(await transaction.one("prices.newest")).model_dump(include=set(_PRICES))
        after = {**before, **given}
        if after != before:
            await transaction.run("prices.add", **after)
        return _prices(await transaction.one("prices.newest"))


def _prices(row: Row | None) -> Prices:
    if row is None:
        raise NotFound("The stack has no prices.")
    return Prices(**row)
