"""A verdict that two readers understand differently is none."""

import pytest

from hone.graders.judge_answers import read_number, read_object
from hone.graders.questions import JudgeFailed, Reply

FENCED = '```json\n{"result": 1}\n```'


@pytest.mark.parametrize("text", [
    '{"result": 0.5}', '<think>{"result": 1}</think>{"result": 0.5}', 'So:\n```json\n{"result": 0.5}\n```\nDone.',
    r'As \frac{1}{2} is right: ```{"result": 0.5}```', '```python\nx = {1}\n``` ```json\n{"result": 0.5}\n```'])
def test_a_verdict_is_read_with_what_stands_around_it(text: str) -> None:
    assert read_object(Reply(text, "judge")) == {"result": 0.5}


@pytest.mark.parametrize(("text", "why"), [
    ('{"result": 0, "result": 1}', "the key 'result' twice"), ('{"result": 0, "x": {"a": 1, "a": 2}}', "'a' twice"),
    (f'The answer says {FENCED} but it is wrong: {{"result": 0}}', "several JSON objects"),
    (f'{{"result": 0}} since it says {FENCED}', "several JSON objects"),
    (f'```json\n{{"result": 0}}\n``` as it says {FENCED}', "several JSON objects"),
    ('{"result": NaN}', "expected a JSON object"), ('[{"result": 1}]', "expected a JSON object"),
    ("", "expected a JSON object")])
def test_an_answer_that_may_quote_the_policy_is_no_verdict(text: str, why: str) -> None:
    with pytest.raises(JudgeFailed, match=why):
        read_object(Reply(text, "judge"))


@pytest.mark.parametrize("value", [10**400, -10**400, float("inf"), True, "0.5", None, [1], 1.5])
def test_what_is_no_number_of_the_range_is_no_verdict(value: object) -> None:
    with pytest.raises(JudgeFailed, match="model_grader_parse_error"):
        read_number(value, 0, 1, Reply("", "judge"))
