"""Destinations of run metrics: the entries of HONE_SINKS."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from hone.spec.sinks import SINKS

KINDS = {
    "tensorboard": "tensorboard:///directory",
    "mlflow": "mlflow:http://host:port (or https://, sqlite:///file, postgresql://, mysql://, mssql://, databricks)",
    "wandb": "wandb:project or wandb:entity/project",
}
"""The format of an entry for each of Hone's own sinks. Sinks of installed packages take any text as a target."""
_MLFLOW_SERVERS = {"http", "https", "postgresql", "mysql", "mssql"}


@dataclass(frozen=True)
class Destination:
    """One entry: its kind and its target."""

    kind: str
    target: str

    @property
    def name(self) -> str:
        """The entry without user and password, for rows and logs."""
        user, at, _ = urlsplit(self.target).netloc.rpartition("@")
        return f"{self.kind}:{self.target.replace(user + at, '', 1)}"


def parse(text: str) -> list[Destination]:
    """Return the destinations of a list like `tensorboard:///runs,mlflow:http://localhost:5000`; "" has none.

    Raises ValueError with the entry found and the format expected.
    """
    found = [_entry(entry.strip()) for entry in text.split(",") if entry.strip()]
    names_found = [one.name for one in found]
    for name in names_found:
        if names_found.count(name) > 1:
            raise ValueError(f"found {name!r} twice, expected every destination once")
    return found


def names(text: str) -> list[str]:
    """Return the name of every destination of a list. Raises ValueError."""
    return [one.name for one in parse(text)]


def _entry(entry: str) -> Destination:
    kind, _, target = entry.partition(":")
    if kind not in SINKS:
        others = [f"{name}:target" for name in SINKS if name not in KINDS]
        raise ValueError(f"found {entry!r}, expected {SINKS.fault(kind) or '; '.join([*KINDS.values(), *others])}")
    if kind == "tensorboard":
        target = target.removeprefix("//")
    if not _FITS.get(kind, bool)(target):
        raise ValueError(f"found {Destination(kind, target).name!r}, expected {KINDS.get(kind, f'{kind}:target')}")
    return Destination(kind, target)


def _can_track(uri: str) -> bool:
    """Return whether MLflow can use a URI: a server with a host, SQLite with a file, or Databricks."""
    parts = urlsplit(uri)
    kind = parts.scheme.partition("+")[0]  # mysql+pymysql
    return (uri == "databricks" or kind == "databricks" or (kind in _MLFLOW_SERVERS and bool(parts.hostname))
            or (kind == "sqlite" and len(parts.path) > 1))


_FITS: dict[str, Callable[[str], bool]] = {
    "tensorboard": lambda target: Path(target).is_absolute(),
    "mlflow": _can_track,
    "wandb": bool,
}
