"""What a grader gave becomes part of the calls."""

from hone.api import reward_pb2
from hone.graders.graded_calls import with_scores
from hone.trajectory.records import Span
from tests.unit.trajectory import samples


class Letters:
    def pieces(self, ids: list[int]) -> list[str]:
        return [chr(one) for one in ids]


def test_scored_steps_are_spans_of_the_call_that_they_are_about_and_without_one_of_the_output() -> None:
    """A step may begin in the part of the answer that the prompt holds: its tokens are those of the completion."""
    calls = [samples.call([1], [*map(ord, "draft")], 0, number="0"),
             samples.call([1], [*map(ord, "answer")], 1, number="1", begun="<think>")]
    steps = [reward_pb2.StepScore(call="", start=5, end=9, name="step", value=0.25),
             reward_pb2.StepScore(call="0", start=1, end=5, name="step", value=1.0)]
    first, last = with_scores(calls, reward_pb2.Grade(steps=steps), Letters())  # type: ignore[arg-type]
    assert first.spans == [Span("step", 1, 5, score=1.0)]
    assert last.spans == [Span("step", 0, 2, score=0.25)]
