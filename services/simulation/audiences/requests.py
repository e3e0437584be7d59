"""Requests about audiences: what they hold as JSON, read into the library's types."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from hone.api import simulation_pb2
from hone.audiences.columns import Value, features
from hone.audiences.decision_policies import Condition
from hone.audiences.simulator import Audience
from hone.rpc.errors import InvalidField
from hone.spec.problems import Invalid, Problem, found, from_validation

MOST_GROUPS = 200
"""Groups of one evaluation."""
_SEGMENT: TypeAdapter[Condition] = TypeAdapter(Condition)
_MOST_BYTES = 2**18

Parsed = TypeVar("Parsed", bound=BaseModel)


@dataclass(frozen=True)
class WantedGroup:
    """A group that is asked about."""

    audience: Audience
    strategy: Mapping[str, Value]
    seed: int

    @property
    def spec(self) -> dict[str, Any]:
        """The group as JSON: equal groups have equal ones."""
        return {"merchant": dict(self.audience.merchant), "strategy": dict(self.strategy), "seed": self.seed,
                "segment": [one.model_dump() for one in self.audience.segment]}


@contextmanager
def fields_named(prefix: str = "") -> Iterator[None]:
    """Raise InvalidField, with the first field below `prefix`, for Invalid."""
    try:
        yield
    except Invalid as refused:
        first = refused.problems[0]
        raise _Worded(prefix + first.field, first.found, first.expected) from refused


class _Worded(InvalidField):
    """An InvalidField whose found value is words already."""

    def __init__(self, field: str, found: str, expected: str) -> None:
        super().__init__(field, found, expected)
        self.args = (f"{field}: found {found}, expected {expected}",)


def group(message: simulation_pb2.AudienceGroup, prefix: str) -> WantedGroup:
    """Return a group. Raises InvalidField."""
    if message.seed < 0:
        raise InvalidField(f"{prefix}seed", message.seed, "at least 0")
    with fields_named(prefix):
        given = {name: _json(getattr(message, f"{name}_json"), f"{name}_json", {}) for name in ("merchant", "strategy")}
        known = features(given, "", ("merchant", "strategy"))
        segment = _json(message.segment_json, "segment_json", [])
        try:
            condition = _SEGMENT.validate_python(tuple(segment) if isinstance(segment, list) else segment)
        except ValidationError as error:
            raise Invalid(from_validation(error, root="segment")) from error
    return WantedGroup(Audience(known["merchant"], condition), known["strategy"], message.seed)


def model(text: str, field: str, kind: type[Parsed]) -> Parsed:
    """Return a model of JSON, that of an empty object for an empty text. Raises InvalidField."""
    with fields_named():
        given = _json(text, field, {})
        try:
            return kind.model_validate(given)
        except ValidationError as error:
            raise Invalid(from_validation(error, kind, root=field.removesuffix("_json"))) from error


def rates(message: simulation_pb2.MeasuredGroup, steps: Sequence[str], prefix: str) -> list[float]:
    """Return the measured rate of each step. Raises InvalidField."""
    if set(message.rates) != set(steps):
        raise InvalidField(f"{prefix}rates", ", ".join(sorted(message.rates)) or "nothing", ", ".join(steps))
    for step in steps:
        if not (math.isfinite(message.rates[step]) and 0 <= message.rates[step] <= 1):
            raise InvalidField(f"{prefix}rates.{step}", message.rates[step], "a rate from 0 to 1")
    if message.users < 1:
        raise InvalidField(f"{prefix}users", message.users, "at least 1")
    return [message.rates[step] for step in steps]


def _json(text: str, field: str, empty: Any) -> Any:
    if not text:
        return empty
    try:
        if len(text) > _MOST_BYTES:
            raise ValueError(f"{len(text)} characters")
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Invalid([Problem(field, found(text[:100]), f"JSON ({error})")]) from error
