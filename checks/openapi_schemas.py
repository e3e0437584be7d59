"""Whether JSON schemas of two OpenAPI documents fit together, for requests and for answers."""

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

Schema = Mapping[str, Any]
_LOWEST = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_HIGHEST = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")


class Direction(Enum):
    """Who writes a value: the client, by the schema of before, or the server, by the schema of now."""

    REQUEST = "request"
    ANSWER = "answer"


class Schemas:
    """Compares schemas of two documents. A pair of named schemas is compared once in each direction, by its name."""

    def __init__(self, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
        self._before, self._now = before, now
        self._named = dict[tuple[Direction, str, str], list[str]]()

    def compare(self, direction: Direction, place: str, before: Schema, now: Schema) -> Iterator[str]:
        """Yield each difference that breaks a client of before."""
        if "$ref" in before and "$ref" in now:
            pair = direction, before["$ref"], now["$ref"]
            if pair not in self._named:
                self._named[pair] = []  # a schema may hold itself
                name = before["$ref"].rpartition("/")[2]
                self._named[pair] = list(self._inner(direction, f"{name} ({direction.value})", before, now))
            yield from self._named[pair]
        else:
            yield from self._inner(direction, place, before, now)

    def _inner(self, direction: Direction, place: str, before: Schema, now: Schema) -> Iterator[str]:
        kept, found = self._variants(before, self._before), self._variants(now, self._now)
        if direction is Direction.ANSWER and _nullable(found) and not _nullable(kept):
            yield f"{place}: may be null now"
        for variant in kept:
            if variant.get("type") == "null" and direction is Direction.ANSWER:
                continue
            yield from self._closest(direction, place, variant, found)

    def _closest(self, direction: Direction, place: str, before: Schema, found: list[Schema]) -> Iterator[str]:
        """Yield the differences to the variant of now that is most like this variant of before."""
        kind = before.get("type")
        every = [list(self._alone(direction, place, before, each)) for each in found if each.get("type") == kind]
        if every:
            yield from min(every, key=len)
        else:
            types = ", ".join(str(each.get("type", "anything")) for each in found)
            yield f"{place}: found the type {types}, expected {kind or 'anything'}"

    def _alone(self, direction: Direction, place: str, before: Schema, now: Schema) -> Iterator[str]:
        if direction is Direction.REQUEST:
            yield from _values(place, before, now)
        yield from self._properties(direction, place, before, now)
        for part in ("items", "additionalProperties"):
            inner, inner_now = before.get(part), now.get(part)
            if isinstance(inner, dict) and isinstance(inner_now, dict):
                yield from self.compare(direction, f"{place}[]", inner, inner_now)
            elif part == "additionalProperties" and inner_now is False and inner is not False:
                yield f"{place}: further fields are refused now"

    def _properties(self, direction: Direction, place: str, before: Schema, now: Schema) -> Iterator[str]:
        kept, found = before.get("properties", {}), now.get("properties", {})
        needed, needed_now = set(before.get("required", ())), set(now.get("required", ()))
        for name in sorted(kept.keys() - found.keys()):
            yield f"{place}: field {name} is gone"
        if direction is Direction.REQUEST:
            for name in sorted(needed_now - needed):
                yield f"{place}: needs field {name} now"
        else:
            for name in sorted((needed - needed_now) & found.keys()):
                yield f"{place}: field {name} may be missing now"
        for name in kept.keys() & found.keys():
            yield from self.compare(direction, f"{place}.{name}", kept[name], found[name])

    def _variants(self, schema: Schema, document: Mapping[str, Any]) -> list[Schema]:
        """Return the schemas of which a value has to fit one, each without a reference of its own."""
        if "$ref" in schema:
            return self._variants(document["components"]["schemas"][schema["$ref"].rpartition("/")[2]], document)
        for union in ("anyOf", "oneOf"):
            if union in schema:
                return [each for part in schema[union] for each in self._variants(part, document)]
        return [schema]


def _nullable(variants: list[Schema]) -> bool:
    return any(each.get("type") == "null" or not each for each in variants)


def _values(place: str, before: Schema, now: Schema) -> Iterator[str]:
    """Yield the values that a request may have no longer. Answers may have new values of an enumeration."""
    allowed, allowed_now = _listed(before), _listed(now)
    if allowed_now is not None and (allowed is None or not set(allowed) <= set(allowed_now)):
        yield f"{place}: found the values {allowed_now}, expected {allowed or 'any'}"
    for names, sign in ((_LOWEST, 1), (_HIGHEST, -1)):
        for name in names:
            limit, limit_now = before.get(name), now.get(name)
            if limit_now is not None and (limit is None or sign * limit_now > sign * limit):
                yield f"{place}: {name} is {limit_now} now, expected {'none' if limit is None else limit}"
    if now.get("pattern", before.get("pattern")) != before.get("pattern"):
        yield f"{place}: pattern is {now['pattern']} now, expected {before.get('pattern', 'none')}"


def _listed(schema: Schema) -> list[Any] | None:
    return [schema["const"]] if "const" in schema else schema.get("enum")
