"""Refusals of requests to models, and errors of engines as refusals. Each has a status and OpenAI's code."""

import grpc

from hone.rpc import errors as rpc_errors
from hone.spec.problems import Problem, found
from services.gateway.middleware.errors import Away, NotFound, Refusal, TooMany

UNFOLLOWED = "the grammar cannot be followed: "
"""Begins an engine's reason for an answer that it could not go on with."""


class ModelNotFound(NotFound):
    """No model of this tenant has this name."""

    code = "model_not_found"


class WrongRequest(Refusal):
    """The request is wrong."""

    title, code = "Unusable", "invalid_value"


class TooLong(Refusal):
    """The prompt and its answer do not fit into the model's positions."""

    title, code = "Unusable", "context_length_exceeded"


class Busy(TooMany):
    """So many requests to models are in progress. The same request may succeed later."""

    code = "rate_limit_exceeded"


class OverQuota(TooMany):
    """The tenant has used up what it may use. Trying again does not help."""

    code = "insufficient_quota"

    def __init__(self, detail: str = "") -> None:
        super().__init__(detail)
        self.headers = {"x-should-retry": "false"}


def unknown_model(name: str, reason: str = "") -> ModelNotFound:
    """Return the refusal of a name that no model of the tenant has."""
    shown, why = found(name), f": {reason}" if reason else ""
    return ModelNotFound(f"The model {shown} does not exist or is not yours{why}.",
                         [Problem("model", f"{shown}{why}",
                                  "a registered model, a version, a run, RUN@latest or RUN@STEP")])


def wrong(field: str, given: object, expected: str) -> WrongRequest:
    """Return the refusal of a field."""
    return WrongRequest(problems=[Problem(field, found(given), expected)])


def too_long(field: str, prompt: int, answer: int, positions: int) -> TooLong:
    """Return the refusal of a prompt of `prompt` tokens with an answer of up to `answer`."""
    return TooLong(
        f"This model's maximum context length is {positions} tokens. However, you requested {prompt + answer} tokens "
        f"({prompt} in the prompt, {answer} in the completion).",
        [Problem(field, f"{prompt} tokens and {answer} of the answer", f"at most {positions} tokens in all")])


def of_service(error: grpc.aio.AioRpcError, name: str, service: str) -> Refusal:
    """Return the refusal for an error of an engine, or of another `service`."""
    reason = rpc_errors.reason(error)
    match error.code():
        case grpc.StatusCode.FAILED_PRECONDITION if reason.startswith(UNFOLLOWED):
            return WrongRequest(reason)
        case grpc.StatusCode.INVALID_ARGUMENT:
            return WrongRequest(reason)
        case grpc.StatusCode.NOT_FOUND:
            return unknown_model(name)
        case grpc.StatusCode.DATA_LOSS:
            return WrongRequest(f"The {service} cannot serve this model: {reason}", [
                Problem("model", found(name), "a model that an engine can serve")])
        case grpc.StatusCode.RESOURCE_EXHAUSTED:
            return Busy(reason)
        case _:
            return Away(f"The {service} does not answer: {reason}")
