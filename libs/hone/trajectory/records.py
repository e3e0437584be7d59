"""Carriers of the data model: a trajectory, its calls, its steps. Frozen values; the words are the glossary's."""

from dataclasses import dataclass, field
from typing import Any

PREVIEW = 120
"""Characters of the last answer's beginning that a trajectory's row keeps, for lists and their search."""


@dataclass(frozen=True)
class VersionSpan:
    """`tokens` consecutive tokens made by one version of the weights."""

    version_id: str
    tokens: int


@dataclass(frozen=True)
class Context:
    """Another prompt under which a call's completion is scored or trained."""

    name: str
    prompt_ids: list[int]
    source: str  # sha256 of the text that was put in


@dataclass(frozen=True)
class Scored:
    """What another model says of a call's completion, at temperature 1."""

    name: str  # its role
    version_id: str
    logp: list[float]  # nats, one for each id
    top_ids: list[int] = field(default_factory=list)  # the K likeliest ids at each place, place after place
    top_logp: list[float] = field(default_factory=list)  # theirs, nats


@dataclass(frozen=True)
class Span:
    """A named part of a completion: its tokens from `start` to before `end`."""

    name: str
    start: int
    end: int
    weight: float = 1.0  # factor of their loss


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
    turn: int = 0
    sampling: dict[str, Any] = field(default_factory=dict)
    engine: str = ""
    kv_on_update: str = "keep"
    contexts: list[Context] = field(default_factory=list)
    scored: list[Scored] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)


@dataclass(frozen=True)
class Step:
    """One transition of the environment. A tool call's name and arguments stand in `action`, its result in `said`."""

    index: int
    call: int  # whose completion took it
    action: str
    said: list[dict[str, str]]  # messages that the environment answered
    observation_hash: str  # of `said`
    state_hash: str  # after it
    valid: bool
    effect: bool | None = None
    reward: float | None = None
    admissible: list[str] | None = None  # actions possible after it
    entities: list[str] | None = None  # things present after it
    rules: dict[str, float] = field(default_factory=dict)  # what each turn rule gave it, by name; unweighted


@dataclass(frozen=True)
class Turn:
    """A finished call and the steps that led to it since the call before: what the journal keeps."""

    call: Call
    steps: list[Step] = field(default_factory=list)


@dataclass(frozen=True)
class Trajectory:
    """One sample of one task: `(group_id, index)` names it."""

    group_id: int
    index: int
    request_no: int
    task: dict[str, Any]
    task_hash: str
    item: dict[str, Any]  # what graders see as the task row
    calls: list[Call]
    steps: list[Step]
    status: str  # of its grade
    score: float | None
    grade_id: int | None
    harness: str = "chat"
    ended: str = "done"  # done, max_turns, max_context; masked: diverged (could not be rebuilt), refused (a step)
