"""A catalogue: members by name, each imported when it is asked for."""

import inspect
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Generic, TypeVar, cast

from hone.catalogue import entries
from hone.catalogue.entries import Entry

Member = TypeVar("Member")
Facts = TypeVar("Facts")


class NoMember(KeyError):
    """A catalogue cannot give a member: nobody has the name, several have it, or it cannot be loaded."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class Group(Generic[Member, Facts]):
    """The kind of member that an entry-point group holds.

    `lacks` returns what an object lacks to be a member, empty if nothing. `describe` returns the facts of a member,
    which the record keeps as JSON and `recorded` reads.
    """

    name: str  # of the entry points: hone.environments
    noun: str  # of a member, as messages call it
    lacks: Callable[[Any], str]
    describe: Callable[[Member], Facts]
    recorded: Callable[..., Facts]
    makes_classes: bool = True  # whether a class is made without arguments to be a member; else it is one itself


class Catalogue(MutableMapping[str, Member], Generic[Member, Facts]):
    """Members of one group by name. A member is imported when it is asked for, once a process.

    Lists of names and facts import no member of Hone's own. A name is in the catalogue if its member can be used:
    members of other packages are imported to know. Hone's own members come first, in the order of its table. `given`
    are members of Hone's own that need no import.
    """

    def __init__(self, group: Group[Member, Facts], given: Mapping[str, Member] | None = None) -> None:
        self._group = group
        self._given = given or {}
        self._loaded: dict[str, Member] = {}
        self._here: dict[str, Member] = {}
        self._facts: dict[str, Facts] = {}

    @property
    def group(self) -> str:
        """The name of its entry points."""
        return self._group.name

    def __getitem__(self, name: str) -> Member:
        """Return a member. Raises NoMember with the reason."""
        if name in self._here:
            return self._here[name]
        if name in self._loaded:
            return self._loaded[name]
        return self._loaded.setdefault(name, self._load(self._entry(name)))  # a member of another thread stays

    def __setitem__(self, name: str, member: Member) -> None:
        """Give this process a member of its own, in place of a package's."""
        self._here[name] = member

    def __delitem__(self, name: str) -> None:
        """Forget a member of this process. A package's member of that name is then found again."""
        del self._here[name]

    def forget(self, name: str) -> None:
        """Forget a package's member and its facts: they are imported again when they are asked for."""
        self._loaded.pop(name, None)
        self._facts.pop(name, None)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (
            name in self._here or name in self._loaded or not self.refusal(name))

    def __iter__(self) -> Iterator[str]:
        named = dict.fromkeys(one.name for one in (*self._own(), *self._others()))
        return iter([name for name in dict.fromkeys([*named, *self._here]) if name in self])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def facts(self, name: str) -> Facts:
        """Return the facts of a member, from the record where it has them. Raises NoMember."""
        if name in self._here:
            return self._group.describe(self._here[name])
        if name not in self._facts:
            kept = self._entry(name).facts
            self._facts[name] = self._group.recorded(**kept) if kept else self._group.describe(self[name])
        return self._facts[name]

    def here(self, name: str) -> Member | None:
        """Return the member that this process gave a name; None for members of packages."""
        return self._here.get(name)

    def described(self, name: str, target: str) -> Facts:
        """Import a member of Hone's own from its target, and return its facts. Raises NoMember."""
        return self._group.describe(self._load(Entry(name, target, entries.OWN)))

    def refusal(self, name: str) -> str:
        """Return why no member of a name can be used; empty if one can."""
        try:
            entry = self._entry(name)
            if entry.facts is None:
                self[name]  # of another package, and nobody else has seen whether it loads
        except NoMember as refused:
            return refused.message
        return ""

    def fault(self, name: str) -> str:
        """Return why a name that some package has cannot be used; empty where it can, or where nobody has it."""
        return self.refusal(name) if any(one.name == name for one in self._others()) else ""

    def faults(self) -> list[str]:
        """Return a sentence for each name of an installed package that cannot be used."""
        names = dict.fromkeys(one.name for one in self._others())
        return [fault for name in names if (fault := self.fault(name))]

    def package(self, name: str) -> Entry:
        """Return the entry of a member, which names its package. Raises NoMember."""
        return self._entry(name)

    def _own(self) -> tuple[Entry, ...]:
        return (*(Entry(name, "", entries.OWN, facts={}) for name in self._given), *entries.own(self._group.name))

    def _others(self) -> tuple[Entry, ...]:
        return entries.installed(self._group.name)

    def _entry(self, name: str) -> Entry:
        found = [one for one in (*self._own(), *self._others()) if one.name == name]
        if not found:
            raise NoMember(f"no installed package has the {self._group.noun} {name!r}")
        if len(found) > 1:
            raise NoMember(f"several packages have the {self._group.noun} {name!r}: "
                           f"{' and '.join(one.source for one in found)}")
        if found[0].unfit:
            raise NoMember(f"the {self._group.noun} {name!r} of {found[0].source} does not fit: {found[0].unfit}")
        return found[0]

    def _load(self, entry: Entry) -> Member:
        """Import a member; a class is made without arguments where the group says so."""
        if entry.name in self._given and entry.package == entries.OWN:
            return self._given[entry.name]
        try:
            module, _, attribute = entry.target.partition(":")
            found: Any = getattr(import_module(module), attribute)
            member = cast(Member, found() if self._group.makes_classes and inspect.isclass(found) else found)
        except Exception as error:
            raise NoMember(f"the {self._group.noun} {entry.name!r} of {entry.source} cannot be loaded from "
                           f"{entry.target}: {type(error).__name__}: {error}") from error
        if lacks := self._group.lacks(member):
            raise NoMember(f"{entry.target} of {entry.source} is no {self._group.noun}: it lacks {lacks}")
        return member
