"""Methods that most nouns of the SDK have alike: list, whole list, one by name, deletion by name.

    class Judges(Requests):
        judges = Listing(Page[Judge], "judges")
        judge = Reading(Judge, "judges")
        delete_judge = Deleting(Judge, "judges")

`client.judges(limit=10)` then is a Page[Judge]. A test holds the paths against the routes of the gateway.
"""

from abc import ABC, abstractmethod
from typing import Generic, Protocol, TypeVar, overload

from hone.client.requests import Answer, Requests
from hone.client.resources import Page, Resource
from hone.client.transport import rest_path

Item = TypeVar("Item", bound=Resource)
Read_co = TypeVar("Read_co", covariant=True)
Bound = TypeVar("Bound")


class Listed(Protocol[Read_co]):
    """A bound method that lists."""

    def __call__(self, limit: int = 50, after: str | None = None) -> Read_co:
        """Return the page after an id. Raises HoneError."""


class Whole(Protocol[Read_co]):
    """A bound method that lists without pages."""

    def __call__(self) -> Read_co:
        """Return all items. Raises HoneError."""


class Named(Protocol[Read_co]):
    """A bound method that takes a name."""

    def __call__(self, name: str) -> Read_co:
        """Return the answer about the noun with this name. Raises HoneError, NotFound for an unknown name."""


class Method(ABC, Generic[Bound]):
    """A method that is made of its path: `verb` and `path` are the request's, without the name."""

    verb = "GET"

    def __init__(self, *path: str) -> None:
        self.path = path

    @overload
    def __get__(self, client: None, kind: type[Requests]) -> "Method[Bound]": ...
    @overload
    def __get__(self, client: Requests, kind: type[Requests]) -> Bound: ...

    def __get__(self, client: Requests | None, kind: type[Requests]) -> "Method[Bound] | Bound":
        return self if client is None else self.bound(client)

    @abstractmethod
    def bound(self, client: Requests) -> Bound:
        """Return the method of a client."""


class Listing(Method[Listed[Page[Item]]]):
    """Lists in pages."""

    def __init__(self, page: type[Page[Item]], *path: str) -> None:
        super().__init__(*path)
        self._page = page

    def bound(self, client: Requests) -> Listed[Page[Item]]:
        """Return the method of a client."""
        def listed(limit: int = 50, after: str | None = None) -> Page[Item]:
            return client._get(self._page, rest_path(*self.path), limit=limit, after=after)
        return listed


class Catalog(Method[Whole[list[Item]]]):
    """Lists without pages."""

    def __init__(self, page: type[Page[Item]], *path: str) -> None:
        super().__init__(*path)
        self._page = page

    def bound(self, client: Requests) -> Whole[list[Item]]:
        """Return the method of a client."""
        def whole() -> list[Item]:
            return client._get(self._page, rest_path(*self.path)).data
        return whole


class Reading(Method[Named[Answer]]):
    """Returns one noun by its name."""

    def __init__(self, answer: type[Answer], *path: str) -> None:
        super().__init__(*path)
        self._answer = answer

    def bound(self, client: Requests) -> Named[Answer]:
        """Return the method of a client."""
        def named(name: str) -> Answer:
            return client._send(self._answer, self.verb, rest_path(*self.path, name))
        return named


class Deleting(Reading[Answer]):
    """Deletes one noun by its name."""

    verb = "DELETE"
