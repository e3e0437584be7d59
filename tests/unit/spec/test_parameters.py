"""Objects that users fill in: numbers are finite, in each of them."""

import math
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import ValidationError

from hone.algorithms.slots import SLOTS
from hone.environments.catalogue import ENVIRONMENTS
from hone.graders.catalogue import GRADERS
from hone.harnesses.catalogue import HARNESSES
from hone.spec import operations, run, settings  # noqa: F401, they define objects
from hone.spec.parameters import Strict


def _objects(of: type[Strict] = Strict) -> Iterator[type[Strict]]:
    for one in of.__subclasses__():
        yield one
        yield from _objects(one)


def members() -> list[Any]:
    """Load the members of all catalogues, and return their parameters."""
    methods = [method for slot in SLOTS.values() for method in slot.values()]
    return [getattr(one, "params", one) for one in
            [*methods, *GRADERS.values(), *ENVIRONMENTS.values(), *HARNESSES.values()]]


def accepts(model: type[Strict], name: str, value: float) -> bool:
    """Return whether a field takes a number, or refuses it for another reason than that it is not finite."""
    try:
        model.model_validate({name: value})
    except ValidationError as refused:
        return [one["type"] for one in refused.errors() if one["loc"] == (name,)] != ["finite_number"]
    return True


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_number_that_is_not_finite_is_refused(value: float) -> None:
    assert members()
    objects = sorted({one for one in _objects() if one.__module__.startswith("hone.")}, key=str)
    floats = [(one, name) for one in objects for name, field in one.model_fields.items()
              if field.annotation in {float, float | None}]
    assert len(floats) > 200
    assert [(model, name) for model, name in floats if accepts(model, name, value)] == []


def test_every_catalogue_has_such_parameters() -> None:
    models = members()
    assert [model for model in models if not issubclass(model, Strict)] == []
    assert [model for model in models if model.model_config.get("allow_inf_nan") is not False] == []
