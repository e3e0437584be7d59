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


OBJECTS = sorted({one for one in _objects() if one.__module__.startswith("hone.")}, key=str)
FLOATS = [(one, name, value) for one in OBJECTS for name, field in one.model_fields.items()
          if field.annotation in {float, float | None} for value in (math.nan, math.inf, -math.inf)]


@pytest.mark.parametrize(("model", "name", "value"), FLOATS)
def test_a_number_that_is_not_finite_is_refused(model: type[Strict], name: str, value: float) -> None:
    with pytest.raises(ValidationError) as refused:
        model.model_validate({name: value})
    assert [one["type"] for one in refused.value.errors() if one["loc"] == (name,)] == ["finite_number"]


def test_every_catalogue_has_such_parameters() -> None:
    methods = [method for slot in SLOTS.values() for method in slot.values()]
    models: list[Any] = [getattr(one, "params", one) for one in
              [*methods, *GRADERS.values(), *ENVIRONMENTS.values(), *HARNESSES.values()]]
    assert [model for model in models if not issubclass(model, Strict)] == []
    assert [model for model in models if model.model_config.get("allow_inf_nan") is not False] == []
