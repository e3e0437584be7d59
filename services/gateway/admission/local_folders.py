"""Folders of the gateway's machine from which a model may be registered by path.

The gateway reads with the rights of its own user, so a path may not reach what belongs to the stack or to others: no
directory of the stack itself, and nothing outside HONE_MODEL_ROOT where one is set. Symbolic links are followed before
they are judged, those inside the folder too. A hard link is the file itself and cannot be told from it.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from hone.process import disks
from hone.spec.problems import Invalid, Problem, found
from hone.spec.settings import Settings
from hone.stack import postgres
from services.gateway.middleware.tenancy import TenantSession

_BY_PATH = "the model's files as an upload (hone models add --upload)"


async def allow(session: TenantSession, settings: Settings) -> None:
    """Raise Invalid if this gateway takes no paths: several tenants, and no HONE_MODEL_ROOT that all may read."""
    if settings.model_root is not None:
        return
    async with session.transaction() as transaction:
        row = await transaction.one("tenants.is_only")
    if row is None or not row["only"]:
        raise Invalid([Problem("directory", "a path, on a gateway with several tenants and without HONE_MODEL_ROOT",
                               _BY_PATH)])


def opened(text: str, settings: Settings) -> Path:
    """Return the real path of a folder that may be read, all its files included. Raises Invalid.

    A refusal does not reveal whether a path outside HONE_MODEL_ROOT exists.
    """
    root, own = settings.model_root, list(own_places(settings))
    below = "" if root is None else f", below {root}"
    if "\0" in text or not Path(text).is_absolute():
        raise Invalid([Problem("directory", found(text), f"an absolute path on the gateway's machine{below}")])
    folder = Path(os.path.realpath(text))
    _expect_open(folder, "directory", text, root, own)
    if not os.path.isdir(folder):  # unlike Path.is_dir, raises nothing where access is denied
        raise Invalid([Problem("directory", found(text), "a directory on the gateway's machine")])
    for entry in _entries(folder, text):
        _expect_open(Path(os.path.realpath(entry)), f"directory: {entry.name}", str(entry), root, own)
    return folder


def own_places(settings: Settings) -> Iterator[Path]:
    """Yield the real paths of the stack's own directories on this machine: its state, objects, messages, database."""
    yield from disks.own_places(settings)
    if settings.state is not None:
        yield Path(os.path.realpath(postgres.home(settings.state)))


def watched(settings: Settings) -> list[Path]:
    """Return the directories that the stack writes to on this machine: its own, and that of temporary files."""
    return [place for place in (*own_places(settings), *disks.written(settings)) if place.exists()]


def _expect_open(real: Path, field: str, text: str, root: Path | None, own: list[Path]) -> None:
    if root is not None and not real.is_relative_to(os.path.realpath(root)):
        raise Invalid([Problem(field, found(text), f"an absolute path on the gateway's machine, below {root}")])
    if any(real.is_relative_to(place) for place in own):
        raise Invalid([Problem(field, found(text), "a path outside the directories of the stack itself")])


def _entries(folder: Path, text: str) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        unread = f"{found(text)}: {error.strerror}"
        raise Invalid([Problem("directory", unread, "a directory that the gateway may read")]) from None
