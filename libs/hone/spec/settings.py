"""Settings of every service. Each is read from one environment variable; docs/settings.md has the table.

    settings.lease_s             HONE_LEASE_S
    settings.engine.slots        HONE_ENGINE_SLOTS
    settings.engine.kind         HONE_ENGINE
    settings.addresses.gateway   HONE_GATEWAY_ADDRESS

HONE_X_FILE=/path gives the value of HONE_X in a file.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError, ValidationInfo, field_validator

from hone.spec import destinations, memory, variables
from hone.spec.parameters import Strict
from hone.spec.problems import Invalid, Problem, from_validation
from hone.spec.retention_settings import RetentionSettings
from hone.spec.sandbox_settings import SandboxSettings
from hone.spec.value_settings import ValueSettings


class Addresses(Strict):
    """Where each service listens, as host:port."""

    gateway: str = Field("127.0.0.1:8470", description="Address of the gateway.")
    inference: str = Field("127.0.0.1:8471", description="Address of this engine, under which it registers.")
    reward: str = Field("127.0.0.1:8472", description="Address of the reward service.")
    value: str = Field("127.0.0.1:8473", description="Address of the value service.")
    simulation: str = Field("127.0.0.1:8474", description="Address of the simulation service.")
    learner: str = Field("127.0.0.1:8475", description="Address of the Learner service, which each driver serves.")
    console: str = Field("127.0.0.1:8476", description="Address of the console.")
    door: str = Field("127.0.0.1:8477", description="Address of the door, where gRPC clients of other systems call.")
    sandbox: str = Field("127.0.0.1:8478", description="Address of the sandbox, which runs programs.")


class DoorSettings(Strict):
    """The door, which serves gRPC to clients of other systems over TLS (docs/grpc.md)."""

    cert: Path | None = Field(
        None, description="PEM file with the door's certificate, and those between it and its CA. `hone up` makes one.")
    key: Path | None = Field(None, description="PEM file with the key of the door's certificate.")
    calls: int = Field(
        256, ge=1, description="Most calls of one tenant that a door has in progress. More are refused.")
    message_mb: int = Field(
        32, ge=1, le=256, description="Largest request through the door, MiB. A door holds at most eight such of one "
        "tenant at a time.")


class EngineSettings(Strict):
    """The engine, which generates and scores."""

    kind: Literal["native", "vllm"] = Field(
        "native", description="The engine: this project's own, or vLLM (docs/engines.md).")
    dtype: Literal["float32", "bfloat16", "float16"] = Field(
        "float32", description="Arithmetic and weights of an engine; float16 for vLLM only. A two-byte type takes less "
        "memory and, on processors with instructions for it, less time. It widens the trainer-sampler gap: set a run's "
        "gap_alarm_nats.")
    slots: int = Field(256, ge=1, description="Sequences that an engine decodes at a time.")
    guest_share: float = Field(
        0.25, gt=0, le=0.9, description="Share of an engine that requests from outside of runs get, of REST and of the "
        "door, while a run has sampled in the last ten seconds: of the sequences beside the run's, and of the time "
        "when the run has none. Else they get all.")
    threads: int = Field(
        1, ge=1, description="Threads that an engine computes with. More are faster only on cores that are idle.")
    max_tokens: int = Field(
        512, ge=16, description="Positions of a sequence in an engine's cache, prompt included.")
    probe_tolerance: float | None = Field(
        None, gt=0, description="Largest difference, in nats, between the engine's and the trainer's log-probs of the "
        "probe. A version beyond it is not served. Without a value: 0.001 for any log-prob in float32, 0.15 for the "
        "mean in a two-byte type.")
    stall_s: float = Field(
        120.0, gt=0, description="Seconds that one engine step may take. After that the process ends and is started "
        "again.")

    @field_validator("dtype")
    @classmethod
    def _engine_has_the_arithmetic(cls, dtype: str, info: ValidationInfo) -> str:
        if (info.data.get("kind"), dtype) == ("native", "float16"):
            raise ValueError("expected float32 or bfloat16 for the native engine")
        return dtype


class ChatSettings(Strict):
    """Requests to models over REST, beside training (docs/asking.md)."""

    requests: int = Field(
        128, ge=1, description="Requests to models that a gateway has in progress. More are answered with 429.")
    tenant_requests: int = Field(
        32, ge=1, description="Requests of one tenant to models that a gateway has in progress. More are answered with "
        "429, which OpenAI's clients repeat.")


class TrainerSettings(Strict):
    """How a trainer computes."""

    tokens: int = Field(
        4096, ge=1, description="Token budget of one micro-batch. Equal bits need an equal budget.")
    threads: int = Field(
        1, ge=1, description="Micro-batches that a trainer computes side by side. It changes no bit.")
    ranks: int = Field(
        1, ge=1, description="Processes that train a model together, each with a part of the weights (docs/ranks.md). "
        "Equal bits need an equal number of ranks.")
    device: Literal["cpu", "cuda"] = Field(
        "cpu", description="Where a trainer computes: on the CPU, where ranks exchange over gloo, or on a GPU for each "
        "rank, over NCCL.")

    @field_validator("ranks", "device")
    @classmethod
    def _one_way_side_by_side(cls, chosen: int | str, info: ValidationInfo) -> int | str:
        if chosen not in (1, "cpu") and info.data.get("threads", 1) > 1:
            raise ValueError(f"expected 1 rank on cpu beside HONE_TRAINER_THREADS {info.data['threads']}: each rank "
                             "computes one micro-batch at a time")
        return chosen


class VllmSettings(Strict):
    """How vLLM serves; read only if the engine is vLLM."""

    cache_mb: int = Field(
        256, ge=1, description="Keys and values on a CPU, in MiB, of each model, or of each base with its adapters.")
    eager: bool = Field(
        True, description="Run operators one by one. Without it vLLM compiles first, which takes half a minute, and is "
        "about an eighth faster.")
    weight_transfer: Literal["shm", "ipc", "nccl"] = Field(
        "shm", description="How new weights reach the engine's workers: shm is shared memory; ipc is CUDA IPC, or the "
        "tensors themselves if the one worker is the engine's process; nccl needs one GPU more than there are workers.")
    tensor_parallel: int = Field(1, ge=1, description="GPUs that one model is divided among.")
    memory_share: float = Field(
        0.9, gt=0, le=1, description="Share of a GPU's memory that vLLM may take. A CPU has HONE_VLLM_CACHE_MB.")
    sleep_s: float | None = Field(
        None, gt=0, description="Seconds without a request after which the weights of a process's first model move "
        "from the GPU to host memory, until the next request. Without a value they never do.")
    adapters: int = Field(4, ge=1, description="Adapters of one base that vLLM computes with in one step.")
    adapter_rank: Literal[8, 16, 32, 64, 128, 256] = Field(64, description="Largest rank of an adapter.")


class TelemetrySettings(Strict):
    """Where traces and metrics go."""

    otlp_endpoint: str = Field(
        "", description="Base URL of a collector that takes traces by OTLP over HTTP, such as http://127.0.0.1:4318. "
        "Without it nothing is traced.")
    trace_steps: int = Field(
        50, ge=0, description="Which steps of a run are traced besides the first three: each whose number is a "
        "multiple of this. 1 traces all, 0 the first three only.")
    metrics_address: str = Field(
        "", description="host:port at which this process serves its metrics to Prometheus. Without it, nowhere.")


class Settings(Strict):
    """One process's settings. `read` makes them from environment variables."""

    database_url: str = Field("", description="PostgreSQL URL of the workers' role.")
    gateway_database_url: str = Field(
        "", description="PostgreSQL URL of the gateway's role, which sees the rows of one tenant at a time.")
    objects_url: str = Field(
        "", description="Object store: file:///directory, or s3://key:secret@host:port/bucket (s3s:// for TLS), with "
        "?region=NAME and addressing=virtual where a server demands them.")
    broker_url: str = Field(
        "", description="Message broker: amqp://user:password@host// (amqps:// for TLS), or filesystem:///directory.")

    stack_token: str = Field(
        "", description="Secret of this stack, at least 16 letters or digits: every gRPC call between its services "
        "shows it, and a service ends at its start without it. `hone up` makes one.")

    process_name: str = Field(
        "", description="Name of this process under its supervisor, such as trainer-0. A process that is started again "
        "under this name releases the leases of its predecessor.")
    lease_s: float = Field(
        10.0, gt=0, description="Seconds until a lease or claim that is not renewed can be taken by any process.")
    sweep_s: float = Field(1.0, gt=0, description="Seconds between two looks at rows for which no notification came.")
    orphan_grace_s: float = Field(
        86400.0, gt=0, validate_default=True, description="Seconds after which an object that no row names is removed. "
        "It must be longer than any upload, and than two leases.")
    driver_runs: int = Field(
        64, ge=1, description="Runs that a driver moves at a time, each in a thread of its own. Others stay queued.")
    memory_mb: str = Field(
        "", description="Most memory of a process, MiB: for all processes, for kinds of them, or both, such "
        "as 8192,rollout=2048. A process that exceeds it ends and is started again by its supervisor. A group that "
        "does this twice is refused. Without a value it is 90% of a container's limit, if there is one.")
    harnesses: str = Field(
        "", description="Harnesses of your own that runs may name: module:Class with commas between them, of packages "
        "that are installed where gateway, driver and rollout workers run. They are code that these processes trust.")
    claim_groups: int = Field(64, ge=1, description="Groups that a rollout worker claims at a time.")
    grader_processes: int = Field(1, ge=1, description="Processes that run symbolic graders.")
    grades_at_once: int = Field(
        32, ge=1, description="Grades by judges and programs that a reward service has in work.")
    grader_budget_s: float = Field(
        30.0, gt=0, description="Seconds a minute and process that the symbolic grading of one tenant, and of one of "
        "its runs, may take while samples of others are graded. Samples beyond it are graded later.")
    disk_low_gb: float = Field(
        2.0, ge=0, description="GiB left on a disk of this machine below which `hone status` and the health of the "
        "stack say so. Below 0.0625 GiB no more objects are stored in a directory.")
    model_root: Path | None = Field(
        None, description="Directory below which models are registered by path, by every tenant. Without it, any path "
        "that the gateway may read while there is one tenant, and none once there are several.")
    state: Path | None = Field(
        None, description="State directory of the stack on this machine; without it .hone for the command hone, and "
        "none for a process.")
    tenant_requests: int = Field(
        64, ge=1, description="Requests of one tenant that a gateway serves at a time, streams of events and downloads "
        "among them. Others are answered with 429, which the SDK repeats.")
    tenant_uploads: int = Field(
        256, ge=1, description="Uploads in parts of one tenant that are open or refused. More are answered with 409.")
    tenant_checks: int = Field(
        16, ge=1, description="Checks of graders that one tenant has open, those of runs aside. More are answered with "
        "429.")
    tenant_samples: int = Field(
        4096, ge=1, description="Samples of one Grade or GradeStream, and rows of one CheckReferences, through the "
        "door. A call with more is refused.")
    tenant_sessions: int = Field(
        4096, ge=1, description="Sessions that one tenant has, through the door and by play, in one process of the "
        "simulation. More are refused until some are closed.")
    max_body_mb: int = Field(
        64, ge=1, description="Largest upload in one request, MiB; of JSON it is 1 MiB. An upload in parts may be "
        "larger.")
    max_upload_gb: float | None = Field(
        None, gt=0, description="Largest upload in parts, GiB. Without a value: what the object store holds.")
    max_dataset_gb: float = Field(16.0, gt=0, description="Largest file of a dataset, GiB.")
    max_rows: int = Field(10_000_000, ge=1, description="Most rows of a dataset.")
    max_row_kb: int = Field(
        1024, ge=1, le=65_536, description="Largest row of a dataset, KiB. A larger one is a bad row: a rollout worker "
        "and an engine would read it at once.")
    max_row_depth: int = Field(
        32, ge=1, le=50, description="Most levels of objects and lists inside each other in a row. A deeper one is a "
        "bad row.")
    part_mb: int = Field(
        16, ge=5, le=64, description="MiB of a part of an upload. A gateway holds up to four parts in memory. Files of "
        "more than 10,000 parts have larger ones.")
    sinks: str = Field(
        "", description="Where run metrics are copied to, separated by commas: tensorboard:///directory, "
        "mlflow:http://host:port, wandb:project (docs/sinks.md).")
    worlds: Path | None = Field(
        None, description="YAML file with worlds of others that all tenants may play by name: servers, and programs "
        "that the simulation service starts (docs/foreign-worlds.md).")

    addresses: Addresses = Addresses()
    door: DoorSettings = DoorSettings()
    engine: EngineSettings = EngineSettings()
    chat: ChatSettings = ChatSettings()
    trainer: TrainerSettings = TrainerSettings()
    value: ValueSettings = ValueSettings()
    vllm: VllmSettings = VllmSettings()
    sandbox: SandboxSettings = SandboxSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    retention: RetentionSettings = RetentionSettings()

    def most_memory_mb(self, kind: str) -> int | None:
        """Return the MiB that a process of a kind may have; None without a limit."""
        return memory.limit(self.memory_mb, kind)

    @field_validator("stack_token")
    @classmethod
    def _fits_metadata(cls, token: str) -> str:
        if token and not _TOKEN.fullmatch(token):
            raise ValueError("expected at least 16 ASCII characters without spaces")
        return token

    @field_validator("sinks")
    @classmethod
    def _can_be_parsed(cls, sinks: str) -> str:
        destinations.parse(sinks)
        return sinks

    @field_validator("memory_mb")
    @classmethod
    def _memory_by_kind(cls, memory_mb: str) -> str:
        memory.parse(memory_mb)
        return memory_mb

    @field_validator("orphan_grace_s")
    @classmethod
    def _grace_outlasts_leases(cls, grace_s: float, info: ValidationInfo) -> float:
        lease_s = info.data.get("lease_s", 0.0)
        if grace_s <= 2 * lease_s:
            raise ValueError(f"expected more than two leases of HONE_LEASE_S, {lease_s:g} s: a commit may take as long")
        return grace_s


