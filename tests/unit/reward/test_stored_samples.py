"""A sample of an environment that asks one question has no world that a grader could read."""

import pytest

from hone.graders.scenes import WorldLost
from services.reward.stored_samples import of_world


def test_a_question_has_no_world_and_so_no_grade_of_it() -> None:
    assert of_world({"environment": "sqlite", "seed": 3}).seed == 3
    with pytest.raises(WorldLost, match="environment dataset asks one question"):
        of_world({"environment": "dataset", "seed": 0, "item": {"prompt": "?"}})
