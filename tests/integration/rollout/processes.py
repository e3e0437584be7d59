"""Rollout workers as processes of their own, as a supervisor starts them."""

import asyncio
import json
import os
import subprocess
import sys
from functools import reduce
from pathlib import Path
from typing import Any

from hone.spec.settings import VARIABLES, Settings
from tests.servers import forking


def variables(settings: Settings) -> dict[str, str]:
    """Return the variables from which a process reads these settings."""
    chosen = {name: reduce(getattr, place, settings) for name, place in VARIABLES.items()}
    usual = {name: reduce(getattr, place, Settings()) for name, place in VARIABLES.items()}
    return {name: str(value) for name, value in chosen.items() if value != usual[name]}


class WorkerProcess:
    """`python -m services.rollout`, which writes its log to `log`."""

    def __init__(self, process: "subprocess.Popen[bytes]", log: Path) -> None:
        self.process, self.log = process, log

    @classmethod
    async def start(cls, settings: Settings, folder: Path, **environment: str) -> "WorkerProcess":
        log = folder / "worker.log"
        with log.open("ab") as stderr:
            process = await asyncio.to_thread(
                forking.start, [sys.executable, "-m", "services.rollout"], stderr=stderr,
                env={**os.environ, **variables(settings), **environment})
        return cls(process, log)

    def kill(self) -> None:
        """Kill the process if it still runs."""
        self.process.kill()

    async def stop(self) -> int:
        """Send SIGTERM and return the exit status."""
        self.process.terminate()
        return await self.ended(20)

    async def ended(self, timeout_s: float) -> int:
        """Wait for the end and return the exit status."""
        return await asyncio.to_thread(self.process.wait, timeout_s)

    def lines(self) -> list[dict[str, Any]]:
        """Return the log's JSON lines."""
        text = self.log.read_text().splitlines()
        return [json.loads(line) for line in text if line.startswith("{")]
