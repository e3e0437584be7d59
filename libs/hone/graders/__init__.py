"""Graders by the `type` in their JSON. Adding one is a file here and a line in this dict."""

from collections.abc import Mapping
from typing import Any

from hone.graders import (
    character_share,
    concise,
    each_call,
    environment,
    exact,
    label_model,
    math,
    multi,
    numeric,
    python,
    reasoning_gym,
    score_model,
    skill_credit,
    skill_use,
    slowed,
    sql_phases,
    state,
    string_check,
    structured,
    table_steps,
    text_similarity,
    tool_call,
    verdict,
    weighted,
)
from hone.graders.contract import Grader

GRADERS: Mapping[str, Grader[Any]] = {
    "exact": exact.GRADER,
    "numeric": numeric.GRADER,
    "math": math.GRADER,
    "reasoning_gym": reasoning_gym.GRADER,
    "string_check": string_check.GRADER,
    "text_similarity": text_similarity.GRADER,
    "character_share": character_share.GRADER,
    "environment": environment.GRADER,
    "slowed": slowed.GRADER,
    "verdict": verdict.GRADER,
    "weighted": weighted.GRADER,
    "multi": multi.GRADER,
    "structured": structured.GRADER,
    "tool_call": tool_call.GRADER,
    "each_call": each_call.GRADER,
    "concise": concise.GRADER,
    "state": state.GRADER,
    "skill_credit": skill_credit.GRADER,
    "skill_use": skill_use.GRADER,
    "sql_phases": sql_phases.GRADER,
    "table_steps": table_steps.GRADER,
    "python": python.GRADER,
    "score_model": score_model.GRADER,
    "label_model": label_model.GRADER,
}
