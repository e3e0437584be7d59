"""Where run metrics are copied to: the entries of HONE_SINKS."""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

KINDS = {
    "tensorboard": "tensorboard:///directory",
    "mlflow": "mlflow:http://host:port (or another tracking URI)",
    "wandb": "wandb:project or wandb:entity/project",
}
"""Every kind of destination, and how an entry of it is written."""


@dataclass(frozen=True)
class Destination:
    """One entry: its kind, and what that kind needs to know."""

    kind: str
    target: str

    @property
    def name(self) -> str:
        """The entry without user and password, fit for rows and logs."""
        user, at, _ = urlsplit(self.target).netloc.rpartition("@")
        return f"{self.kind}:{self.target.replace(user + at, '', 1)}"


def parse(text: str) -> list[Destination]:
    """Return the destinations of a list like `tensorboard:///runs,mlflow:http://localhost:5000`; "" has none.

    Raises ValueError, naming what was found and what was expected.
    """
    found = [_entry(entry.strip()) for entry in text.split(",") if entry.strip()]
    said = [one.name for one in found]
    for name in said:
        if said.count(name) > 1:
            raise ValueError(f"found {name!r} twice, expected every destination once")
    return found


def names(text: str) -> list[str]:
    """Return the name of every destination of a list. Raises ValueError."""
    return [one.name for one in parse(text)]


def _entry(entry: str) -> Destination:
    kind, _, target = entry.partition(":")
    if kind not in KINDS:
        raise ValueError(f"found {entry!r}, expected {'; '.join(KINDS.values())}")
    if kind == "tensorboard":
        target = target.removeprefix("//")
    if not target or (kind == "tensorboard" and not Path(target).is_absolute()):
        raise ValueError(f"found {entry!r}, expected {KINDS[kind]}")
    return Destination(kind, target)
