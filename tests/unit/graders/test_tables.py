"""End states by tables: scaleenv.md, how to verify (a)(1); stage-claw.md, example 1."""

import json
from typing import Any

import pytest

from hone.environments.sqlite import Sqlite, SqliteParams
from hone.graders.contract import Result, Status
from hone.graders.judgement import judged_together
from hone.graders.sample import Sample, World
from hone.graders.specs import checked
from hone.spec.problems import Invalid

SCRIPT = """CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT, total REAL, note TEXT);
CREATE TABLE log (id INTEGER PRIMARY KEY, order_id INTEGER, what TEXT); CREATE TABLE users (name TEXT);
INSERT INTO orders VALUES (1, 'open', 9.5, 'leave at the door'), (2, 'open', 3, NULL);
INSERT INTO users VALUES ('a');"""
PAY, LOG = "UPDATE orders SET status = 'paid' WHERE id = 1", "INSERT INTO log (order_id, what) VALUES (1, 'paid')"
CHANGES = {"orders": {"changed": [{"where": {"id": 1}, "set": {"status": "paid"}}]},
           "log": {"added": [{"order_id": 1, "what": "paid"}]}}
GRADER = {"type": "tables", "at": "database", "format": "sqlite", "changes": "{{ item.changes }}",
          "columns": {"orders": {"note": "semantic"}, "log": {"id": "exempt"}}}


def after(*statements: str, item: dict[str, Any] | None = None) -> Sample:
    """Return the sample of an episode with these statements."""
    row = {"prompt": "pay", "database": SCRIPT, "answer": "done", "changes": CHANGES, **(item or {})}
    episode = Sqlite().episode(SqliteParams(turns=20), 0, row)
    seen = episode.reset()
    before = episode.snapshot()
    for one in statements:
        seen = episode.step(json.dumps({"tool": "query", "arguments": {"sql": one}})).observation
    return Sample(seen.item, "", world=World(before=before, after=episode.snapshot()))


def graded(sample: Sample, **grader: Any) -> Result:
    return judged_together(checked({**GRADER, **grader}), [sample])[0]


def of_json(before: Any, last: Any, **grader: Any) -> Result:
    given = {"type": "tables", "expected": "{{ item.right }}", **grader}
    right = given.pop("right")
    return judged_together(checked(given), [Sample({"right": right}, "", world=World(before=before, after=last))])[0]


@pytest.mark.parametrize(("statements", "score"), [
    ((PAY, LOG), 1.0), ((), 0.0), ((PAY,), 0.0), ((LOG,), 0.0),
    ((PAY, LOG, "UPDATE orders SET total = 4 WHERE id = 2"), 0.0),
    ((PAY, "INSERT INTO log VALUES (77, 1, 'paid')"), 1.0), ((PAY, LOG, LOG), 0.0),
    ((PAY, LOG, "INSERT INTO users VALUES ('b')"), 0.0), ((PAY, LOG, "CREATE TABLE more (x)"), 0.0),
    ((PAY, LOG, "DROP TABLE users"), 0.0),
    ((PAY, LOG, "UPDATE orders SET note = 'at the door leave' WHERE id = 1"), 1.0),
])
def test_the_reference_scores_1_and_what_is_dropped_or_written_beside_it_0(
    statements: tuple[str, ...], score: float
) -> None:
    result = graded(after(*statements))
    assert (result.status, result.score) == (Status.OK, score)
    assert bool(result.reasons) is (not score)


def test_mismatches_are_the_evidence() -> None:
    result = graded(after(LOG, "UPDATE orders SET total = 4 WHERE id = 2"))
    assert result.components == {"orders": 0.0, "log": 1.0, "others": 1.0}
    assert result.evidence[0]["mismatches"] == [
        {"table": "orders", "key": {"id": 1}, "column": "status", "class": "hard", "expected": "paid", "got": "open"},
        {"table": "orders", "key": {"id": 2}, "column": "total", "class": "hard", "expected": 3.0, "got": 4.0}]
    assert "orders: 1 other objects were changed" in result.reasons
    assert "orders[id=1].status: found 'open', expected 'paid'" in result.reasons


def test_the_best_of_several_right_states_counts() -> None:
    other = {"orders": {"removed": [{"id": 1}]}}
    sample = after("DELETE FROM orders WHERE id = 1", item={"changes": [CHANGES, other]})
    assert graded(sample).score == 1
    assert graded(after(PAY, LOG, item={"changes": [CHANGES, other]})).score == 1
    assert graded(after(PAY, item={"changes": [CHANGES, other]})).score == 0


WEIGHTS = {"mail": 30.0, "events": 20.0, "notes": 20.0, "files": 20.0, "contacts": 10.0}


