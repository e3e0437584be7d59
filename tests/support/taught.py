"""Toy models that tests start from: each is taught once for a state of the code that teaches, and kept in .cache."""

import hashlib
import inspect
import json
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.acceptance import shared

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / ".cache" / "taught"
TEACHES = ("libs/hone/algorithms", "libs/hone/environments", "libs/hone/harnesses", "libs/hone/models",
           "libs/hone/spec", "libs/hone/text", "libs/hone/trajectory", "services/learner/trainer",
           "tests/acceptance/databases.py", "tests/acceptance/toy.py")
"""Code on which the bits of a taught model depend, beside PyTorch's."""


def directory(make: Callable[..., object], **arguments: Any) -> Path:
    """Return a directory that `make(directory, **arguments)` has written, now or in an earlier run of the same code."""
    named = {name: inspect.getsource(value) if isinstance(value, type) else value for name, value in arguments.items()}
    asked = json.dumps([_code(), make.__module__, make.__qualname__, named], sort_keys=True)
    KEPT.mkdir(parents=True, exist_ok=True)
    return shared.once(KEPT / hashlib.sha256(asked.encode()).hexdigest()[:32], partial(make, **arguments))


@cache
def _code() -> str:
    """Return the digest of the code that teaches, and of what computes."""
    digest = hashlib.sha256(f"{version('torch')} {version('numpy')}".encode())
    for path in sorted(_sources()):
        digest.update(f"{path.relative_to(ROOT)} ".encode() + path.read_bytes())
    return digest.hexdigest()


def _sources() -> Iterator[Path]:
    for place in TEACHES:
        path = ROOT / place
        yield from path.rglob("*.py") if path.is_dir() else [path]
