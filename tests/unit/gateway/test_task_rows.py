"""The rows of datasets are read in pieces. A dataset without a task is a problem of the field that names it."""

import asyncio
import json
import threading

import pytest

from services.gateway.admission import task_rows
from tests.support.gateway.task_rows import Row, Shelf, checked

GOOD: Row = {"prompt": "how many?", "database": "CREATE TABLE t (a);", "answer": "0"}
BAD: Row = {**GOOD, "answer": 3}


def test_a_dataset_without_any_task_is_named_with_its_first_rows() -> None:
    [one] = checked(Shelf(rows=[BAD, {**GOOD, "database": ""}]))
    assert list(map(str, one.problems())) == [
        "task.dataset: found rows, with 2 rows and no task of sqlite, expected a dataset with at least one "
        "such row",
        "task.dataset: found row 1, where answer is 3, expected a text that is not empty",
        'task.dataset: found row 2, where database is "", expected a text that is not empty']


def test_one_task_is_enough_and_a_message_names_the_other_rows() -> None:
    [one] = checked(Shelf(rows=[BAD, GOOD]))
    assert one.problems() == []
    assert one.message == ("dataset 'rows': 1 of 2 rows are left out: row 1: item.answer: found 3, expected a text "
                           "that is not empty")
    assert checked(Shelf(rows=[GOOD]))[0].message == ""


def test_every_place_is_looked_at_and_every_dataset_read_once() -> None:
    shelf = Shelf(rows=[GOOD], held=[BAD], staged=[BAD])
    found = checked(
        shelf, eval={"source": {"environment": "sqlite", "dataset": "held"}},
        stages=[{"until": 1, "task": {"environment": "sqlite", "dataset": "staged"}},
                {"until": 2, "sampling": {"max_tokens": 9}}])
    assert {one.at: bool(one.problems()) for one in found} == {
        "task": False, "stages[0].task": True, "stages[1].task": False, "eval.source": True}
    assert sorted(shelf.reads) == ["held", "rows", "staged"]


def test_rows_are_read_once_for_all_runs_that_take_tasks_from_them_alike() -> None:
    shelf = Shelf(rows=[BAD, GOOD])
    first, again = checked(shelf), checked(shelf, steps=9)
    assert (again, shelf.reads) == (first, ["rows"])
    elsewhere = Shelf(rows=[GOOD])
    assert (checked(elsewhere)[0].message, elsewhere.reads) == ("", ["rows"])
    assert checked(shelf, task={"environment": "sqlite", "dataset": "rows", "params": {"turns": 2}})
    assert shelf.reads == ["rows"] * 2


def test_rows_that_are_stored_no_more_are_a_problem_of_every_place() -> None:
    shelf = Shelf(rows=[GOOD], held=[GOOD])
    shelf.lost = {"rows"}
    found = checked(shelf, eval={"source": {"environment": "sqlite", "dataset": "held"}},
                   stages=[{"until": 1, "sampling": {"max_tokens": 9}}])
    assert [str(problem) for one in found for problem in one.problems()] == [
        f"{at}.dataset: found rows, without stored rows, expected a dataset that is uploaded again, "
        "under another name" for at in ("task", "stages[0].task")]
    shelf.lost = set()
    assert checked(shelf)[0].problems() == [], "they are looked for again"


@pytest.mark.parametrize("changed", [b'{"prompt', b"\xff\n", json.dumps(GOOD).encode()])
def test_rows_that_were_changed_are_a_problem(changed: bytes) -> None:
    shelf = Shelf(rows=[GOOD])
    shelf.changed = changed
    [one] = checked(shelf)
    assert list(map(str, one.problems())) == [
        "task.dataset: found rows, with stored rows that differ from the uploaded rows, expected a dataset that is "
        "uploaded again, under another name"]


@pytest.mark.parametrize("task", [{"environment": "sort_digits"}, {"environment": "sqlite", "dataset": "absent"}])
def test_nothing_is_read_where_there_are_no_rows(task: Row) -> None:
    assert checked(Shelf(), task=task) == []


async def test_a_tenant_that_reads_many_datasets_leaves_threads_to_others() -> None:
    go_on, running = threading.Event(), list[str]()

    def read(name: str) -> None:
        running.append(name)
        assert go_on.wait(60)

    many = [asyncio.create_task(task_rows.read_apart("many", read, f"many {number}")) for number in range(9)]
    await asyncio.sleep(0.1)
    few = asyncio.create_task(task_rows.read_apart("few", read, "few"))
    try:
        async with asyncio.timeout(30):
            while "few" not in running:
                await asyncio.sleep(0.02)
        assert sorted(running) == ["few", "many 0", "many 1"]
    finally:
        go_on.set()
    await asyncio.gather(*many, few)
    assert len(running) == 10
