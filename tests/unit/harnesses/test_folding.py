"""Folding: the output's fields, what is shown of the past, and hipif.md (a) 2 and 6."""

from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from hone.harnesses.catalogue import HARNESSES
from hone.harnesses.contract import first_prompt
from hone.harnesses.folding import INSTRUCTIONS, Fields, Folding, FoldingParams, Story, parsed, render

GO = "reflect: not yet\ndone: 0\naction: open"
NEXT = "reflect: it is open\ndone: 1\nsubgoal: the red door\naction: take red"


@pytest.mark.parametrize(("text", "first", "expected"), [
    (GO, False, Fields("not yet", False, None, "open")),
    (NEXT, False, Fields("it is open", True, "the red door", "take red")),
    (NEXT, True, Fields("it is open", False, "the red door", "take red")),  # nothing can be finished yet
    (NEXT.replace("done: 1", "done: 0"), True, Fields("it is open", False, "the red door", "take red")),
    ("reflect: two\nlines\ndone:0\naction:  open \n", False, Fields("two\nlines", False, None, "open")),
    ("reflect:\ndone: 0\naction: open", False, Fields("", False, None, "open")),
    (GO, True, None),  # the first step names a subgoal
    (NEXT.replace("done: 1", "done: 0"), False, None),  # a subgoal that goes on is not named again
    (GO.replace("done: 0", "done: 1"), False, None),  # a finished one needs the next
    (NEXT.replace("the red door", " "), False, None),
    (GO.replace("open", ""), False, None),
    (GO.replace("done: 0", "done: 2"), False, None),
    (GO.replace("done: 0", "done: 01"), False, None),
    (GO.replace("reflect: ", ""), False, None),
    (f"Well.\n{GO}", False, None),
    (f"{GO}\nlook", False, None),  # one action
    (f"{GO}\n{GO}", False, None),  # one step
    ("done: 0\nreflect: not yet\naction: open", False, None),  # a fixed order
    ("reflect: done: 0 action: open", False, None),
    ("", True, None),
])
def test_an_output_has_its_fields_in_order_or_none(text: str, first: bool, expected: Fields | None) -> None:
    assert parsed(text, first) == expected


def story_of(subgoals: int, steps: int) -> Story:
    """A story in the last subgoal's last step but one; each text is one word of its own."""
    story = Story("task", "begin")
    for place in range(subgoals):
        story = story.begun(f"goal-{place}")
        for step in range(steps - (place == subgoals - 1)):
            story = story.went_on(f"do-{place}-{step}", f"see-{place}-{step}")
    return story


@pytest.mark.parametrize("subgoals", [1, 2, 4])
def test_of_a_finished_subgoal_one_record_is_shown_and_no_step(subgoals: int) -> None:
    story = story_of(subgoals, 3)
    shown = render(story)
    assert shown.count("Finished: ") == len(story.finished) == subgoals - 1
    for place in range(subgoals - 1):
        assert f"Finished: goal-{place}\nsee-{place}-2\n" in shown
        assert not any(f"do-{place}-{step}" in shown for step in range(3))
        assert f"see-{place}-1" not in shown
    assert shown.endswith(
        f"Subgoal: goal-{subgoals - 1}\n> do-{subgoals - 1}-0\nsee-{subgoals - 1}-0\n> do-{subgoals - 1}-1\n"
        f"see-{subgoals - 1}-1")


def test_the_whole_history_has_every_step_once() -> None:
    shown = render(story_of(3, 3), fold=False)
    assert [shown.count(f"> do-{place}-{step}\nsee-{place}-{step}") for place in range(3) for step in range(3)] == (
        [1] * 8 + [0])


def test_an_observation_that_no_step_holds_is_shown_last() -> None:
    story = Story("task", "begin").begun("goal").went_on("do", "see")
    assert render(replace(story, now="what?")).endswith("> do\nsee\nwhat?")
    assert render(Story("task", "begin")) == "task\nbegin"


def test_where_room_is_short_the_oldest_records_keep_their_names_alone() -> None:
    story = story_of(3, 3)
    assert render(story, bare=1).startswith("task\nFinished: goal-0\nFinished: goal-1\nsee-1-2\nSubgoal: goal-2")
    assert render(story, bare=2).startswith("task\nFinished: goal-0\nFinished: goal-1\nSubgoal: goal-2")


def size(story: Story, fold: bool) -> int:
    """The tokens of a context in hipif.md (a) 6: a task of 100, a subgoal of 20, records of 40, steps of 60."""
    lines = render(story, fold).split("\n")
    steps, records = sum(line.startswith("> ") for line in lines), sum(line.startswith("Finished") for line in lines)
    named = 20 * (fold and story.subgoal is not None)  # the sizes of the whole history count no subgoals
    return 100 + named + 60 * steps + 40 * records * fold


def test_the_worked_sizes_of_contexts() -> None:
    """Three subgoals of four steps: 5160 tokens against 3000 when acting, 3380 as rendered before the fold."""
    acting, rendered = list[Story](), list[Story]()
    story = Story("task", "begin")
    for place in range(3):
        for step in range(4):
            rendered.append(story)
            story = story if step else story.begun(f"goal-{place}")
            acting.append(story)
            story = story.went_on("do", f"see {place} {step}")
    assert (size(acting[-1], False), size(acting[-1], True)) == (760, 380)
    assert [sum(size(one, fold) for one in acting) for fold in (False, True)] == [5160, 3000]
    assert sum(size(one, True) for one in rendered) == 3380


OPENING: list[dict[str, Any]] = [
    {"role": "system", "content": "Open doors.\n"}, {"role": "user", "content": "It is red."}]


def test_the_first_prompt_describes_the_fields_unless_it_should_not() -> None:
    asked, tools = first_prompt(Folding(), FoldingParams(), OPENING, [])
    assert (asked, tools) == ([{"role": "system", "content": INSTRUCTIONS},
                               {"role": "user", "content": "Open doors.\nIt is red."}], [])
    assert first_prompt(Folding(), FoldingParams(describe=False), OPENING[1:], [])[0] == [OPENING[1]]


@pytest.mark.parametrize(("given", "message"), [
    ({"penalties": {"loop": 0.75}}, "penalties with a sum below success, 1"),
    ({"success": 0.4}, "penalties with a sum below success, 0.4"),
    ({"penalties": {"loop": -0.1}}, "greater than or equal to 0"),
    ({"penalties": {"looop": 0.1}}, "Extra inputs"),
])
def test_no_step_of_a_failure_can_outrank_one_of_a_success(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        HARNESSES["folding"].params.model_validate(given)
