"""Refuses changes of the REST surface that break clients of the last release: `python -m checks.openapi [--write]`.

The gateway's OpenAPI document is compared with that of the last release, docs/contracts/openapi.json. Paths, methods,
parameters and fields may come, and none may go. A request may not need more than before, nor accept less; an answer may
not leave out a field, nor give it another type. `--write` keeps today's document, at a release.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from checks.openapi_schemas import Direction, Schemas
from hone.spec.settings import Settings
from services.gateway.app import create

KEPT = Path(__file__).resolve().parent.parent / "docs" / "contracts" / "openapi.json"
_PROSE = {"title", "description", "summary", "examples", "example", "tags", "operationId"}
_METHODS = {"get", "put", "post", "delete", "patch", "head", "options"}

Document = Mapping[str, Any]


def document() -> Document:
    """Return paths and schemas of today's OpenAPI document of the gateway, without their prose."""
    nothing: Any = None
    plain = _without_prose(create(Settings(), nothing, nothing).openapi())
    return {"paths": plain["paths"], "components": {"schemas": plain["components"]["schemas"]}}


def text(content: Document) -> str:
    """Return a document as JSON with a line for each path and schema, so that a change of it is short."""
    paths, schemas = map(_lines, (content["paths"], content["components"]["schemas"]))
    return f'{{"paths": {{\n{paths}\n}}, "components": {{"schemas": {{\n{schemas}\n}}}}}}\n'


def _lines(part: Document) -> str:
    return ",\n".join(f"{json.dumps(name)}: {json.dumps(part[name], sort_keys=True)}" for name in sorted(part))


def breaches(before: Document, now: Document) -> Iterator[str]:
    """Yield each change that breaks a client, with its place and both values."""
    for path, methods in before["paths"].items():
        for method in sorted(_METHODS & methods.keys()):
            place, operation = f"{method.upper()} {path}", now["paths"].get(path, {}).get(method)
            if operation is None:
                yield f"{place} is gone"
            else:
                yield from _operation(place, methods[method], operation, Schemas(before, now))


def _operation(place: str, before: Document, now: Document, schemas: Schemas) -> Iterator[str]:
    yield from _parameters(place, before, now, schemas)
    body, body_now = before.get("requestBody"), now.get("requestBody")
    if body_now and body_now.get("required") and not (body and body.get("required")):
        yield f"{place}: needs a body now"
    yield from _content(f"{place} body", body or {}, body_now or {}, partial(schemas.compare, Direction.REQUEST))
    for status, answer in before["responses"].items():
        if status.startswith("2"):
            if status not in now["responses"]:
                yield f"{place}: answers {status} no longer"
            yield from _content(f"{place} {status}", answer, now["responses"].get(status, {}),
                                partial(schemas.compare, Direction.ANSWER))


def _parameters(place: str, before: Document, now: Document, schemas: Schemas) -> Iterator[str]:
    known, found = _named(before), _named(now)
    for name in sorted(known.keys() - found.keys()):
        yield f"{place}: parameter {name[1]} is gone"
    for name, parameter in found.items():
        if parameter.get("required") and not known.get(name, {}).get("required"):
            yield f"{place}: needs parameter {name[1]} now"
        if name in known:
            yield from schemas.compare(
                Direction.REQUEST, f"{place}: parameter {name[1]}", known[name]["schema"], parameter["schema"])


def _named(operation: Document) -> dict[tuple[str, str], Document]:
    return {(each["in"], each["name"]): each for each in operation.get("parameters", [])}


def _content(place: str, before: Document, now: Document, compare: Any) -> Iterator[str]:
    found = now.get("content", {})
    for media, kept in before.get("content", {}).items():
        if media not in found:
            yield f"{place}: {media} is gone"
        else:
            yield from compare(place, kept.get("schema", {}), found[media].get("schema", {}))


def _without_prose(value: Any, named: bool = False) -> Any:
    """Return a document without its prose. The keys of a `named` object are names, whatever they look like."""
    if isinstance(value, list):
        return [_without_prose(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: _without_prose(each, key in {"properties", "schemas"} and not named)
            for key, each in value.items() if named or key not in _PROSE}


def main() -> int:
    if "--write" in sys.argv[1:]:
        KEPT.write_text(text(document()))
        return 0
    found = list(dict.fromkeys(breaches(json.loads(KEPT.read_text()), document())))
    for line in found:
        print(f"{line} (docs/stability.md)", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
