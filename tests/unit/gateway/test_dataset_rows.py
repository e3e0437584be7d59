"""Rows are checked one by one."""

import json
from collections.abc import Iterable
from io import BytesIO
from typing import Any

import pytest

from hone.environments.hashing import canonical
from hone.graders.templates import rendered
from hone.spec.problems import Invalid
from services.gateway.admission import dataset_rows
from services.gateway.admission.dataset_rows import RowBounds, RowChecks

GOOD: list[Any] = [
    {"prompt": "a", "answer": "b"}, {"prompt": "a", "answer": 2}, {"prompt": "a", "completion": "b", "more": [1]},
    {"messages": [{"role": "user", "content": "a"}], "answer": "b"},
    {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": None, "tool_calls": [
        {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "1", "content": ""},
        {"role": "assistant", "content": [{"type": "text", "text": "b"}], "weight": 1}],
     "tools": [{"type": "function", "function": {"name": "f"}}]}, {"prompt": "a", "reference": "for a grader"},
    {"merchant_id": "m", "user": {"a": 1}, "merchant": {}, "strategy": {}, "outcome": {"order": 1}}]

BAD: list[tuple[bytes, str, str]] = [
    (b"{", "row", "one JSON object per line"), (b"[1]", "row", "a JSON object"),
    (b"\xff", "row", "one JSON object per line"),
    (b'{"prompt": "a", "answer": NaN}', "answer", "a finite number"),
    (b'{"prompt": "a", "answer": "b", "deep": [-Infinity]}', "deep[0]", "a finite number"),
    (b'{"prompt": "a", "answer": "b", "answer": "c"}', "answer", "each key of an object once"),
    (b'{"messages": [{"role": "user", "role": "user", "content": "a"}], "answer": "b"}', "role",
     "each key of an object once"),
    (b'{"answer": "b"}', "prompt", "either prompt or messages"),
    (b'{"merchant_id": "m", "user": {}, "merchant": {}, "outcome": {}}', "strategy",
     "a key of a row of behaviour: merchant_id, user, merchant, strategy, outcome"),
    (b'{"user": {}, "merchant": {}, "strategy": {}, "outcome": {}}', "merchant_id",
     "a key of a row of behaviour: merchant_id, user, merchant, strategy, outcome"),
    (b'{"prompt": "a", "messages": [], "answer": "b"}', "prompt", "either prompt or messages"),
    (b'{"prompt": "", "answer": "b"}', "prompt", "a text that is not empty"),
    (b'{"prompt": 1, "answer": "b"}', "prompt", "a text that is not empty"),
    (b'{"messages": [], "answer": "b"}', "messages", "a list of at least one message"),
    (b'{"messages": ["a"], "answer": "b"}', "messages[0]", "an object with role and content"),
    (b'{"messages": [{"role": "me", "content": "a"}], "answer": "b"}', "messages[0].role",
     "one of system, user, assistant, tool"),
    (b'{"messages": [{"role": [], "content": "a"}], "answer": "b"}', "messages[0].role",
     "one of system, user, assistant, tool"),
    (b'{"messages": [{"role": "user", "content": ""}], "answer": "b"}', "messages[0].content",
     "a text that is not empty"),
    (b'{"messages": [{"role": "user", "content": "a", "function_call": {}}], "answer": "b"}',
     "messages[0].function_call", "one of the keys role, content, tool_calls, tool_call_id, name, reasoning_content, "
     "weight: another would reach no model"),
    (b'{"messages": [{"role": "user", "content": [{"type": "image_url"}]}], "answer": "b"}', "messages[0].content[0]",
     'a part of text, {"type": "text", "text": \u2026}: models here read nothing else'),
    (b'{"messages": [{"role": "user", "content": "a", "weight": 0}], "answer": "b"}', "messages[0].weight",
     "nothing: only messages of the assistant have it"),
    (b'{"messages": [{"role": "assistant", "content": null}], "answer": "b"}', "messages[0].content",
     "a text that is not empty"),
    (b'{"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "x"}}]}], "a": 1}',
     "messages[0].tool_calls[0].function.arguments", "a JSON object, or its text"),
    (b'{"messages": [{"role": "user", "content": "a"}], "tools": "[]", "answer": "b"}', "tools",
     "a list of at least one tool"),
    (b'{"prompt": "a"}', "answer", "an answer, a completion, or another key that a grader reads"),
    (b'{"prompt": "a", "completion": ""}', "completion", "a text that is not empty"),
    (b'{"prompt": "a", "chosen": "b", "rejected": 1}', "rejected", "a text that is not empty"),
    (b'{"prompt": "a", "chosen": "b", "rejected": "b"}', "rejected", "another text than chosen"),
    (b'{"prompt": "a", "answer": ["b"]}', "answer", "a text or a number"),
    (b'{"prompt": "a", "answer": true}', "answer", "a text or a number"),
    (b'{"prompt": "a\\u0000", "answer": "b"}', "prompt", "text without NUL characters and lone surrogates"),
    (b'{"prompt": "a", "answer": "\\udc00"}', "answer", "text without NUL characters and lone surrogates"),
]


