"""Groups that cannot be sampled: others are requested in their place. If all are refused, the run fails.
"""

from pathlib import Path
from typing import Any

import pytest

from hone.store.database import Database
from tests.integration.learner.loop import Loop, Row

PROMPTS = 4
WHY = "inference refuses: INVALID_ARGUMENT: requests.prompt_ids: found 600 ids, expected less than 512"


@pytest.fixture
def loop(postgres_url: str, postgres_owner_url: str, tmp_path: Path) -> Any:
    def made(refuses: Any, steps: int = 3, **spec: Any) -> Loop:
        return Loop(postgres_url, postgres_owner_url, tmp_path, lambda _, index: ("1", float(index % 2), "ok"),
                    refuses=refuses, steps=steps, seed=5, batch={"prompts": PROMPTS, "samples": 2}, **spec)
    return made


def events(loop: Loop, kind: str) -> list[str]:
    rows = loop.all("SELECT message FROM events WHERE run_id = %s AND kind = %s ORDER BY id", loop.rows.run_id, kind)
    return [row["message"] for row in rows]


def odd(group: Row) -> str:
    return WHY if group["request_no"] in (1, 4, 9) else ""


@pytest.mark.parametrize(("max_staleness", "steps"), [(0, 3), (1, 2)])
def test_a_group_that_is_refused_is_left_out_and_another_asked_for(loop: Any, max_staleness: int, steps: int) -> None:
    one = loop(odd, steps, max_staleness=max_staleness)
    assert one.go() == "succeeded"
    groups = one.all("SELECT request_no, state, reason, refused FROM groups WHERE run_id = %s ORDER BY request_no",
                     one.rows.run_id)
    left_out = [group["request_no"] for group in groups if group["refused"]]
    assert left_out == [1, 4, 9]
    assert {(group["state"], group["reason"]) for group in groups if group["refused"]} == {("dropped", "failed")}
    trained = [group["group_id"] for plan in one.steps() for group in plan["groups"]]
    assert len(set(trained)) == len(trained) == PROMPTS * steps
    assert events(one, "refused") == [f"train group {number} is left out: {WHY}" for number in left_out]


def test_a_run_of_which_every_first_group_is_refused_fails_with_the_reason(loop: Any) -> None:
    one = loop(lambda _: WHY)
    assert one.go() == "failed"
    assert one.one("SELECT reason FROM runs WHERE id = %s", one.rows.run_id) == f"train group 0: {WHY}"
    assert events(one, "refused") == []


def test_a_step_does_not_ask_for_other_groups_without_end(loop: Any) -> None:
    one = loop(lambda group: WHY if group["request_no"] >= PROMPTS else "")
    with pytest.raises(ValueError, match=f"more than 40 groups were refused for step 2; train group .*{WHY[:30]}"):
        one.go()


def test_bad_rows_of_a_dataset_are_reported_once_whichever_driver_reads_them(loop: Any, postgres_url: str) -> None:
    one, database = loop(odd), Database(postgres_url)
    for message in ("row 2", "row 2", "row 3"):
        database.run("events.add_bad_rows", tenant_id=one.rows.tenant_id, run_id=one.rows.run_id, message=message)
    database.close()
    assert events(one, "bad_rows") == ["row 2", "row 3"]
