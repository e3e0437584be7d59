"""An environment takes any text of a policy as a step, and the result can be sent as a protocol message."""

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hone.environments.tasks import episode, make
from hone.environments.tools import tool_call
from hone.harnesses.tool_loop import ToolLoopParams
from hone.harnesses.tool_loop import actions as actions_of
from services.simulation.answers import transition_message

ROW = {"prompt": "?", "answer": "1", "database": "CREATE TABLE t (a);"}
WITH_TOOLS = {"sqlite": make("sqlite", {"turns": 100}, 0, ROW)}
ALL = {**WITH_TOOLS, "dataset": make("dataset", {}, 0, ROW), "sort_turns": make("sort_turns", {"digits": 3}, 4),
       "graded": make("sort_turns", {"digits": 3, "rules": {"compliance": 1, "repetition": 1}}, 4),
       "textworld": make("textworld", {}, 7)}

texts = st.text() | st.text(st.characters(codec=None)) | st.sampled_from(["query", "sql", "\ud83d", "\0"])
"""Texts with half surrogate pairs too, because JSON escapes can contain them."""
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=12)
calls = st.fixed_dictionaries({"tool": st.just("query") | json_values, "arguments": st.fixed_dictionaries(
    {"sql": json_values}) | json_values})
brackets = st.integers(1, 3000).map(lambda depth: "[" * depth + "]" * depth)
actions = st.text() | (calls | json_values).map(json.dumps) | brackets.map(
    '{{"tool": "query", "arguments": {{"sql": {}}}}}'.format)
tagged = st.fixed_dictionaries({"name": st.just("query") | json_values, "arguments": json_values}).map(
    json.dumps) | brackets.map('{{"name": "query", "arguments": {{"sql": {}}}}}'.format)


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=150, deadline=None)
@given(action=actions)
@example(action='{"tool": [], "arguments": {}}')
@example(action='{"tool": "\\ud83d", "arguments": {}}')
@example(action='{"tool": "query", "arguments": {"sql": "\\ud83d"}}')
@example(action='{"tool": "query", "arguments": {"\\ud83d": 1}}')
@example(action='{"tool": "query", "arguments": {"sql": NaN}}')
@example(action='{"tool": "query", "arguments": {"sql": ' + "9" * 5000 + "}}")
def test_any_answer_is_a_step(name: str, action: str) -> None:
    one = episode(ALL[name])
    one.reset()
    taken = transition_message(one.step(action))
    assert taken.observation.state_hash == one.state_hash()
    assert taken.SerializeToString()


@settings(max_examples=300, deadline=None)
@given(inside=tagged)
@example(inside='{"name": "query", "arguments": {"sql": "\\ud83d"}}')
@example(inside='{"name": ["query"], "arguments": {}}')
def test_any_tagged_call_is_an_action_that_an_environment_reads_as_a_call(inside: str) -> None:
    [action] = actions_of(ToolLoopParams(), f"<tool_call>{inside}</tool_call>", [])
    assert action.encode()
    assert tool_call(action) is not None