def check(lines: Iterable[bytes]) -> tuple[list[bytes], RowChecks]:
    """Return the rows that are kept, and the report."""
    good: list[bytes] = []
    return good, dataset_rows.check(lines, good.append)


def test_good_rows_are_kept_whole_and_counted() -> None:
    good, report = check(json.dumps(row).encode() for row in GOOD)
    assert [json.loads(line) for line in good] == GOOD
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in good)
    assert report.columns == {
        "prompt": 4, "messages": 2, "tools": 1, "answer": 3, "completion": 1, "more": 1, "reference": 1,
        **dict.fromkeys(("merchant_id", "user", "merchant", "strategy", "outcome"), 1)}
    assert (report.rows, report.good, report.bad) == (7, 7, 0)


@pytest.mark.parametrize(("line", "field", "expected"), BAD, ids=range(len(BAD)))
def test_bad_rows_name_field_and_expectation(line: bytes, field: str, expected: str) -> None:
    good, report = check([json.dumps(GOOD[0]).encode(), b"  \n", line])
    assert len(good) == 1
    ((row, problem),) = report.problems
    assert (row, problem.field, problem.expected) == (2, field, expected)


NUMBERS = ["1", "1.0", "-0", "-0.0", "0.10", "1.50", "1e5", "1E5", "1e+16", "1e-7", "0.00001", "1e400", "-1e400",
           "0.1234567890123456789", "12345678901234567890123", "9007199254740993", "123456789012345680.0", "9" * 5000]


@pytest.mark.parametrize("number", NUMBERS, ids=range(len(NUMBERS)))
def test_a_number_reaches_a_grader_with_the_characters_of_its_writer(number: str) -> None:
    given = f'{{"prompt": "a", "answer": {number}, "deep": [{{"x": {number}}}]}}'.encode()
    [line], report = check([given])
    item = json.loads(canonical(json.loads(line)))
    assert (report.bad, rendered("{{ item.answer }} {{ item.deep.0.x }}", item, "")) == (0, f"{number} {number}")
    assert rendered("{{ sample.output_json.answer }}", {}, given.decode()) == number


def test_the_report_names_rows_whose_numbers_are_kept_as_texts() -> None:
    rows = [f'{{"prompt": "a", "answer": {number}}}'.encode() for number in ["1.5", *["1.50"] * 7, "2"]]
    report = check(rows)[1].as_json()
    assert (report["bad"], report["numbers_as_text"]) == (0, 7)
    assert report["first_as_text"] == [{"row": row, "number": "1.50"} for row in range(2, 7)]


def test_numbers_that_a_chat_template_renders_stay_numbers() -> None:
    row = (b'{"messages": [{"role": "user", "content": "a"}], "tools": [{"function": {"name": "f", "a": 0.10}}], '
           b'"answer": 0.10}')
    [line], report = check([row])
    assert json.loads(line) == {**json.loads(row), "answer": "0.10"}
    assert report.as_text == 1


def test_a_byte_order_mark_is_no_mistake() -> None:
    assert check([b"\xef\xbb\xbf" + json.dumps(GOOD[0]).encode()])[1].bad == 0


def test_a_report_shows_a_hundred_problems_at_most() -> None:
    report = check([b"{"] * 150)[1].as_json()
    assert (report["bad"], len(report["problems"])) == (150, 100)


