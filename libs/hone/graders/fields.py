"""Compares two values of JSON field by field, with a tolerance for numbers."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from hone.spec.parameters import Strict


class Tolerance(Strict):
    """Rules by which values are equal."""

    abs_tolerance: float = Field(0.0, ge=0, description="Numbers are equal up to this distance.")
    rel_tolerance: float = Field(0.0, ge=0, description="Or up to this share of the reference's number.")
    ordered: bool = Field(True, description="Whether the items of lists have an order.")
    ignore_case: bool = Field(False, description="Treat capital and small letters of texts as equal.")
    optional: list[str] = Field(
        [], max_length=200, description="Paths of fields that may be left out, or be added: keys joined by dots, * for "
        "each item of a list. Where both have the field it has to be equal.")


EXACT = Tolerance()


@dataclass(frozen=True)
class Compared:
    """One field: its path, its weight in fields, and what is wrong about it, if anything."""

    path: str
    fields: int
    wrong: str = ""


def compared(value: Any, reference: Any, by: Tolerance, path: tuple[str, ...] = ()) -> Iterator[Compared]:
    """Yield every field of the two values. A field is a value that is no object and no list, or an empty one."""
    if isinstance(value, dict) and isinstance(reference, dict) and reference | value:
        for key in dict.fromkeys([*reference, *value]):
            yield from _member(value, reference, key, by, (*path, key))
    elif isinstance(value, list) and isinstance(reference, list) and (value or reference):
        yield from _items(value, reference, by, path)
    else:
        right = _equal(value, reference, by)
        yield Compared(".".join(path), _size(reference),
                       "" if right else f"found {_short(value)}, expected {_short(reference)}")


def share(fields: Sequence[Compared]) -> float:
    """Return the share of fields that are equal; 1 where there is none."""
    total = sum(one.fields for one in fields)
    return sum(one.fields for one in fields if not one.wrong) / total if total else 1.0


def differences(fields: Sequence[Compared]) -> Iterator[str]:
    """Yield what is wrong, with the paths."""
    return (f"{one.path or 'the value'}: {one.wrong}" for one in fields if one.wrong)


def _member(value: dict[str, Any], reference: dict[str, Any], key: str, by: Tolerance, path: tuple[str, ...]
            ) -> Iterator[Compared]:
    if key in value and key in reference:
        yield from compared(value[key], reference[key], by, path)
    elif not _is_optional(path, by):
        at = ".".join(path)
        yield (Compared(at, _size(value[key]), "found a field that is not expected") if key in value
               else Compared(at, _size(reference[key]), f"found nothing, expected {_short(reference[key])}"))


def _is_optional(path: tuple[str, ...], by: Tolerance) -> bool:
    return any(len(named := one.split(".")) == len(path) and all(
        part in (own, "*") for part, own in zip(named, path, strict=True)) for one in by.optional)


def _items(value: list[Any], reference: list[Any], by: Tolerance, path: tuple[str, ...]) -> Iterator[Compared]:
    both = min(len(value), len(reference))
    if by.ordered:
        for place in range(both):
            yield from compared(value[place], reference[place], by, (*path, str(place)))
    else:
        left, value = _matched(value, reference, by, path)
        yield Compared(".".join(path), sum(map(_size, reference)) - sum(map(_size, left)))
        reference, both = left, 0
    at = ".".join(path)
    for one in reference[both:]:
        yield Compared(at, _size(one), f"found no {_short(one)}")
    for one in value[both:]:
        yield Compared(at, _size(one), f"found an unexpected value {_short(one)}")


def _matched(value: list[Any], reference: list[Any], by: Tolerance, path: tuple[str, ...]
             ) -> tuple[list[Any], list[Any]]:
    """Return the items of the reference without an equal one, and the items that are equal to none."""
    rest, left = list(value), list[Any]()
    for wanted in reference:
        place = next((place for place, one in enumerate(rest)
                      if not any(field.wrong for field in compared(one, wanted, by, (*path, "*")))), None)
        if place is None:
            left.append(wanted)
        else:
            del rest[place]
    return left, rest


def _equal(value: Any, reference: Any, by: Tolerance) -> bool:
    if isinstance(value, bool) or isinstance(reference, bool):
        return value is reference
    if isinstance(value, int | float) and isinstance(reference, int | float):
        return value == reference or _near(value, reference, by)
    if isinstance(value, str) and isinstance(reference, str) and by.ignore_case:
        return value.casefold() == reference.casefold()
    return type(value) is type(reference) and bool(value == reference)


def _near(value: float, reference: float, by: Tolerance) -> bool:
    try:
        return abs(value - reference) <= max(by.abs_tolerance, by.rel_tolerance * abs(reference))
    except OverflowError:  # ints beyond all floats
        return False


def _size(value: Any) -> int:
    if isinstance(value, dict | list):
        return max(1, sum(map(_size, value.values() if isinstance(value, dict) else value)))
    return 1


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:60]}…"
