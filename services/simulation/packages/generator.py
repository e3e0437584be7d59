"""Packages of the seeded generator, which a process of its own makes: no model takes part."""

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from hone.environments.packages.package import FILES, Package
from hone.environments.packages.reading import read
from hone.environments.synthesis.hints import NoWorld
from hone.store.database import Row


async def generated(job: Row) -> tuple[Package, dict[str, Any]]:
    """Return the package of a job and the report of its making. Raises NoWorld and ChildProcessError."""
    with tempfile.TemporaryDirectory(prefix="hone-package-") as folder:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "hone.environments.synthesis", "--seed", str(job["seed"]), "--tasks",
            str(job["tasks"]), "--out", folder, "--", job["hint"], stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE)
        try:
            said, complaint = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode == 1 and not said:
            raise NoWorld(complaint.decode(errors="replace").strip())
        if process.returncode:
            raise ChildProcessError(
                f"its process ended with {process.returncode}: {complaint.decode(errors='replace')[-500:]}")
        return read({name: (Path(folder) / name).read_bytes() for name in FILES}), json.loads(said)