def test_no_more_problems_are_kept_than_are_shown() -> None:
    _, report = check([b"x", b'{"messages": [' + b", ".join([b"0"] * 5000) + b'], "answer": "b"}', b"x"])
    assert (report.bad, len(report.problems)) == (3, 100)


BOUNDS = RowBounds(rows=3, row_bytes=200, depth=3)


def bounded(text: bytes) -> RowChecks:
    return dataset_rows.check(BOUNDS.lines(BytesIO(text)), lambda _: None, BOUNDS)


def test_a_row_that_is_too_long_is_a_bad_row_and_the_next_one_is_read() -> None:
    fits = b'{"prompt": "a", "answer": "%s"}' % (b"x" * (200 - 29))
    assert len(fits) == 200
    report = bounded(b"\n".join([fits, b'{"prompt": "' + b"y" * 10_000 + b'"}', fits + b"\r"]) + b"\n")
    assert (report.rows, report.good) == (3, 2)
    [(number, problem)] = report.problems
    assert (number, problem.field, problem.found) == (2, "row", "more than 200 bytes")
    assert problem.expected == "at most 200 bytes (HONE_MAX_ROW_KB)"


def test_a_row_that_is_nested_too_deep_is_a_bad_row() -> None:
    report = bounded(b'{"prompt": "a", "answer": "b", "c": [[1]]}\n{"prompt": "a", "answer": "b", "c": [[[1]]]}')
    [(number, problem)] = report.problems
    assert (number, problem.field, problem.found) == (2, "c[0][0][0]", "values nested more than 3 deep")


def test_more_rows_than_a_dataset_may_have_are_refused() -> None:
    with pytest.raises(Invalid, match=r"more than 3 rows, expected at most 3 \(HONE_MAX_ROWS\)"):
        bounded(b'{"prompt": "a", "answer": "b"}\n' * 4)


def keyed(*keys: str) -> bytes:
    return json.dumps({"prompt": "a", "answer": "b", **dict.fromkeys(keys, 1)}).encode()


def test_a_dataset_has_a_thousand_different_keys_at_most() -> None:
    rows = [keyed(f"key{number}") for number in range(998)]
    _, report = check([*rows, keyed("one more"), keyed("key7"), keyed("x" * 201)])
    assert (report.bad, len(report.columns)) == (2, 1000)
    assert [(row, problem.field, problem.found, problem.expected) for row, problem in report.problems] == [
        (999, "row", 'the key "one more", after 1000 other keys in the rows before',
         "at most 1000 different keys in a dataset"), (1001, "row", "a key of 201 characters", "at most 200")]
    assert check([keyed(*map(str, range(2000)))])[1].bad == 1


def test_rows_that_lack_a_key_of_others_are_named() -> None:
    rows = [{"prompt": "p", **({"answer": "a"} if place in (2, 4) else {"note": "n"})} for place in range(7)]
    lines = [json.dumps(row).encode() for row in rows]
    manifest = dataset_rows.check([b"{", *lines], lambda _: None).facts()
    assert dataset_rows.rows_without(manifest, "prompt") is None
    assert dataset_rows.rows_without(manifest, "answer") == (
        "2 of 7 rows have answer; without it: row 2, 3, 5 and 2 more"), "as the file numbers them"
    assert dataset_rows.rows_without(manifest, "note") == "5 of 7 rows have note; without it: row 4, 6"
    assert dataset_rows.rows_without(manifest, "other") == "0 of 7 rows have other"
    earlier = {"rows": 7, "columns": {"answer": 2}}
    assert dataset_rows.rows_without(earlier, "answer") == "2 of 7 rows have answer", "stored before rows were named"


def test_a_problem_of_many_rows_is_reported_once() -> None:
    lines = [b'{"answer": "b"}'] * 5 + [b'{"prompt": 1, "answer": "b"}']
    with pytest.raises(Invalid) as refused:
        dataset_rows.refuse(dataset_rows.check(lines, len), allow_bad_rows=False)
    assert [one.field for one in refused.value.problems] == ["rows 1, 2, 3 and 2 more: prompt", "row 6: prompt"]
