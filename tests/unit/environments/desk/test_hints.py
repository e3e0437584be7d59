"""Tasks from hints: words choose families, drafts have to be accepted, and a hint without a task says why."""

import json

import pytest

from hone.environments.desk import __main__ as command
from hone.environments.desk.hints import ROUNDS, created, families
from hone.environments.desk.task import DeskTask
from hone.environments.desk.validation import ASPECTS, Opinion
from hone.environments.tasks import make


class Strict:
    """Accepts nothing."""

    def opinion(self, task: DeskTask) -> Opinion:
        return Opinion(dict.fromkeys(ASPECTS, 40.0), (f"{task.family} is too easy",))


def test_words_choose_families() -> None:
    assert families("Postpone the meeting, in another time zone") == ["reschedule", "book"]
    assert families("add up RECEIPTS for the accountant")[0] == "expenses"
    assert families("guests in other time-zones") == families("a time\n  zone") == ["reschedule"]
    assert families("bee keeping") == []


def test_equal_hints_and_seeds_give_equal_tasks_of_the_environment() -> None:
    found = created("tidy up, and answer a customer", 3, 3)
    assert (found, found.reason) == (created("tidy up, and answer a customer", 3, 3), None)
    assert [row["family"] for row in found.rows] == ["answer", "clean", "answer"]
    assert len({make("desk", {}, 0, row).content_hash for row in found.rows}) == 3
    assert found.rows != created("tidy up, and answer a customer", 4, 3).rows


def test_what_is_never_accepted_ends_with_what_was_tried() -> None:
    found = created("tidy up", 0, 2, Strict())
    assert (found.rows, len(found.tried), found.reason) == ((), 2 * ROUNDS, "none of 6 drafts was accepted")
    assert {one.repair for one in found.tried} == {"clean is too easy"}


def test_the_command_writes_rows_or_says_why_there_are_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["make", "merge contacts", "--tasks", "1"]) == 0
    written = capsys.readouterr()
    assert json.loads(written.out)["family"] == "merge"
    assert "1 of 1 tasks after 1 drafts" in written.err
    assert command.main(["make", "bee keeping"]) == 1
    assert "names a family; there are reschedule" in capsys.readouterr().err
