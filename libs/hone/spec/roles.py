"""The models beside the one that a run trains, and the texts that only they, or a second look, read."""

from typing import Literal

from pydantic import Field, model_validator

from hone.spec.parameters import Strict, is_none


class TeacherSpec(Strict):
    """A frozen model that scores each token that the policy sampled."""

    model: str = Field(
        min_length=1, description="Name of a registered model, id of a version (ver_…), or id of a finished run "
        "(run_…); it needs the policy's tokenizer.")
    top_k: int = Field(
        0, ge=0, le=64, description="Likeliest token ids of the teacher that are kept at each token; 0: none.")


class AskedSpec(Strict):
    """Who speaks for a role of an environment: a frozen model, or an endpoint."""

    model: str | None = Field(
        None, min_length=1, exclude_if=is_none, description="Name of a registered model, id of a version (ver_…), or "
        "id of a finished run (run_…); it uses its own tokenizer and chat template.")
    endpoint: str | None = Field(
        None, min_length=1, exclude_if=is_none, description="Instead of a model: name of an endpoint with OpenAI's "
        "chat completions, as `hone judges set` keeps it, or of a model as for a judge.")
    max_tokens: int | None = Field(
        None, ge=1, le=65_536, exclude_if=is_none, description="Of an endpoint: most tokens of an answer; null: 512.")
    temperature: float | None = Field(
        None, ge=0, le=2, exclude_if=is_none, description="Of an endpoint: its temperature; null: 0.7.")

    @model_validator(mode="after")
    def _one(self) -> "AskedSpec":
        if (self.model is None) == (self.endpoint is None):
            raise ValueError("expected either model or endpoint")
        if self.endpoint is None and (self.max_tokens is not None or self.temperature is not None):
            raise ValueError("expected max_tokens and temperature only with an endpoint: a model has the run's")
        return self

    @property
    def named(self) -> str:
        """Name of who speaks."""
        return self.model or self.endpoint or ""

    @property
    def sampling(self) -> dict[str, float | int]:
        """How an endpoint is asked."""
        temperature = 0.7 if self.temperature is None else self.temperature
        return {"max_tokens": self.max_tokens or 512, "temperature": temperature}


class AuthorSpec(Strict):
    """Who writes what is no part of a run, such as a package: a model, or an endpoint. The role `simulator`."""

    model: str | None = Field(
        None, min_length=1, max_length=300, description="Name of a model of yours that can be asked.")
    endpoint: str | None = Field(
        None, min_length=1, max_length=300, description="Instead of a model: name of an endpoint with OpenAI's chat "
        "completions, as `hone judges set` keeps it, or of a model as for a judge.")
    max_tokens: int = Field(8192, ge=1, le=65_536, description="Most tokens of an answer.")
    temperature: float = Field(0.7, ge=0, le=2)

    @model_validator(mode="after")
    def _one(self) -> "AuthorSpec":
        if (self.model is None) == (self.endpoint is None):
            raise ValueError("expected either model or endpoint")
        return self

    @property
    def named(self) -> str:
        """Name of who is asked."""
        return self.model or self.endpoint or ""


class TrialSpec(AuthorSpec):
    """Who tries the tasks of a package, with all tools and with half of them hidden. ScaleEnv's check is ours."""

    max_tokens: int = Field(1024, ge=1, le=65_536, description="Most tokens of an answer.")
    rollouts: int = Field(8, ge=1, le=64, description="Episodes of each task, with all tools and with half of them.")
    turns: int = Field(30, ge=1, le=500, description="Most turns of an episode.")


class RolesSpec(Strict):
    """Models of a run beside the one that it trains."""

    teacher: TeacherSpec | None = Field(None, description="Teacher of a distillation method; null: none.")
    asked: dict[str, AskedSpec] = Field(
        default_factory=dict, description="Models that speak for roles of the environment, by the role's name (for "
        "instance user); the policy speaks for every other role.")

    @property
    def models(self) -> dict[str, str]:
        """Name of each role's model."""
        teacher = {"teacher": self.teacher.model} if self.teacher else {}
        return teacher | {role: one.model for role, one in self.asked.items() if one.model is not None}

    @property
    def endpoints(self) -> dict[str, str]:
        """Name of the endpoint of each role that has one."""
        return {role: one.endpoint for role, one in self.asked.items() if one.endpoint is not None}


class ContextText(Strict):
    """A text that the policy reads when it scores its own tokens, and does not read when it samples them."""

    text: str = Field(
        min_length=1, max_length=20_000, description="The text; {{ item.NAME }} is replaced by a field of the task's "
        "item.")
    match: str | None = Field(
        None, min_length=1, max_length=200, description="The text is used only where the first prompt (at: task) or "
        "the call's last message (at: step) contains this, in upper or lower case; null: everywhere.")
    at: Literal["task", "step"] = Field(
        "task", description="task: the text is in the system message of the whole episode; step: it is at the end of "
        "the last message of each call that it matches, and of no other call.")


class ContextsSpec(Strict):
    """Other prompts under which the policy scores the run's completions, so that it is its own teacher."""

    privileged: list[ContextText] = Field(
        default_factory=list, max_length=256, description="Texts for the system message; all that match a task are "
        "used, in this order.")
    top_k: int = Field(
        0, ge=0, le=64, description="Likeliest token ids under this prompt that are kept at each token; 0: none.")