_PATTERNS = {
    "addresses": "HONE_{}_ADDRESS", "door": "HONE_DOOR_{}", "engine": "HONE_ENGINE_{}", "chat": "HONE_CHAT_{}",
    "trainer": "HONE_TRAINER_{}", "value": "HONE_VALUE_{}", "vllm": "HONE_VLLM_{}", "sandbox": "HONE_SANDBOX_{}",
    "telemetry": "HONE_{}", "retention": "HONE_KEEP_{}"}
_SHORTER = {"HONE_ENGINE_KIND": "HONE_ENGINE"}

OTHER_VARIABLES = frozenset({
    "HONE_URL", "HONE_API_KEY", "HONE_OWNER_DATABASE_URL", "HONE_VLLM_PYTHON",  # read by the command hone
    "HONE_STACK",  # marks the processes of an embedded stack
    "HONE_CRASH_DIR",  # arms crash points in tests
    "HONE_LISTEN", "HONE_CONSOLE_LISTEN", "HONE_DOOR_LISTEN", "HONE_PROMETHEUS_LISTEN", "HONE_MODELS", "HONE_EXTRAS",
    "HONE_PACKAGES", "HONE_SERVICES_IMAGE", "HONE_TRAINER_IMAGE", "HONE_INFERENCE_IMAGE", "HONE_TAG",
    "HONE_OBJECTS",  # these three lines are read by docker-compose.yml
})
"""Variables that are no setting of a service."""

