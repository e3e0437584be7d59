"""What the REST surface answers with: the gateway builds these, the SDK hands them out. Times are UTC."""

import math
from datetime import datetime
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict

Item = TypeVar("Item")

Value = Annotated[float, BeforeValidator(lambda given: math.nan if given is None else given)]
"""A metric's value; JSON has no number for what is not finite, and says null."""

RunState = Literal["queued", "running", "paused", "succeeded", "failed", "cancelled"]
Desired = Literal["run", "pause", "cancel"]
ENDED: tuple[RunState, ...] = ("succeeded", "failed", "cancelled")
"""States that a run never leaves."""


class Resource(BaseModel):
    """Frozen; fields that a newer gateway adds are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Page(Resource, Generic[Item]):
    """Some of a list; `next` is passed as `after` for what follows, and absent on the last page."""

    data: list[Item]
    next: str | None = None


class StoredFile(Resource):
    """One file of a model, dataset or export."""

    sha256: str
    bytes: int


class Model(Resource):
    """A registered base model. `parameters` counts weights; `ignored` names files that were left out."""

    id: str
    name: str
    architecture: str
    parameters: int
    dtype: str
    vocab_size: int
    max_positions: int
    files: dict[str, StoredFile]
    ignored: list[str] = []
    created_at: datetime


class Dataset(Resource):
    """An uploaded dataset: `columns` counts the rows that have each key; `report` tells what was refused."""

    id: str
    name: str
    rows: int
    columns: dict[str, int]
    files: dict[str, StoredFile]
    report: "RowReport"
    created_at: datetime


class RowProblem(Resource):
    """What is wrong with one row; rows count from 1."""

    row: int
    field: str
    found: str
    expected: str


class RowReport(Resource):
    """Validation of a dataset, row by row; `problems` holds the first 100."""

    rows: int
    good: int
    bad: int
    problems: list[RowProblem] = []


class RunSummary(Resource):
    """A run as lists show it: `step` of `steps` are committed; `version_id` is the newest version of its policy.

    `reward` is the newest step's mean.
    """

    id: str
    name: str
    state: RunState
    desired: Desired
    reason: str | None = None
    waiting_for: str | None = None
    step: int
    steps: int
    model_id: str
    version_id: str | None = None
    seed: int | None = None
    base: str | None = None
    algorithm: str | None = None
    reward: float | None = None
    created_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    deadline: datetime


class Run(RunSummary):
    """A whole run: its resolved spec, the latest value of every metric, and by role the models beside its policy.

    A metric that was no finite number is null in JSON, and NaN here.
    """

    roles: dict[str, str] = {}
    spec: dict[str, Any]
    metrics: dict[str, Value] = {}


class RunCounts(Resource):
    """How many runs are in each state."""

    queued: int = 0
    running: int = 0
    paused: int = 0
    succeeded: int = 0
    failed: int = 0
    cancelled: int = 0


class Event(Resource):
    """Something that happened to a run, for people to read; ids rise."""

    id: int
    kind: str
    step: int | None = None
    message: str
    data: dict[str, Any] = {}
    created_at: datetime


class Metrics(Resource):
    """Series by name: pairs of step and value, steps rising; null in JSON, and NaN here, is no finite number."""

    series: dict[str, list[tuple[int, Value]]]


class Checkpoint(Resource):
    """One version of a run's policy: number 0 is the base, n follows step n. `stored`: its weights are still kept."""

    id: str
    number: int
    state: Literal["live", "abandoned"]
    stored: bool
    parent_id: str | None = None
    weights_sha256: str | None = None
    created_at: datetime


class Export(Resource):
    """A version on its way out: done when a stock engine agreed with it; `max_abs_diff` is by how many nats.

    `compared_with`: probe, the log-probs that the trainer noted of the version; forward, our own of the same files,
    where it noted none. Null of one that was made before that was stored.
    """

    id: str
    run_id: str | None = None
    model_id: str
    version_id: str
    state: Literal["queued", "done", "failed"]
    reason: str | None = None
    files: dict[str, StoredFile] = {}
    max_abs_diff: float | None = None
    compared_with: Literal["probe", "forward"] | None = None
    created_at: datetime
    finished_at: datetime | None = None


