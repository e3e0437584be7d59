"""Tool calls beside the reference's: each kind of fault by its name, and how much of the rest is right."""

import json
from typing import Any

import pytest

from hone.graders.contract import Result, Status
from hone.graders.judgement import judged
from hone.graders.right_answers import Ending, Standing
from hone.graders.right_answers import checked as reference
from hone.graders.specs import checked
from hone.spec.problems import Invalid

TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {
    "type": "object", "required": ["place"],
    "properties": {"place": {"type": "string"}, "days": {"type": "integer"}}}}},
    {"type": "function", "function": {"name": "end"}}]
LOOK, ADD = {"name": "look", "arguments": {"place": "Rome", "days": 2}}, {"name": "add", "arguments": {"x": 1.0}}


def tagged(*calls: Any) -> str:
    return "".join(f"<tool_call>{call if isinstance(call, str) else json.dumps(call)}</tool_call>" for call in calls)


def look(**arguments: Any) -> dict[str, Any]:
    return {"name": "look", "arguments": arguments}


def graded(output: str, answer: Any = LOOK, row: Any = None, **params: Any) -> Result:
    return judged(checked({"type": "tool_call", **params}), {"answer": answer, **(row or {})}, output)


@pytest.mark.parametrize("output", [
    tagged(LOOK), f"I look. {tagged(LOOK)}", f"<think>{tagged(ADD)}</think>{tagged(LOOK)}", json.dumps(LOOK),
    f"<|python_tag|>{json.dumps({'name': 'look', 'parameters': LOOK['arguments']})}",
    f"[TOOL_CALLS]look[ARGS]{json.dumps(LOOK['arguments'])}",
])
def test_a_right_call_in_each_form(output: str) -> None:
    openai = {"id": "1", "type": "function", "function": {"name": "look", "arguments": json.dumps(LOOK["arguments"])}}
    for answer, row in ((LOOK, {}), ([openai], {"tools": TOOLS})):
        result = graded(output, answer, row)
        assert (result.score, set(result.components.values()), result.reasons) == (1.0, {1.0}, ())


@pytest.mark.parametrize(("output", "reasons", "wrong"), [
    ("It is sunny.", ["missing_tool_call: found 0 calls, expected 1"],
     {"called", "parse", "name", "schema", "arguments"}),
    (tagged(LOOK, LOOK), ["multiple_tool_calls: found 2 calls, expected 1"],
     {"called", "name", "schema", "arguments"}),
    (tagged({"name": "end", "arguments": {}}), ["wrong_tool_name: found end, expected look"], {"name", "arguments"}),
    (tagged('{"name": "look", "arguments": {"place": }}'), ["parse: "], {"parse", "name", "schema", "arguments"}),
    (tagged(look(place="Rome", days="2")), ["schema: $.days: '2' is not", "arguments: days: found \"2\", expected 2"],
     {"schema", "arguments"}),
    (tagged(look(place="Rome", days=2, near=True)), ["schema: $: ", "arguments: near: found a field"],
     {"schema", "arguments"}),
    (tagged(look(place="Oslo", days=2)), ['arguments: place: found "Oslo", expected "Rome"'], {"arguments"}),
])
def test_each_fault_has_its_name(output: str, reasons: list[str], wrong: set[str]) -> None:
    result = graded(output, LOOK, {"tools": TOOLS})
    assert (result.status, result.score) == (Status.OK, 0.0)
    assert {name for name, value in result.components.items() if value < 1} == wrong
    assert all(reason.startswith(part) for reason, part in zip(result.reasons, reasons, strict=True))


@pytest.mark.parametrize(("output", "params", "score"), [
    (tagged(LOOK, ADD), {}, 1), (tagged(ADD, LOOK), {}, 0), (tagged(ADD, LOOK), {"ordered": False}, 1),
    (tagged(ADD, look(place="Rome", days=3)), {"ordered": False, "score": "fraction"}, 0.75),
    (tagged(LOOK), {"score": "fraction"}, 0.5), (tagged(LOOK, ADD, ADD), {"score": "fraction"}, 2 / 3),
    (tagged(ADD, LOOK), {"score": "fraction"}, 0),
    (tagged(look(place="ROME", days=2), {"name": "add", "arguments": {"x": 1.04}}),
     {"compare": {"ignore_case": True, "abs_tolerance": 0.05}}, 1),
    (tagged(look(place="Rome"), ADD), {"compare": {"optional": ["days"]}}, 1),
    (tagged(look(place="Rome", days=4), ADD), {"compare": {"optional": ["days"]}}, 0),
])
def test_several_calls(output: str, params: dict[str, Any], score: float) -> None:
    assert graded(output, [LOOK, ADD], **params).score == pytest.approx(score)


def test_calls_in_any_order_find_their_own_match() -> None:
    wanted = [look(place="a", days=1), look(place="b", days=1)]
    assert graded(tagged(*reversed(wanted)), wanted, ordered=False).score == 1.0


def test_no_call_may_be_the_right_answer() -> None:
    assert graded("Nothing to do.", []).score == 1.0
    assert graded(tagged(LOOK), []).reasons == ("multiple_tool_calls: found 1 calls, expected 0",)
    assert graded(tagged(LOOK), []).score == 0.0
    broken = [{"type": "function", "function": {"name": "look", "parameters": {"type": "objekt"}}}]
    assert graded(tagged(LOOK), row={"tools": broken}).status is Status.INVALID_SPEC


@pytest.mark.parametrize("answer", ["no", {"name": "look"}, [5], {"name": 5, "arguments": {}}])
def test_a_reference_that_is_no_call_masks_the_sample(answer: Any) -> None:
    assert graded(tagged(LOOK), answer).status is Status.INVALID_SPEC
    assert reference(checked({"type": "tool_call"}), {"answer": answer}, Ending()).standing is Standing.WRONG


@pytest.mark.parametrize(("row", "standing"), [
    ({"answer": [LOOK, ADD]}, Standing.RIGHT), ({"answer": LOOK, "tools": TOOLS}, Standing.RIGHT),
    ({"answer": look(place=1), "tools": TOOLS}, Standing.WRONG), ({"answer": []}, Standing.UNKNOWN),
])
def test_a_rows_reference_is_graded(row: dict[str, Any], standing: Standing) -> None:
    assert reference(checked({"type": "tool_call"}), row, Ending()).standing is standing


@pytest.mark.parametrize("tools", [[{"name": "look"}], [], [{"type": "function", "function": {
    "name": "look", "parameters": {"type": "objekt"}}}]])
def test_what_are_no_tools_is_refused(tools: Any) -> None:
    with pytest.raises(Invalid) as refused:
        checked({"type": "tool_call", "tools": tools})
    assert [problem.field for problem in refused.value.problems] == ["tools"]
