import json

import pytest

from hone.graders.contract import Status
from hone.graders.judgement import judged
from hone.graders.specs import spec

SHARE = spec(json.dumps({"type": "character_share", "wanted": "02468", "among": "0123456789"}))


@pytest.mark.parametrize(("output", "score"), [("2468", 1.0), ("13", 0.0), ("1234", 0.5), ("a2b1c1d1", 0.25)])
def test_only_counted_characters_enter_the_share(output: str, score: float) -> None:
    result = judged(SHARE, {}, output)
    assert (result.status, result.score) == (Status.OK, score)


@pytest.mark.parametrize("output", ["ab", "="])
def test_an_output_without_counted_characters_is_no_answer(output: str) -> None:
    result = judged(SHARE, {}, output)
    assert (result.status, result.score) == (Status.NO_ANSWER, 0.0)
