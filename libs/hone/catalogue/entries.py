"""Entries of the catalogues: the name of a member, where it is imported from, and the package that has it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import Distribution, EntryPoint, PackageNotFoundError, entry_points, version
from importlib.resources import files
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

OWN = "hone-rl"
"""The package whose members stand in the record instead of in installed metadata, which may be older than the code."""
RECORDS = files("hone.catalogue") / "records"


@dataclass(frozen=True)
class Entry:
    """A member that can be imported. `facts` are those of the record; None: the member itself has to be asked."""

    name: str
    target: str  # module:attribute
    package: str
    version: str = ""
    unfit: str = ""  # why this release of Hone cannot load it; empty: nothing speaks against it
    facts: Mapping[str, Any] | None = field(default=None, compare=False)

    @property
    def source(self) -> str:
        """The package and its version, as messages name them."""
        return f"{self.package} {self.version}".strip()


@cache
def own(group: str) -> tuple[Entry, ...]:
    """Return Hone's own members of a group, in the order of pyproject.toml; a group without a record has none."""
    record = RECORDS / f"{group}.json"
    recorded = json.loads(record.read_text()) if record.is_file() else {}
    return tuple(Entry(name, one["target"], OWN, facts=one["facts"]) for name, one in recorded.items())


@cache
def installed(group: str) -> tuple[Entry, ...]:
    """Return the members of a group that other installed packages have, by package and name."""
    found = [_entry(point, point.dist) for point in entry_points(group=group)
             if point.dist is not None and canonicalize_name(point.dist.name) != OWN]
    return tuple(sorted(found, key=lambda one: (one.package, one.name)))


def _entry(point: EntryPoint, package: Distribution) -> Entry:
    return Entry(point.name, point.value, package.name, package.version, _unfit(package))


def _unfit(package: Distribution) -> str:
    """Return why a package does not fit: it requires another version of Hone than this one."""
    for text in package.requires or ():
        try:
            wanted = Requirement(text)
        except InvalidRequirement:
            continue
        ours = _version()
        if canonicalize_name(wanted.name) == OWN and ours and not wanted.specifier.contains(ours, prereleases=True):
            return f"it requires {OWN}{wanted.specifier}, and {ours} is installed"
    return ""


@cache
def _version() -> str:
    try:
        return version(OWN)
    except PackageNotFoundError:  # a source tree that nobody installed
        return ""
