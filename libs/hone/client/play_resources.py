"""The resources of play: one task of an environment, taken step by step by a person or a program."""

from typing import Any, Literal

from pydantic import Field

from hone.client.resources import Resource

TaskSplit = Literal["train", "held_out"]


class PlayedTask(Resource):
    """The task of a session, as a run would have it: `dataset` and `row`, or the `seed` and the `split` of a draw."""

    environment: str
    params: dict[str, Any]
    dataset: str | None = None
    row: int | None = None  # from 1
    seed: int | None = None  # with which it was drawn
    split: TaskSplit | None = None
    content_hash: str
    noise: dict[str, Any] | None = None  # in the results of its tools, or in its user's words


class Seen(Resource):
    """Observation of an environment, with the possible actions."""

    messages: list[dict[str, Any]]  # new ones, as OpenAI has them
    tools: list[dict[str, Any]]  # that may be called, as OpenAI describes functions
    admissible: list[str] | None = None  # actions that are possible now, where the environment knows them
    turns_left: int
    next_index: int  # of the next step
    item: dict[str, Any]  # what graders see, and no policy
    grader: dict[str, Any]  # which judges this task in a run that names none


class Play(Seen):
    """A session that has begun. It is forgotten `ttl_s` seconds after its last call."""

    id: str
    task: PlayedTask
    ttl_s: float


class PlayStep(Seen):
    """The result of a step. `reward` is that of the step; None: nothing pays for steps here."""

    done: bool
    ended: str | None = None  # why the episode has ended; None: it goes on
    valid: bool  # the environment understood the action
    effect: bool | None = None  # the action changed the state; None: not known
    reward: float | None = None
    rules: dict[str, float] = Field(default_factory=dict)  # what each turn rule gives the action
    injection: dict[str, Any] | None = None  # noise in the result, with the original


class PlayState(Resource):
    """The present state of a session. `score` is the environment's own; None: the grader of a run decides."""

    id: str
    environment: str
    next_index: int
    done: bool
    ended: str | None = None
    turns_left: int
    score: float | None = None
    components: dict[str, float] = Field(default_factory=dict)  # figures beside the score
    grader: dict[str, Any]  # which decides in a run that names none
    item: dict[str, Any]
    state: dict[str, Any] | None = None  # the environment's snapshot; None: it is larger than an answer may be
    state_bytes: int
    state_hash: str


class ClosedPlay(Resource):
    """A session that is over."""

    id: str
