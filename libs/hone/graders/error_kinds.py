"""Whose fault a missing score is, in the words of OpenAI's grader errors."""

from collections.abc import Iterable
from enum import StrEnum


class ErrorKind(StrEnum):
    """The kinds of errors. A reason of a grade begins with its kind, then a colon."""

    FORMULA_PARSE = "formula_parse_error"
    INVALID_VARIABLE = "invalid_variable_error"
    SAMPLE_PARSE = "sample_parse_error"
    TRUNCATED_OBSERVATION = "truncated_observation_error"
    UNRESPONSIVE_REWARD = "unresponsive_reward_error"
    PYTHON_RUNTIME = "python_grader_runtime_error"
    PYTHON_SERVER = "python_grader_server_error"
    MODEL_PARSE = "model_grader_parse_error"
    MODEL_REFUSAL = "model_grader_refusal_error"
    MODEL_SERVER = "model_grader_server_error"
    OTHER = "other_error"


_KINDS = {kind.value: kind for kind in ErrorKind}
_OF_STATUS = {"judge_error": ErrorKind.MODEL_SERVER, "timeout_grader": ErrorKind.UNRESPONSIVE_REWARD,
              "infra_error": ErrorKind.OTHER, "invalid_spec": ErrorKind.OTHER}


def error_kind(status: str, reasons: Iterable[str]) -> ErrorKind | None:
    """Return the kind that a grade's reasons name, also behind the name of a part; else that of its status, if any."""
    words = (word for reason in reasons for word in reason.split(": "))
    named = next((_KINDS[word] for word in words if word in _KINDS), None)
    return named or _OF_STATUS.get(status)