@pytest.mark.parametrize(("beside", "score"), [(0, 0.7), (2, 0.5), (9, 0.0)])
def test_weights_and_forbidden_changes_give_the_score_of_the_paper(beside: int, score: float) -> None:
    objects = {str(place): {"text": "as it was"} for place in range(10)}
    before = {tool: {"task": {"text": "to do"}, **objects} for tool in WEIGHTS}
    right = {tool: {"task": {"text": "done"}, **objects} for tool in WEIGHTS}
    last = {tool: {**before[tool], "task": {"text": "done" if passed else "to do"}}
            for tool, passed in zip(WEIGHTS, (1, 1, 0, 1, 0), strict=True)}
    last["notes"] = {**last["notes"], **{str(place): {"text": "written over"} for place in range(beside)}}
    found = of_json(before, last, right=right, score="share", weights=WEIGHTS, forbidden_penalty=0.1)
    assert found.score == pytest.approx(score)
    assert of_json(before, right, right=right, score="share", weights=WEIGHTS).score == 1
    assert of_json(before, before, right=right, score="share", weights=WEIGHTS).score == 0
    assert of_json(before, last, right=right, score="share", weights=WEIGHTS, allowed=["notes"]).score == (
        pytest.approx(0.7))


def test_rows_without_a_key_that_become_others_are_one_change() -> None:
    before, right = ({"t": [{"a": 1}, {"a": first}, {"a": 5}]} for first in (2, 3))
    grades = [of_json(before, {"t": [{"a": value} for value in last]}, right=right, score="share")
              for last in ((1, 3, 5), (1, 2, 5), (1, 9, 5), (8, 3, 5))]
    assert [grade.score for grade in grades] == [1.0, 0.0, 0.5, 0.9]


def test_a_row_that_has_to_go_and_is_changed_is_not_gone() -> None:
    before = {"t": {"a": {"x": 1}, "b": {"x": 2}}}
    for last, score in (({"b": {"x": 2}}, 1.0), ({"a": {"x": 7}, "b": {"x": 2}}, 0.0)):
        assert of_json(before, {"t": last}, right={"t": {"b": {"x": 2}}}, score="share").score == score


def test_tables_that_are_exempt_are_not_looked_at() -> None:
    result = of_json({"t": [{"x": 1}], "log": []}, {"t": [{"x": 2}], "log": [{"any": 1}]},
                     right={"t": [{"x": 2}]}, columns={"log": "exempt"})
    assert result.score == 1


def test_a_last_state_without_tables_or_with_too_many_rows_is_wrong() -> None:
    assert of_json({"in": {"t": [{"x": 1}]}}, {}, right={"t": [{"x": 2}]}, at="in").score == 0
    assert of_json({"t": []}, {"t": [{"x": 1}] * 20_001}, right={"t": [{"x": 2}]}).score == 0


@pytest.mark.parametrize(("grader", "item", "message"), [
    ({"columns": {"order": "hard"}}, {}, "found table 'order', expected one of log, orders, users"),
    ({"columns": {"orders": {"state": "hard"}}}, {}, "orders: found column 'state', expected one of id, note,"),
    ({"keys": {"orders": ["number"]}}, {}, "orders: found column 'number'"),
    ({"at": "data"}, {}, "at: found 'data', expected a path of the first state: "),
    ({"format": "json"}, {}, "at: in the first state, found 'U1FMaXRl"),
    ({}, {"changes": {"orders": {"changed": [{"where": {"id": 9}, "set": {"status": "x"}}]}}},
     'changes.orders.changed: found {"id": 9}, expected values of a row of the first state'),
    ({}, {"changes": {"order": {}}}, "changes: found table 'order'"),
    ({}, {"changes": {"orders": {"added": [{"state": 1}]}}}, "changes.orders: found column 'state'"),
    ({}, {"changes": {"orders": {"more": []}}}, "changes.orders.more: found"),
    ({}, {"changes": []}, "changes: found no state"), ({}, {"changes": "{"}, "changes: found '{', expected JSON"),
    ({"changes": None, "expected": "[3]"}, {}, "expected[0]: found 3, expected an object of tables"),
])
def test_what_does_not_fit_is_named(grader: dict[str, Any], item: dict[str, Any], message: str) -> None:
    result = graded(after(item=item), **grader)
    assert (result.status, result.score) == (Status.INVALID_SPEC, None)
    assert result.reasons[0].startswith(message)


@pytest.mark.parametrize("params", [
    {"type": "tables"}, {**GRADER, "expected": "{}"}, {**GRADER, "keys": {"orders": ["note"]}},
    {**GRADER, "columns": {"orders": {"id": "soft"}}}, {**GRADER, "weights": {"orders": 0}}])
def test_params_that_say_nothing_or_too_much_are_refused(params: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        checked(params)
