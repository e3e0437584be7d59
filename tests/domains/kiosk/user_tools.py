"""The user's own tools."""

from tau2.domains.kiosk.data_model import KitchenDB
from tau2.environment.toolkit import ToolKitBase, ToolType, is_tool


class KitchenTools(ToolKitBase):
    """The kitchen."""

    db: KitchenDB

    @is_tool(ToolType.READ)
    def read_display(self) -> str:
        """Read the machine's display."""
        return f"The display shows: {self.db.display}"

    @is_tool(ToolType.WRITE)
    def run_descaling(self, minutes: int) -> str:
        """Descale the machine.

        Args:
            minutes: How long it runs.
        """
        self.db.limescale = self.db.limescale and minutes < 20
        return "It hums."

    def own_machine(self, serial: str, limescale: bool) -> None:
        """Put a machine into the kitchen."""
        self.db.serial, self.db.limescale = serial, limescale

    def makes_coffee(self) -> bool:
        """Return whether there is coffee."""
        return self.db.display == "ready"
