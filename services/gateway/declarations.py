"""The declaration of a route: the scope that a request needs, the noun that it is about, and an example of its body.

It lies in the route's `openapi_extra`, so that the OpenAPI document has it too: `x-hone-scope` and `x-hone-noun`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from re import Pattern
from typing import Any, Literal, get_args

from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, compile_path

from hone import scopes

Need = scopes.Scope | Literal["operator"]
"""A scope; or operator, the scope admin in a tenant that is an operator."""

OPEN_PATHS = frozenset({"/", "/docs", "/openapi.json", "/favicon.ico", "/healthz"})
"""Paths that need no API key."""

SCOPE, NOUN = "x-hone-scope", "x-hone-noun"

_NEEDS = (*get_args(scopes.Scope), "operator")


def needs(scope: Need, noun: str, example: Any = None, media_type: str = "application/json") -> dict[str, Any]:
    """Return the `openapi_extra` of a route. `example` is a body that its model accepts, where it takes one."""
    declared: dict[str, Any] = {SCOPE: scope, NOUN: noun}
    if example is not None:
        declared["requestBody"] = {"content": {media_type: {"example": example}}}
    return declared


@dataclass(frozen=True)
class Declared:
    """A route with its declaration."""

    method: str
    path: str  # as it is declared, with the converters of its parameters
    pattern: Pattern[str]
    scope: Need
    noun: str


class Declarations:
    """The declarations of an application's routes, in their order: the first that fits a request counts."""

    def __init__(self, routes: Iterable[BaseRoute]) -> None:
        """Raises TypeError for a route below a closed path that does not declare its scope and its noun."""
        self.routes = [one for route in routes if isinstance(route, APIRoute) and route.path not in OPEN_PATHS
                       for one in _declared(route)]

    def need(self, method: str, path: str) -> Need:
        """Return the scope that a request needs; admin for a request that no route takes. HEAD needs that of GET."""
        method = "GET" if method == "HEAD" else method
        return next((one.scope for one in self.routes if one.method == method and one.pattern.match(path)), "admin")

    def methods(self, path: str) -> list[str]:
        """Return the methods that a path has, in the order of the alphabet; none if no route has the path."""
        known = {one.method for one in self.routes if one.pattern.match(path)}
        known |= {"GET"} if path in OPEN_PATHS else set()
        return sorted(known | ({"HEAD"} if "GET" in known else set()))


def _declared(route: APIRoute) -> list[Declared]:
    extra = route.openapi_extra or {}
    scope: Any = extra.get(SCOPE)
    noun = extra.get(NOUN)
    if scope not in _NEEDS or not noun:
        raise TypeError(f"{route.path} ({route.name}) does not declare its scope and its noun: "
                        'openapi_extra=needs("read", "runs")')
    pattern, methods = compile_path(route.path)[0], sorted(route.methods or ())
    return [Declared(method, route.path, pattern, scope, noun) for method in methods]
