"""A peer's reward is our grader's, answer by answer."""

import json

import pytest

from benchmarks.rewards import SCORES
from hone.environments import tasks
from hone.graders.judgement import judged
from hone.graders.specs import spec

ANSWERS = ["01257", "01275", "0125", "", "2468", "1", "s=", "0123456789" * 20]


@pytest.mark.parametrize("environment", SCORES)
@pytest.mark.parametrize("answer", ANSWERS)
def test_the_peer_scores_as_we_do(environment: str, answer: str) -> None:
    asked = tasks.episode(tasks.make(environment, {}, 3)).reset()
    for text in (answer, asked.item.get("answer", "")):
        ours = judged(spec(json.dumps(asked.grader)), asked.item, text)
        assert SCORES[environment](text, asked.item) == ours.score
