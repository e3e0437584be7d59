"""The databases of the desk, and of the kitchen."""

from pydantic import BaseModel, Field
from tau2.environment.db import DB


class Machine(BaseModel):
    """A rented machine."""

    serial: str
    owner: str
    active: bool
    opened: bool
    months: int = Field(ge=0, description="Months that are paid.")


class KioskDB(DB):
    """What the desk knows."""

    machines: dict[str, Machine]
    price: float


class KitchenDB(DB):
    """What stands in the user's kitchen."""

    serial: str
    display: str
    limescale: bool
