"""The part of a fit that computes: its rows, and the process of its own that works on them."""

import asyncio
import hashlib
import json
import logging
import sys
from collections.abc import Mapping
from typing import Any

from hone.environments import row_json
from hone.spec.problems import Invalid, Problem
from hone.store.objects import ObjectMissing, Objects

_FILE, _MOST_BYTES = "rows.jsonl", 2**26
_log = logging.getLogger(__name__)


def content(objects: Objects, manifest: Mapping[str, Any]) -> bytes:
    """Return the rows of a dataset. Raises Invalid where they are too many, gone or changed, and StoreAway."""
    entry = manifest["files"][_FILE]
    if entry["bytes"] > _MOST_BYTES:
        raise Invalid([Problem("dataset", f"{entry['bytes']} bytes", f"at most {_MOST_BYTES}")])
    try:
        stored = b"".join(objects.read(entry["key"]))
    except ObjectMissing:
        raise Invalid([Problem("dataset", "one whose rows were removed", "a stored dataset")]) from None
    if hashlib.sha256(stored).hexdigest() != entry["sha256"]:
        raise Invalid([Problem("dataset", "rows that differ from their manifest", "the rows that were uploaded")])
    return b"\n".join(json.dumps(numbers(json.loads(line))).encode() for line in stored.splitlines() if line.strip())


def numbers(value: Any) -> Any:
    """Return a row with numbers where a dataset keeps the text of one, such as 1e-7."""
    if isinstance(value, dict):
        return {name: numbers(inner) for name, inner in value.items()}
    number = row_json.number(value) if isinstance(value, str) else None
    return value if number is None else number


async def computed(content: bytes, work: str = "fit") -> dict[str, Any]:
    """Return the result of a process of its own, given parameters and rows (hone.audiences.job).

    Raises Invalid, and ChildProcessError where it ends badly.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "hone.audiences.job", work, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE)
    try:
        said, complaint = await process.communicate(content)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        _log.error("a fit ended with %s: %s", process.returncode, complaint.decode(errors="replace")[-2000:])
        raise ChildProcessError(f"the fit's process ended with {process.returncode}; the service's log tells more")
    found: dict[str, Any] = json.loads(said)
    if "problems" in found:
        raise Invalid([Problem(**one) for one in found["problems"]])
    return found
