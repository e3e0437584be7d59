"""Where raw results lie, and how they are written and read."""

import json
from pathlib import Path
from typing import Any

RESULTS = Path("benchmarks/results")


def store(path: Path, result: dict[str, Any]) -> None:
    """Write a result as JSON and say where, with everything but its raw values."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(without_raw(result), indent=1))
    print(f"written to {path}")


def without_raw(value: Any) -> Any:
    """Return a value without what it holds under `raw`, at any depth."""
    if not isinstance(value, dict):
        return value
    return {key: without_raw(inner) for key, inner in value.items() if key != "raw"}


def load(path: Path) -> dict[str, Any]:
    """Return a stored result. Raises FileNotFoundError, ValueError when it is no JSON."""
    result: dict[str, Any] = json.loads(path.read_text())
    return result
