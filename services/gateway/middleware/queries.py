"""Query strings and forms: a name that the operation does not know, or has twice, is refused, as in a JSON body."""

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any, get_args, get_origin
from urllib.parse import parse_qsl

from fastapi import Request
from fastapi.routing import APIRoute

from hone.spec.problems import Invalid, Problem, one_of
from services.gateway.declarations import OPEN_PATHS

_MOST = 100
"""Parameters of a request."""


async def expect_known(request: Request) -> None:
    """Raise Invalid for query parameters that the operation does not have, or that it takes once. A dependency."""
    if request.url.path not in OPEN_PATHS and (query := request.scope["query_string"]):
        known = _parameters(request.scope["route"])
        expect_names(_names(query), known, {name for name, many in known.items() if many}, "query")


def expect_names(given: Iterable[str], known: Collection[str], repeated: Collection[str], root: str = "") -> None:
    """Raise Invalid for names that are not known, and for those that come twice though they are not `repeated`."""
    problems = []
    for name, times in Counter(given).items():
        field = f"{root}.{name[:200]}" if root else name[:200]
        if name not in known:
            problems.append(Problem(field, "an unknown parameter", one_of(name, known) if known else "no parameters"))
        elif times > 1 and name not in repeated:
            problems.append(Problem(field, f"{times} values", "one"))
    if problems:
        raise Invalid(problems)


def _names(query: bytes) -> list[str]:
    """Return the names of a query string in its order. Raises Invalid."""
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MOST)
    except UnicodeError:
        raise Invalid([Problem("query", "bytes that are not UTF-8", "percent-encoded UTF-8")]) from None
    except ValueError:
        raise Invalid([Problem("query", f"more than {_MOST} parameters", f"at most {_MOST}")]) from None
    return [name for name, _ in pairs]


def _parameters(route: APIRoute) -> dict[str, bool]:
    """Return the names of an operation's query parameters, and whether each may come several times."""
    return {field.alias: _is_list(field.field_info.annotation) for field in route.dependant.query_params}


def _is_list(annotation: Any) -> bool:
    return any(get_origin(one) is list for one in (annotation, *get_args(annotation)))
