"""A budget is allocated completely; an invalid request is refused by its field."""

from typing import Any, cast

import pytest

from hone.api.value_pb2 import AllocateRolloutsRequest
from hone.rpc.errors import InvalidField
from hone.spec.value_settings import ValueSettings
from hone.store.database import AsyncDatabase
from services.value.service import Value


async def allocate(**fields: Any) -> list[int]:
    request = AllocateRolloutsRequest(**{"method": "uniform", "task_hashes": ["a"], "budget": 8, **fields})
    no_database = cast(AsyncDatabase, None)
    return list((await Value(no_database, ValueSettings()).AllocateRollouts(request, None)).rollouts)


@pytest.mark.parametrize(("tasks", "budget", "rollouts"), [
    (3, 8, [3, 3, 2]), (4, 32, [8, 8, 8, 8]), (2, 1, [1, 0]), (2, 0, [0, 0]),
])
async def test_uniform(tasks: int, budget: int, rollouts: list[int]) -> None:
    assert await allocate(task_hashes=[str(place) for place in range(tasks)], budget=budget) == rollouts


@pytest.mark.parametrize(("change", "field"), [
    ({"method": "dynamic"}, "method"), ({"task_hashes": []}, "task_hashes"), ({"budget": -1}, "budget"),
    ({"params_json": "5"}, "params_json"), ({"params_json": "{"}, "params_json"),
    ({"params_json": '{"alpha": 1}'}, "params.alpha"),
])
async def test_a_wrong_field_is_named(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidField) as refused:
        await allocate(**change)
    assert refused.value.field == field
