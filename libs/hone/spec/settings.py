"""Service settings: one object decides where everything runs; no code asks which back end it is on."""

from functools import cache
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator
from pydantic_settings import SettingsConfigDict

from hone.spec import destinations
from hone.spec.vllm_settings import VllmSettings


class Settings(VllmSettings):
    """Read from `HONE_*` variables; `hone up` writes them for the embedded stack."""

    model_config = SettingsConfigDict(env_prefix="HONE_", extra="ignore", frozen=True)

    database_url: str = Field("", description="Postgres URL of the workers' role.")
    gateway_database_url: str = Field(
        "", description="Postgres URL of the gateway's role, which sees one tenant at a time.")
    objects_url: str = Field("", description="file:///directory or s3://key:secret@host:port/bucket (s3s:// for TLS).")
    broker_url: str = Field("", description="kombu URL: amqp://…, or filesystem:///directory for the embedded broker.")
    broker_poll_s: float = Field(
        0.01, gt=0, description="Pause before a broker in a folder is looked at again, seconds, where messages lie "
        "that nobody had time for or the system does not tell of new ones.")

    gateway_address: str = Field("127.0.0.1:8470", description="host:port the gateway listens on.")
    inference_address: str = Field(
        "127.0.0.1:8471", description="host:port this engine listens on and registers under.")
    reward_address: str = Field("127.0.0.1:8472", description="host:port of the reward service.")
    value_address: str = Field("127.0.0.1:8473", description="host:port of the value service.")
    simulation_address: str = Field("127.0.0.1:8474", description="host:port of the simulation service.")
    learner_address: str = Field(
        "127.0.0.1:8475", description="host:port of the Learner service; each driver serves it.")
    console_address: str = Field("127.0.0.1:8476", description="host:port the console listens on.")

    process_name: str = Field(
        "", description="Slot of this process under its supervisor (trainer-0); a restarted one takes its "
        "predecessor's leases over.")
    lease_s: float = Field(10.0, gt=0, description="Seconds after which an unrenewed lease or claim is anybody's.")
    sweep_s: float = Field(1.0, gt=0, description="Seconds between looks at the rows that need no notification.")
    orphan_sweep_s: float = Field(
        60.0, gt=0, description="Seconds between two looks for objects that no row names.")
    orphan_grace_s: float = Field(
        86400.0, gt=0, description="Seconds after which an object that no row names is removed: longer than any "
        "upload, and than two leases.")
    rpc_timeout_s: float = Field(60.0, gt=0, description="Deadline of a gRPC call that names no other, seconds.")
    claim_groups: int = Field(64, ge=1, description="Groups a rollout worker claims at a time.")
    rollout_threads: int = Field(2, ge=1, description="Claims a rollout worker works on at the same time.")

    engine: Literal["native", "vllm"] = Field(
        "native", description="What generates and scores: this project's own engine, or vLLM (docs/engines.md).")
    engine_dtype: Literal["float32", "bfloat16", "float16"] = Field(
        "float32", description="Arithmetic and weights of an engine; float16 is vLLM's alone. Two bytes take less "
        "memory and, with instructions for them, less time, and widen the trainer-sampler gap: set gap_alarm_nats.")
    engine_slots: int = Field(
        256, ge=1, description="Sequences an engine decodes at a time.")
    engine_threads: int = Field(
        1, ge=1, description="Threads an engine computes with; more pay only on cores that are idle.")
    engine_max_tokens: int = Field(
        512, ge=16, description="Positions of a sequence, prompt included, in an engine's cache.")
    probe_tolerance: float = Field(
        1e-3, gt=0, description="Largest difference, nats, of any log-prob of the probe between a float32 engine and "
        "the trainer; a version beyond it is not served.")
    probe_tolerance_half: float = Field(
        0.15, gt=0, description="The like for engines of two-byte floats, of the mean.")
    engine_stall_s: float = Field(
        120.0, gt=0, description="Seconds one engine step may last; after that the process ends and is started again.")
    trainer_tokens: int = Field(
        4096, ge=1, description="Token budget of one micro-batch; part of what makes equal bits.")
    trainer_threads: int = Field(
        1, ge=1, description="Micro-batches a trainer computes side by side; changes no bit.")
    trainer_ranks: int = Field(
        1, ge=1, description="Processes that train a model together, each with its part of the weights; part of what "
        "makes equal bits (docs/ranks.md).")
    trainer_device: Literal["cpu", "cuda"] = Field(
        "cpu", description="Where a trainer computes: cpu, several ranks over gloo, or cuda, a GPU for each rank, over "
        "NCCL.")
    trainer_stall_s: float = Field(
        300.0, gt=0, description="Seconds that one exchange between ranks may take; after that they end and are "
        "started again.")
    grader_processes: int = Field(1, ge=1, description="Processes that run symbolic graders.")
    model_root: Path | None = Field(
        None, description="Models are registered by path only from below this directory; without it, from anywhere "
        "the gateway may read.")
    max_body_mb: int = Field(64, ge=1, description="Largest upload the gateway reads, MiB; of JSON it reads one.")

    otlp_endpoint: str = Field(
        "", description="Base URL of a collector that takes traces by OTLP over HTTP (http://127.0.0.1:4318); without "
        "it nothing is traced.")
    trace_steps: int = Field(
        50, ge=0, description="Of a run's steps the first three are traced and each whose number is a multiple of "
        "this; 1: all, 0: the first three.")
    metrics_address: str = Field(
        "", description="host:port at which this process tells Prometheus its metrics; without it it tells none.")
    sinks: str = Field(
        "", description="Where run metrics are copied to, separated by commas: tensorboard:///directory, "
        "mlflow:http://host:port, wandb:project (docs/sinks.md).")
    owner_database_url: str = Field(
        "", description="Postgres URL of the schema's owner, for `hone prepare` alone (docs/compose.md).")

    crash_dir: Path | None = Field(None, description="Directory that arms crash points; for tests.")

    @field_validator("trainer_ranks", "trainer_device")
    @classmethod
    def _one_way_side_by_side(cls, chosen: int | str, info: ValidationInfo) -> int | str:
        if chosen not in (1, "cpu") and info.data.get("trainer_threads", 1) > 1:
            raise ValueError(f"found {chosen} beside trainer_threads {info.data['trainer_threads']}, expected "
                             "trainer_threads 1: each rank computes one micro-batch at a time")
        return chosen

    @field_validator("sinks")
    @classmethod
    def _can_be_parsed(cls, sinks: str) -> str:
        destinations.parse(sinks)
        return sinks

    @model_validator(mode="after")
    def _engine_has_the_arithmetic(self) -> Self:
        if (self.engine, self.engine_dtype) == ("native", "float16"):
            raise ValueError("engine_dtype: found float16, expected float32 or bfloat16 for the native engine")
        return self

    @model_validator(mode="after")
    def _grace_outlasts_leases(self) -> Self:
        if self.orphan_grace_s <= 2 * self.lease_s:
            raise ValueError(f"orphan_grace_s: found {self.orphan_grace_s:g}, expected more than two leases of "
                             f"lease_s, {self.lease_s:g} s: a commit may be under way for so long")
        return self


@cache
def load() -> Settings:
    """Return this process's settings. Raises pydantic's ValidationError naming a wrong variable."""
    return Settings()
