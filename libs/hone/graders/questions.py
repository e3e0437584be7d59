"""Questions of a grader to a judge, and the answers. An answer that cannot be read says nothing about the policy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hone.graders.error_kinds import ErrorKind


@dataclass(frozen=True)
class Question:
    """Question to a judge."""

    judge: str  # name of a judge of the tenant, or of a model as docs/asking.md has it
    messages: Sequence[Mapping[str, Any]]
    max_tokens: int = 1024
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 0
    schema: Mapping[str, Any] | None = None  # JSON schema of the answer, where the judge can be held to one
    effort: str | None = None  # of the reasoning
    tools: Sequence[Mapping[str, Any]] = ()  # that the judge may call


@dataclass(frozen=True)
class Submission:
    """Question to a verify server: a task with an answer to it, in NeMo Gym's form."""

    judge: str  # name of the server, among the judges of the tenant
    body: Mapping[str, Any]


@dataclass(frozen=True)
class Rating:
    """A conversation whose last message a reward model rates."""

    judge: str  # name of a judge of the tenant, or of a reward model of the tenant's
    messages: Sequence[Mapping[str, Any]]


Asked = Question | Submission | Rating


@dataclass(frozen=True)
class Reply:
    """Answer of a judge. Of a verify server `text` is JSON, without the fields it was sent; a rating is a number."""

    text: str
    model: str  # that answered, with its version where it has one
    prompt_tokens: int = 0
    completion_tokens: int = 0
    finish_reason: str = "stop"
    tool_calls: Sequence[Mapping[str, Any]] = ()
    cached: bool = False  # the same question was answered before, so this answer cost nothing

    @property
    def tokens(self) -> int:
        """Tokens that were used for this answer."""
        return 0 if self.cached else self.prompt_tokens + self.completion_tokens


class JudgeFailed(Exception):
    """A judge gave no verdict that could be read. The sample is masked."""

    def __init__(self, kind: ErrorKind, detail: str, missing: bool = False) -> None:
        """`detail`: for people, without secrets. `missing`: nothing of the judge's name is there to be asked."""
        super().__init__(f"{kind}: {detail}")
        self.kind, self.missing = kind, missing
