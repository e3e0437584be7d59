"""The agent's tools."""

import time

from tau2.domains.kiosk.data_model import KioskDB, Machine
from tau2.environment.toolkit import ToolKitBase, ToolType, is_tool


class KioskTools(ToolKitBase):
    """The desk."""

    db: KioskDB

    @is_tool(ToolType.READ)
    def find_machine(self, serial: str) -> Machine:
        """Find a machine.

        It has to be found before it is changed.

        Args:
            serial: The serial number, such as M100.

        Returns:
            The machine.
        """
        return self._machine(serial)

    @is_tool(ToolType.WRITE)
    def renew(self, serial: str, months: int = 12) -> dict:
        """Renew a subscription.

        Args:
            serial: The serial number.
            months: Months that are added,
                at least one.
        """
        machine = self._machine(serial)
        if machine.opened:
            raise ValueError("the machine was opened")
        machine.months += months
        machine.active = True
        return {"serial": serial, "months": machine.months, "price": self.db.price}

    @is_tool(ToolType.GENERIC)
    def transfer_to_human_agents(self, summary: str) -> str:
        """Hand over to a person."""
        return f"Handed over: {len(summary)} characters"

    @is_tool(ToolType.READ)
    def wait_for_ever(self) -> str:
        """Loop."""
        while True:
            time.sleep(0.01)

    @is_tool(ToolType.READ)
    def leave(self) -> str:
        """Write a file, and end the process."""
        import os
        with open("/etc/hone-was-here", "w") as file:
            file.write("x")
        os._exit(3)

    @is_tool(ToolType.READ)
    def clock(self) -> str:
        """Return something else each time."""
        return str(time.time_ns())

    def is_active(self, serial: str) -> bool:
        """Return whether a machine is active."""
        return self._machine(serial).active

    def _machine(self, serial: str) -> Machine:
        if serial not in self.db.machines:
            raise ValueError(f"Machine {serial} not found")
        return self.db.machines[serial]
