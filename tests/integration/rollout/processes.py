"""Rollout workers as processes of their own, as a supervisor starts them."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import Process
from pathlib import Path
from typing import Any

from hone.spec.settings import Settings


class WorkerProcess:
    """`python -m services.rollout`; its log lines lie in `log`."""

    def __init__(self, process: Process, log: Path) -> None:
        self.process, self.log = process, log

    @classmethod
    async def start(cls, settings: Settings, folder: Path, **environment: str) -> "WorkerProcess":
        values = settings.model_dump(mode="json", exclude_defaults=True)
        log = folder / "worker.log"
        with log.open("ab") as stderr:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "services.rollout", stderr=stderr,
                env={**os.environ, **{f"HONE_{name.upper()}": str(value) for name, value in values.items()},
                     **environment})
        return cls(process, log)

    def kill(self) -> None:
        """End it at once, if it still runs."""
        if self.process.returncode is None:
            self.process.kill()

    async def stop(self) -> int:
        """Send SIGTERM and return the exit status."""
        if self.process.returncode is None:
            self.process.terminate()
        return await asyncio.wait_for(self.process.wait(), 20)

    def lines(self) -> list[dict[str, Any]]:
        """Return the log's JSON lines."""
        text = self.log.read_text().splitlines()
        return [json.loads(line) for line in text if line.startswith("{")]