class TrajectoryRow(Resource):
    """One sample as lists show it. `preview` is the beginning of its answer."""

    group_id: int
    index: int
    purpose: Literal["train", "eval", "probe", "pilot"]
    request_no: int
    step: int
    series: str
    group_state: str
    status: str
    score: float | None = None
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int
    preview: str
    created_at: datetime


class Grade(Resource):
    """One component of a sample's grade; `value` is absent when `status` says that there is none."""

    id: int
    grader_hash: str
    component: str
    level: str
    status: str
    value: float | None = None
    reasons: list[str] = []
    extracted: str | None = None
    decided_by: str
    cost_ms: float


class Trajectory(TrajectoryRow):
    """One whole sample: its task, every model call with its exact tokens, every step and grade.

    `last_index` is that of the last sample of its group.
    """

    last_index: int
    task: dict[str, Any]
    task_hash: str
    item: dict[str, Any]
    harness: str
    ended: str
    calls: list[dict[str, Any]]
    steps: list[dict[str, Any]]
    grades: list[Grade]


class CallTokens(Resource):
    """One call's tokens as text, piece by piece; a character that several tokens make stands at the last of them.

    `advantages` has one for each token of the completion, null where it was not trained; empty where none is known.
    """

    prompt: list[str]
    completion: list[str]
    advantages: list[float | None] = []


class TrajectoryTokens(Resource):
    """The text of a sample's tokens, and the advantage that its step gave each of the trained ones.

    `advantage` is theirs where all have the same. `advantage_note` says what it is by, or why there is none.
    """

    calls: list[CallTokens]
    advantage: float | None = None
    advantage_note: str = ""


class Usage(Resource):
    """What one run or key used: amounts by kind (tokens, seconds, grades)."""

    id: str | None
    name: str | None = None
    amounts: dict[str, float]


class ServiceHealth(Resource):
    """One service as the gateway sees it; `ms` is how long it took to answer, null where nobody asked it."""

    name: str
    ok: bool
    detail: str
    ms: float | None


class Health(Resource):
    """Every service; ok when all of them are."""

    ok: bool
    services: list[ServiceHealth]


class EngineModel(Resource):
    """A model that an engine holds: which version, and what it generated with it since the engine started."""

    model_id: str
    run_id: str | None = None
    run_name: str | None = None
    version_id: str | None = None
    number: int | None = None
    refused_reason: str | None = None
    generated_tokens: int
    generated_samples: int
    computed_s: float
    loaded_at: datetime | None = None


class Engine(Resource):
    """An inference engine, which serves every tenant; its `models` are those of the caller's that it holds.

    `age_s` is how long ago it last reported, `load` the share of the time before that in which it computed.
    """

    id: str
    kind: str
    age_s: float
    load: float | None = None
    started_at: datetime
    models: list[EngineModel] = []


class Grader(Resource):
    """A kind of grader by its `type`, with the JSON Schema of its parameters; `pooled` runs in a process of its own."""

    name: str
    summary: str
    params_schema: dict[str, Any]
    low: float
    high: float
    pooled: bool


class GraderActivity(Resource):
    """The newest grades of one grader's component that ended alike: how many, their mean value, their cost."""

    type: str
    component: str
    status: str
    grades: int
    mean_value: float | None = None
    mean_cost_ms: float
    max_cost_ms: float


class Environment(Resource):
    """An environment by name, with the JSON Schema of its parameters, and the roles whose words it may ask for."""

    name: str
    summary: str
    params_schema: dict[str, Any]
    harness: str
    asked_roles: list[str] = []


class Algorithm(Resource):
    """A preset: which method fills each slot, with which parameters.

    `asked` is what a spec has to give for it besides its task, `unmet` why it cannot be run yet.
    """

    name: str
    slots: dict[str, Any]
    unmet: str | None = None
    asked: list[str] = []


class SlotMethod(Resource):
    """What may fill a slot: where it comes from, what it computes, and its parameters."""

    slot: str
    name: str
    source: str
    formula: str
    params_schema: dict[str, Any]
