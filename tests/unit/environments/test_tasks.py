"""Tasks as messages: nothing is lost, and a task that does not match its hash is refused."""

import pytest

from hone.api import trajectory_pb2
from hone.environments.contract import WrongParams
from hone.environments.tasks import from_proto, make, to_proto


@pytest.mark.parametrize("task", [
    make("sort_digits", {"digits": 4}, 2**31 - 1),
    make("dataset", {"grader": {"type": "numeric"}}, 3, {"prompt": "ü?", "answer": "5", "level": [1, None]}),
])
def test_a_task_comes_back_as_it_went(task: object) -> None:
    assert from_proto(to_proto(task)) == task  # type: ignore[arg-type]


def test_defaults_are_filled_in_and_the_hash_may_be_left_out() -> None:
    assert from_proto(trajectory_pb2.Task(environment="sort_digits", seed=3)) == make("sort_digits", {"digits": 6}, 3)


@pytest.mark.parametrize(("field", "value"), [
    ("content_hash", "0" * 64), ("params_json", "[]"), ("params_json", "{"), ("item_json", "5"),
])
def test_a_wrong_field_is_named(field: str, value: str) -> None:
    message = to_proto(make("sort_digits", {"digits": 4}, 1))
    setattr(message, field, value)
    with pytest.raises(WrongParams) as refused:
        from_proto(message)
    assert refused.value.field == field
