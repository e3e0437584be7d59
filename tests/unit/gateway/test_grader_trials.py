"""OpenAI's answer to a tried grader, and what Hone adds to it."""

import pytest

from hone.api import reward_pb2
from hone.graders import specs
from services.gateway.routes import openai_graders

_CHECK = specs.checked({"type": "string_check", "name": "c", "operation": "eq", "input": "{{ sample.output_text }}",
                        "reference": "4"})


def test_a_trial_has_openais_fields_and_then_its_reasons_and_evidence() -> None:
    trial = openai_graders.answer(_CHECK, reward_pb2.Grade(
        status="GRADE_STATUS_OK", score=0.5, components={"exec": 0.5}, reasons=["half"], extracted="4",
        decided_by="judge", tokens={"judge-1": 120}, evidence_json=['{"ran": "grade"}']), 0.25)
    assert (trial.reward, trial.sub_rewards) == (0.5, {"exec": 0.5})
    assert trial.model_grader_token_usage_per_model == {"judge-1": 120}
    assert set(trial.metadata) == {"name", "type", "execution_time", "scores", "token_usage", "sampled_model_name",
                                   "errors"}
    assert (trial.status, trial.reasons, trial.extracted, trial.decided_by) == ("ok", ["half"], "4", "judge")
    assert (trial.evidence, trial.error) == ([{"ran": "grade"}], "")


def test_a_trial_without_a_score_names_its_error() -> None:
    trial = openai_graders.answer(_CHECK, reward_pb2.Grade(
        status="GRADE_STATUS_JUDGE_ERROR", error="model_grader_server_error", reasons=["status 500"]), 0.25)
    assert (trial.reward, trial.status, trial.error) == (None, "judge_error", "model_grader_server_error")
    assert trial.extracted is None
    assert trial.metadata["errors"]["model_grader_server_error_details"] == "status 500"


@pytest.mark.parametrize(("grader", "reads"), [
    ({"type": "each_call", "grader": {"type": "exact"}}, "conversation"),
    ({"type": "concise", "grader": {"type": "exact"}}, "group"),
    ({"type": "state", "expected": {"a": "b"}}, "world")])
def test_a_grader_of_more_than_an_answer_is_refused_by_its_type(grader: dict[str, object], reads: str) -> None:
    problem = openai_graders.of_more(specs.checked(grader))
    assert (problem.field, problem.found) == ("grader.type", f'"{grader["type"]}"')
    assert f"the {reads}" in problem.expected
