"""The resources of the REST surface: the gateway builds them and the SDK returns them. Times are UTC."""

import math
from datetime import datetime
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, WithJsonSchema, computed_field

Item = TypeVar("Item")

_NUMBER = {"anyOf": [{"type": "number"}, {"type": "null"}]}

Value = Annotated[
    float, BeforeValidator(lambda given: math.nan if given is None else given), WithJsonSchema(_NUMBER)]
"""A metric's value. JSON has null for a value that is not finite; it is NaN here."""

Point = Annotated[tuple[int, Value], WithJsonSchema(
    {"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2})]
"""A step and a value. Its schema is one that every generator of clients reads."""

RunState = Literal["queued", "running", "paused", "succeeded", "failed", "cancelled", "deleting"]
Desired = Literal["run", "pause", "cancel"]
ENDED: tuple[RunState, ...] = ("succeeded", "failed", "cancelled", "deleting")
"""States that a run never leaves. One that is being deleted is in no list."""


class Resource(BaseModel):
    """A frozen value. Fields that a newer gateway adds are ignored.

    A gateway sends every field, so the OpenAPI document calls all of them required; a default is for older gateways.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", json_schema_serialization_defaults_required=True)


class Page(Resource, Generic[Item]):
    """One page of a list. Pass `next` as `after` for the next page; it is null on the last page."""

    data: list[Item]
    next: str | None = None


class StoredFile(Resource):
    """One file of a model, dataset or export."""

    sha256: str
    bytes: int


class WithFiles(Resource):
    """Something whose files are stored; `bytes` is the sum of them."""

    files: dict[str, StoredFile] = {}

    @computed_field  # type: ignore[prop-decorator]
    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files.values())


class DryRun(Resource):
    """A spec with every default filled in. `warnings` and `notes` are about the rows of its datasets.

    `warnings` are what is wrong in them, `notes` tell how many rows train and how many are held out.
    """

    spec: dict[str, Any]
    warnings: list[str] = []
    notes: list[str] = []


class RunSummary(Resource):
    """A run in a list. `step` of `steps` steps are committed; `version_id` is the newest version of the policy.

    `reward` is the mean reward of the newest step. `bytes` is what the run and its models occupy in the object store,
    as it was measured last; null before.
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
    bytes: int | None = None
    created_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    deadline: datetime


class Run(RunSummary):
    """A whole run: its resolved spec, the latest value of every metric, and the frozen models by role.

    `warnings` are what was found in its data, and in its samples so far: many cut off, or few left to train on. `cost`
    is money so far, in `currency`; when it reaches `budget`, the run pauses until there is more.
    """

    roles: dict[str, str] = {}
    warnings: list[str] = []
    spec: dict[str, Any]
    metrics: dict[str, Value] = {}
    budget: float | None = None
    cost: float = 0.0
    currency: str = ""


class RunCounts(Resource):
    """The number of runs in each state."""

    queued: int = 0
    running: int = 0
    paused: int = 0
    succeeded: int = 0
    failed: int = 0
    cancelled: int = 0


class Event(Resource):
    """An event of a run, for people to read. Later events have larger ids."""

    id: int
    kind: str
    step: int | None = None
    message: str
    data: dict[str, Any] = {}
    created_at: datetime


class Metrics(Resource):
    """Series by name: pairs of step and value, steps rising. `next` is the `after_step` of what is left out."""

    series: dict[str, list[Point]]
    next: int | None = None


class Checkpoint(Resource):
    """One version of a run's policy: number 0 is the base, number n follows step n.

    `stored`: its weights are kept, and `bytes` is their size.
    """

    id: str
    number: int
    state: Literal["live", "abandoned"]
    stored: bool
    parent_id: str | None = None
    weights_sha256: str | None = None
    bytes: int | None = None
    created_at: datetime


class Export(WithFiles):
    """A version as files. It is done once a stock engine agrees with it; `max_abs_diff` is the difference in nats.

    `compared_with`: probe, the log-probs that the trainer stored with the version; or forward, the log-probs of Hone's
    own forward pass over the same files, if the trainer stored none. Null for an export of an earlier release.
    `sampling_defaults`: what stock engines will apply by the model's generation_config.json, which training ignores;
    `sampling_note` says it in a sentence, with the run's own sampling. Both are empty if there is nothing.
    """

    id: str
    run_id: str | None = None
    model_id: str
    version_id: str
    state: Literal["queued", "done", "failed"]
    reason: str | None = None
    max_abs_diff: float | None = None
    compared_with: Literal["probe", "forward"] | None = None
    sampling_defaults: dict[str, Any] = {}
    sampling_note: str = ""
    created_at: datetime
    finished_at: datetime | None = None


class TrajectoryRow(Resource):
    """One sample in a list. `preview` is the beginning of its last answer."""

    group_id: int
    index: int
    purpose: Literal["train", "eval", "probe", "pilot"]
    request_no: int
    step: int
    series: str
    source: str = ""
    group_state: str
    status: str
    score: float | None = None
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int
    preview: str
    created_at: datetime


class Grade(Resource):
    """One component of a sample's grade. `value` is null if `status` says that there is none.

    `level` is trajectory, turn (a score of the call whose number is `place`) or step (of a passage: `place` is the
    number of its call, its first character and the one after its last). `regrade_no` is 0 for what the run learns from.
    `error` is a kind of docs/graders.md; `tokens` are those that judges used, by model; `evidence` is what judges were
    asked and answered, and what was run.
    """

    id: int
    grader_hash: str
    component: str
    level: str
    place: str = ""
    regrade_no: int = 0
    status: str
    value: float | None = None
    reasons: list[str] = []
    extracted: str | None = None
    decided_by: str
    cost_ms: float
    error: str = ""
    tokens: dict[str, int] = {}
    evidence: list[dict[str, Any]] = []


class Trajectory(TrajectoryRow):
    """One whole sample: its task, every model call with its exact tokens, every step and grade.

    `last_index` is the index of the last sample of its group.
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
    """The text of each token of a call. A character that several tokens form belongs to the last of them.

    `advantages` has one entry for each token of the completion, null for an untrained token; empty if none is known.
    """

    prompt: list[str]
    completion: list[str]
    advantages: list[float | None] = []


class TrajectoryTokens(Resource):
    """The text of a sample's tokens, and the advantage that its step gave each trained token.

    `advantage` is the advantage of the sample if all its tokens have the same. `advantage_note` names the estimator, or
    the reason why there is no advantage.
    """

    calls: list[CallTokens]
    advantage: float | None = None
    advantage_note: str = ""


class Usage(Resource):
    """The usage of one run or key: amounts by kind (tokens, seconds, grades), and what they cost."""

    id: str | None
    name: str | None = None
    amounts: dict[str, float]
    cost: float = 0.0


class ServiceHealth(Resource):
    """The health of one service. `ms` is the duration of its answer; null for a service that reports by itself."""

    name: str
    ok: bool
    detail: str
    ms: float | None


class Health(Resource):
    """The health of every service; `ok` if all of them are."""

    ok: bool
    services: list[ServiceHealth]


class EngineModel(Resource):
    """A model that an engine holds: its version, and the amounts generated with it since the engine started."""

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
    """An inference engine. It serves every tenant; `models` are the caller's models that it holds.

    `age_s` is the time since its last report, `load` the share of the second before that in which it computed.
    """

    id: str
    kind: str
    age_s: float
    load: float | None = None
    started_at: datetime
    models: list[EngineModel] = []


class Grader(Resource):
    """A kind of grader by its `type`, with the JSON Schema of its parameters. `pooled`: in a process of its own."""

    name: str
    summary: str
    params_schema: dict[str, Any]
    low: float
    high: float
    pooled: bool


class GraderActivity(Resource):
    """Sums over the newest grades of one grader, component and status: number, mean value, cost."""

    type: str
    component: str
    status: str
    grades: int
    mean_value: float | None = None
    mean_cost_ms: float
    max_cost_ms: float


class Environment(Resource):
    """An environment by name, with the JSON Schema of its parameters, and the roles whose answers it may request."""

    name: str
    summary: str
    params_schema: dict[str, Any]
    harness: str
    asked_roles: list[str] = []


class Algorithm(Resource):
    """A preset: the method in each slot, with its parameters.

    `asked` names the fields that a spec must add for it, besides its task; `unmet` is the reason why it cannot be run.
    `lacks` is a part of its method that runs do without.
    """

    name: str
    slots: dict[str, Any]
    unmet: str | None = None
    lacks: str | None = None
    asked: list[str] = []


class StartingSpec(Resource):
    """A complete spec of a preset to begin with: as an object, and as YAML."""

    preset: str
    spec: dict[str, Any]
    text: str


class SlotMethod(Resource):
    """A method for a slot: its source, its formula, and the JSON Schema of its parameters."""

    slot: str
    name: str
    source: str
    formula: str
    params_schema: dict[str, Any]
