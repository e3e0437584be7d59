"""The task of a seed, and the score of its right answer by the environment's own grader."""

from hone_mirror import Mirror, MirrorParams

from hone.graders.contract import Status
from hone.graders.exact import ExactParams, grade


def test_the_right_answer_is_the_question_from_its_end():
    seen = Mirror().episode(MirrorParams(digits=5), seed=7, item=None).reset()
    asked = seen.messages[0]["content"].strip("s=")
    assert (len(asked), seen.item["answer"]) == (5, asked[::-1])
    found = grade(seen.item, asked[::-1], ExactParams(type="exact"))
    assert (found.status, found.score) == (Status.OK, 1.0)


def test_a_seed_has_one_task():
    first, again = (Mirror().messages(MirrorParams(), seed=3, item=None) for _ in range(2))
    assert first == again != Mirror().messages(MirrorParams(), seed=4, item=None)
