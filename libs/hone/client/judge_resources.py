"""The resources of judges: endpoints that graders ask, the secrets that they need, and what they used."""

import re
from datetime import datetime
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import httpx
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from hone.client.resources import Resource

JUDGE_NAME = r"^[a-z0-9][a-z0-9_.-]{0,99}$"
_ADDRESS = re.compile(r"[^\x00-\x20\x7f\\]*")
_SECRET_VALUE = re.compile(r"[!-~](?:[ -~]*[!-~])?")
SECRET_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$"


def _web_address(url: str) -> str:
    try:
        parts, _ = urlsplit(url), httpx.URL(url)
        port = parts.port
    except (ValueError, httpx.InvalidURL) as error:
        raise ValueError(f"expected a web address ({error})") from None
    if port == 0 or not _ADDRESS.fullmatch(url):
        raise ValueError("expected a web address, with a port from 1 to 65535 if any, and without blanks")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError("expected http:// or https://, a host, and the path before /chat/completions, /verify or "
                         "/pooling")
    if parts.username or parts.password:
        raise ValueError("expected an address without a password: name a secret instead")
    return url.rstrip("/")


def header_text(value: str) -> str:
    """Return a secret's value. Raises ValueError, without it, for one that no header of a request can hold."""
    if not _SECRET_VALUE.fullmatch(value):
        raise ValueError("expected 1 to 10000 printable ASCII characters, without blanks around them: it goes into a "
                         "header")
    return value


class JudgeTerms(BaseModel):
    """How an endpoint is asked, and how much. A limit of 0 is none. Limits in time are those of each reward process."""

    model_config = ConfigDict(extra="forbid")

    protocol: Literal["chat", "verify", "pooling", "openenv", "mcp"] = Field(
        "chat", description="Protocol of the endpoint: OpenAI's chat completions; NeMo Gym's /verify, asked by "
        "graders of the type verify_server; vLLM's /pooling with a reward model, asked by graders of the type "
        "reward_model; "
        "openenv and mcp are worlds, which the environments of these names play.")
    timeout_s: float = Field(60.0, gt=0, le=600, description="Seconds that an attempt may take.")
    attempts: int = Field(
        3, ge=1, le=10, description="Attempts at a question that the endpoint answers with 408, 409, 425, 429 or 5xx, "
        "or not at all, with pauses of 1 s to 8 s, or as long as the endpoint says.")
    at_once: int = Field(16, ge=1, le=1024, description="Questions in progress.")
    per_minute: int = Field(0, ge=0, le=1_000_000, description="Questions a minute.")
    answers: Literal["json_schema", "json_object", "text"] = Field(
        "json_schema", description="How the endpoint is asked for JSON, where a grader needs it: by the schema, as "
        "some object, or in the prompt's words alone.")
    length: Literal["max_tokens", "max_completion_tokens"] = Field(
        "max_tokens", description="Name of the endpoint's field for the most tokens of an answer.")
    seeds: bool = Field(True, description="Whether the endpoint is sent a seed.")
    prompt_price: float = Field(0.0, ge=0, le=1e9, description="Price of a million tokens of prompts.")
    completion_price: float = Field(0.0, ge=0, le=1e9, description="Price of a million tokens of answers.")
    run_tokens: int = Field(0, ge=0, description="Tokens that a run may use.")
    run_cost: float = Field(0.0, ge=0, le=1e12, description="Most money that the answers of a run may cost.")


class WantedJudge(BaseModel):
    """An endpoint with OpenAI's chat completions, or a server with NeMo Gym's /verify."""

    model_config = ConfigDict(extra="forbid")

    url: Annotated[str, StringConstraints(max_length=2000), AfterValidator(_web_address)] = Field(
        description="Address before /chat/completions, usually with /v1 at its end; or before /verify or /pooling.")
    model: Annotated[str, StringConstraints(max_length=300)] = Field(
        "", description="Model, as the endpoint names it. Of a verify server: a word of yours for its version; another "
        "word makes it answer again.")
    secret: Annotated[str, StringConstraints(pattern=SECRET_NAME)] | None = Field(
        None, description="Name of the secret with the endpoint's key; null: it needs none.")
    terms: JudgeTerms = Field(default_factory=JudgeTerms, description="How it is asked, and how much.")


class Judge(Resource):
    """A judge that was set. Graders ask it by its name."""

    name: str
    url: str
    model: str
    secret: str | None = None
    terms: JudgeTerms
    updated_at: datetime


class Secret(Resource):
    """A secret that was set. Nobody can read its value."""

    name: str
    updated_at: datetime


class StoredGrader(Resource):
    """A grader that was added under a name. `hash` names its content for good, as grades do."""

    name: str
    hash: str
    grader: dict[str, Any]
    created_at: datetime


class Verified(Resource):
    """A reward in NeMo Gym's form, beside all that was sent. Each component is also a field of its own."""

    model_config = ConfigDict(extra="allow")

    reward: float
    reward_components: dict[str, float] = Field(default_factory=dict)


class GraderTrial(Resource):
    """Grade of an answer, in OpenAI's form. Without a reward `reward` is null, and `metadata.errors` says why.

    The fields below `metadata` are not OpenAI's, and mean what they mean in a Grade.
    """

    reward: float | None
    sub_rewards: dict[str, float]
    model_grader_token_usage_per_model: dict[str, int]
    metadata: dict[str, Any]
    status: str = ""
    reasons: list[str] = Field(default_factory=list)
    extracted: str | None = None
    decided_by: str = ""
    evidence: list[dict[str, Any]] = Field(default_factory=list)

    @property
    def error(self) -> str:
        """The kind of its error, of docs/graders.md; empty if there is none."""
        return next((name for name, flag in self.metadata.get("errors", {}).items() if flag is True), "")


class JudgeSpending(Resource):
    """Usage of a judge by a run so far; cached answers cost nothing."""

    judge: str
    answers: int
    tokens: int
    cost: float
