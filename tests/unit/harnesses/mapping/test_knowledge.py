"""Knowledge of an environment: what is distilled, joined, capped, and withheld from the task that taught it."""

from typing import Any

import pytest

from hone.environments.streams import draw
from hone.harnesses.mapping.knowledge import Knowledge, Known, distilled, knowledge
from hone.harnesses.offers import MOST_OF_CALL
from hone.harnesses.seat import Kept


def kept(*items: tuple[str, str, str]) -> list[Kept]:
    return [Kept(f"1.{place}", dict(zip(("kind", "text", "task"), item, strict=True)))
            for place, item in enumerate(items)]


ITEMS = kept(("rule", "Open a drawer first.", "a"), ("action", "go to PLACE", "a"),
             ("rule", "open the drawer first", "b"), ("error", "A full hand takes nothing.", "b"))


def test_equal_texts_of_several_tasks_are_one() -> None:
    found = knowledge(ITEMS, "c", 4096)
    assert found.text == ("Actions:\n- go to PLACE\nRules:\n- Open a drawer first.\nErrors:\n"
                          "- A full hand takes nothing.")
    assert ([one.tasks for one in found.known], found.version, found.withheld) == ([2, 1, 1], "1.3", 0)
    assert knowledge([], "c", 4096) == Knowledge()
    assert Knowledge().text == ""


@pytest.mark.parametrize(("task", "expected", "withheld"), [
    ("a", {"Open a drawer first.", "A full hand takes nothing."}, 1),
    ("b", {"Open a drawer first.", "go to PLACE"}, 1), ("", {one.body["text"] for one in ITEMS if one.id != "1.2"}, 0)])
def test_a_task_does_not_read_what_it_alone_taught(task: str, expected: set[str], withheld: int) -> None:
    found = knowledge(ITEMS, task, 4096)
    assert ({one.text for one in found.known}, found.withheld) == (expected, withheld)


def test_of_too_much_stays_what_most_tasks_taught() -> None:
    assert [one.text for one in knowledge(ITEMS, "c", 25).known] == ["Open a drawer first."]
    assert [one.text for one in knowledge(ITEMS, "c", 40).known] == ["Open a drawer first.", "go to PLACE"]
    assert knowledge(ITEMS, "c", 5).known == ()


def test_lines_of_a_distilled_text_become_items() -> None:
    known = Knowledge((Known("rule", "Open a drawer first.", 1, 0),))
    text = ("Here:\n- action: go to PLACE\nRule: open the drawer first\nerror:\nnote: no\naction: Go to place."
            f"\nrule: {'x' * 1000}")
    found: list[Any] = distilled(text, "t", known)
    assert found[:2] == [{"kind": "action", "text": "go to PLACE", "task": "t"},
                         {"kind": "rule", "text": "Open a drawer first.", "task": "t"}]
    assert (len(found), len(found[2]["text"])) == (3, 398)
    many = "\n".join(f"rule: number {place}" for place in range(40))
    assert len(distilled(many, "t", Knowledge())) == MOST_OF_CALL


def test_tasks_that_teach_and_tasks_that_are_held_out_have_no_content_in_common() -> None:
    """Items come from steps that train, whose tasks a split by content separates from evaluations."""
    for name in ("hidden_shelf", "text_craft"):
        sides = [{task.content_hash for task in draw(name, {}, split, 0, 0, 200)} for split in ("train", "held_out")]
        assert not sides[0] & sides[1]
