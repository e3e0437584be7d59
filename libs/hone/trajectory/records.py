"""The records of the data model: a trajectory, its calls and its steps. Their names are the glossary's."""

from dataclasses import dataclass, field
from typing import Any

PREVIEW = 120
"""Number of characters of the last answer that a trajectory's row keeps, for lists and their search."""


@dataclass(frozen=True)
class VersionSpan:
    """Consecutive tokens that one version of the weights sampled."""

    version_id: str
    tokens: int


@dataclass(frozen=True)
class Context:
    """Another prompt under which a call's completion is scored or trained."""

    name: str
    prompt_ids: list[int]
    source: str  # sha256 of the inserted text


@dataclass(frozen=True)
class Scored:
    """Another model's log-probabilities of a call's completion, at temperature 1."""

    name: str  # the model's role
    version_id: str
    logp: list[float]  # nats, one for each completion id
    top_ids: list[int] = field(default_factory=list)  # the K likeliest ids at each token, token after token
    top_logp: list[float] = field(default_factory=list)  # nats, of top_ids


@dataclass(frozen=True)
class Span:
    """A named part of a completion: its tokens from `start` to before `end`."""

    name: str
    start: int
    end: int
    weight: float = 1.0  # factor of their loss
    score: float | None = None  # of a step that a grader scored; None: it is no such step


@dataclass(frozen=True)
class Call:
    """One model call with its exact prompt."""

    index: int
    prompt_ids: list[int]
    completion_ids: list[int]
    logp_sample: list[float]  # nats, of the distribution sampled from; same length as completion_ids; [] if not sampled
    finish_reason: str  # stop, length, abort
    versions: list[VersionSpan]
    text: str  # the completion decoded, without its stop
    train_mask: list[bool]  # same length as completion_ids
    role: str = "policy"
    kind: str = "answer"
    number: str = ""  # path in the tree of the sample's calls: 0, 1, …; 3.0.1 is a call of the first fork made as 3
    parent: str | None = None  # number of the call before it; empty: there is none; None: not recorded
    group_key: str | None = None  # statistics are over the calls of one key; None: over the sample's trajectories
    turn: int = 0
    sampling: dict[str, Any] = field(default_factory=dict)
    engine: str = ""
    kv_on_update: str = "keep"
    contexts: list[Context] = field(default_factory=list)
    scored: list[Scored] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    rules: dict[str, float] = field(default_factory=dict)  # what the harness paid it, by the rule's name
    notes: dict[str, Any] = field(default_factory=dict)  # facts that the harness stored
    scores: dict[str, float] = field(default_factory=dict)  # what the grader gave it, by name
    begun: str = ""  # the part of the answer that its prompt holds
    entropy: float | None = None  # mean over the completion's ids, nats, where its harness asked for it


@dataclass(frozen=True)
class Step:
    """One transition of the environment. `action` holds a tool call's name and arguments, `said` its result."""

    index: int
    call: int  # index of the call whose completion is the action; -1: the harness acted before its first call
    action: str
    said: list[dict[str, str]]  # the environment's answer, as messages
    observation_hash: str  # of `said`
    state_hash: str  # after the step
    valid: bool
    effect: bool | None = None
    reward: float | None = None
    admissible: list[str] | None = None  # actions that are possible after the step
    entities: list[str] | None = None  # things that are present after the step
    rules: dict[str, float] = field(default_factory=dict)  # the score of each turn rule by name, unweighted
    injection: dict[str, Any] = field(default_factory=dict)  # noise in what was said, with its type and the original


@dataclass(frozen=True)
class Turn:
    """A finished call and the steps between it and the call before. The journal keeps turns."""

    call: Call
    steps: list[Step] = field(default_factory=list)


@dataclass(frozen=True)
class Trajectory:
    """One sample of one task, identified by `(group_id, index)`."""

    group_id: int
    index: int
    request_no: int
    task: dict[str, Any]
    task_hash: str
    item: dict[str, Any]  # the task row as graders see it
    calls: list[Call]
    steps: list[Step]
    status: str  # of the trajectory's grade
    score: float | None
    grade_id: int | None
    harness: str = "chat"
    ended: str = "done"  # done, max_turns, max_context, left (by its harness); masked: diverged, refused (a step)