_TOKEN = re.compile(r"[!-~]{16,}")
_PASSWORD = re.compile(r"://[^/@]*@")
_IN_TESTS = "HONE_TEST_"


def _places() -> Iterator[tuple[str, tuple[str, ...]]]:
    for name, field in Settings.model_fields.items():
        if name not in _PATTERNS:
            yield f"HONE_{name.upper()}", (name,)
        elif isinstance(field.default, Strict):
            for inner in type(field.default).model_fields:
                variable = _PATTERNS[name].format(inner.upper())
                yield _SHORTER.get(variable, variable), (name, inner)


VARIABLES: Mapping[str, tuple[str, ...]] = dict(_places())
"""The place of each variable in Settings: ("engine", "slots") for HONE_ENGINE_SLOTS."""


IN_FILES = VARIABLES.keys() | {"HONE_URL", "HONE_API_KEY", "HONE_OWNER_DATABASE_URL"}
"""Variables whose value may be in a file that HONE_X_FILE names."""


def read(environment: Mapping[str, str]) -> Settings:
    """Return the settings that the HONE_* variables of `environment` choose.

    Raises Invalid with every variable that is unknown or has a value that does not fit, and for a file that cannot be
    read.
    """
    given = {name: value for name, value in resolved(environment).items()
             if name.startswith("HONE_") and not _is_other(name)}
    if unknown := sorted(given.keys() - VARIABLES.keys()):
        raise Invalid(Problem(name, "a variable that does not exist", _nearest(name)) for name in unknown)
    try:
        return Settings.model_validate(_nested(given))
    except ValidationError as error:
        raise Invalid(_refusal(problem, environment) for problem in from_validation(error, Settings)) from error


def resolved(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment with the value of each HONE_X_FILE under HONE_X. Raises Invalid."""
    return variables.from_files(environment, IN_FILES)


@cache
def load(*needed: str) -> Settings:
    """Return this process's settings. Raises Invalid with every wrong variable, and the first `needed` one without a
    value.
    """
    settings = read(os.environ)
    for name in needed:
        if not getattr(settings, name):
            raise Invalid([Problem(f"HONE_{name.upper()}", "nothing", "a value, see docs/settings.md")])
    return settings


def _refusal(problem: Problem, environment: Mapping[str, str]) -> Problem:
    """Return a problem with a field as one with the variable that was given. It shows neither password nor file."""
    name = next(name for name, place in VARIABLES.items() if ".".join(place) == problem.field)
    given = variables.given_as(name, environment)
    shown = _PASSWORD.sub("://…@", problem.found) if given == name else f"the content of {environment[given]}"
    shown = "a secret" if given == "HONE_STACK_TOKEN" else shown
    return replace(problem, field=given, found=shown)


def _is_other(name: str) -> bool:
    return name in OTHER_VARIABLES or name.startswith(_IN_TESTS)


def _nearest(name: str) -> str:
    near = get_close_matches(name, VARIABLES, n=1)
    return f"{near[0]}, or another variable of docs/settings.md" if near else "a variable of docs/settings.md"


def _nested(given: Mapping[str, str]) -> dict[str, object]:
    values: dict[str, object] = {}
    groups: dict[str, dict[str, str]] = {name: {} for name in _PATTERNS}
    for variable, value in given.items():
        *group, name = VARIABLES[variable]
        (groups[group[0]] if group else values)[name] = value
    return {**values, **groups}
