"""The run spec: what a user asks for, typed, with defaults a reader can judge. No heavy imports."""

from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

MOST = 2**31 - 1
"""The largest count: a row's and a message's integer hold no more."""
LONGEST_S = 1e8
"""The longest time that can be asked for, three years: a day that far away is still a date."""


class Strict(BaseModel):
    """Unknown keys are errors, values never change after validation."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Projection = Literal["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
PROJECTIONS: tuple[Projection, ...] = get_args(Projection)


class LoraSpec(Strict):
    """A low-rank adapter: the base stays as it is, and few weights beside it are trained."""

    rank: int = Field(16, ge=1, le=1024, description="Rank of what is added to each projection.")
    alpha: float = Field(32.0, gt=0, description="What is added is scaled by alpha / rank.")
    targets: list[Projection] = Field(
        default_factory=lambda: list(PROJECTIONS), min_length=1, description="Projections that are adapted.")


class ModelSpec(Strict):
    """What is trained."""

    base: str = Field(
        min_length=1, description="Name of a registered model, a version id (ver_…), or a finished run's id (run_…).")
    kind: Literal["full", "lora"] = Field(
        "full", description="full: every weight is trained; lora: an adapter beside the base.")
    lora: LoraSpec | None = Field(None, description="With kind lora: its form.")

    @model_validator(mode="after")
    def _form_of_an_adapter(self) -> "ModelSpec":
        if self.lora is not None and self.kind != "lora":
            raise ValueError("expected kind: lora beside lora, or no lora")
        return self


class TaskSource(Strict):
    """Where tasks come from: an environment by name, or a dataset, or a dataset's rows in an environment."""

    environment: str | None = Field(None, description="Name of an environment (`hone environments`).")
    params: dict[str, Any] = Field(default_factory=dict, description="Parameters of the environment.")
    dataset: str | None = Field(
        None, description="Name of an uploaded dataset; its rows are the tasks, of the environment where one is named "
        "that takes rows.")

    @model_validator(mode="after")
    def _at_least_one(self) -> "TaskSource":
        if self.environment is None and self.dataset is None:
            raise ValueError("expected environment, dataset, or both")
        return self

    @property
    def kind(self) -> str:
        """Name of the environment whose tasks they are."""
        return self.environment or "dataset"


class EvalSpec(Strict):
    """Held-out evaluation: tasks that training never draws."""

    prompts: int = Field(
        256, ge=1, le=65_536, description="Held-out prompts, disjoint from training by content hash.")
    every: int = Field(
        25, ge=1, le=MOST, description="Steps between evaluations; the base and the last step are always evaluated.")
    seed: int = Field(1_000_003, ge=0, lt=2**31, description="Seed of the held-out draw.")
    source: TaskSource | None = Field(None, description="Where held-out tasks come from; default: the training source.")


class SamplingSpec(Strict):
    """How training samples are drawn."""

    max_tokens: int = Field(256, ge=1, le=MOST, description="Completion tokens at most.")
    temperature: float = Field(1.0, ge=1e-3, description="Divides the logits.")
    top_p: float = Field(1.0, gt=0, le=1, description="Nucleus mass kept.")
    top_k: int = Field(0, ge=0, le=MOST, description="Likeliest tokens kept; 0 keeps all.")
    stop: list[str] = Field(default_factory=list, max_length=64, description="Texts that end a completion.")


class BatchSizeSpec(Strict):
    """A schedule of batch sizes over a budget of groups."""

    name: str = Field(description="Name of a schedule, a key of hone.algorithms.schedules.batch_size.BATCH_SIZES.")
    params: dict[str, Any] = Field(default_factory=dict)
    budget: int = Field(ge=1, le=MOST, description="Groups of the whole run (rows when supervised).")


class BatchSpec(Strict):
    """Size of a step."""

    prompts: int = Field(
        32, ge=1, le=65_536, description="Groups per step (rows when supervised); with a schedule its largest.")
    schedule: BatchSizeSpec | None = Field(
        None, description="Sizes that change over the run, which then has as many steps as they make; null: one size.")
    samples: int = Field(8, ge=1, le=4096, description="Rollouts per group.")
    minibatches: int = Field(
        1, ge=1, le=1024, description="Parts into which a step's groups are cut, each with an update of its own.")
    epochs: int = Field(1, ge=1, le=1024, description="Times that each part is used.")


class OptimizerSpec(Strict):
    """AdamW and its schedule."""

    lr: float = Field(1e-5, gt=0, description="Peak learning rate.")
    beta1: float = Field(0.9, ge=0, lt=1)
    beta2: float = Field(0.95, ge=0, lt=1)
    eps: float = Field(1e-8, gt=0)
    weight_decay: float = Field(0.0, ge=0)
    clip_norm: float = Field(1.0, gt=0, description="Gradient norm above which the gradient is scaled down.")
    schedule: str = Field(
        "constant", description="Name of a learning-rate schedule, a key of hone.algorithms.schedules.SCHEDULES.")
    schedule_params: dict[str, float] = Field(default_factory=dict)


class CriticSpec(Strict):
    """The critic, where the advantage reads values: a model of its own that starts with the policy's base."""

    optimizer: OptimizerSpec = Field(
        default_factory=lambda: OptimizerSpec(lr=1e-5), description="Its own AdamW; the rate stays constant.")
    clip: float = Field(
        0.5, gt=0, description="How far a value may move from the one before the step's first update, in rewards.")


class TeacherSpec(Strict):
    """A frozen model that says how likely it finds each sampled token."""

    model: str = Field(
        min_length=1, description="Name of a registered model, a version id (ver_…), or a finished run's id (run_…); "
        "its tokenizer is the policy's.")
    top_k: int = Field(
        0, ge=0, le=64, description="Likeliest ids of the teacher that are kept at each token; 0: none.")


class AskedSpec(Strict):
    """A frozen model that answers what an environment asks of a role."""

    model: str = Field(
        min_length=1, description="Name of a registered model, a version id (ver_…), or a finished run's id (run_…); "
        "it reads with its own tokenizer and chat template.")


class RolesSpec(Strict):
    """Models of a run beside the one that is trained."""

    teacher: TeacherSpec | None = Field(None, description="Read by distillation; null: none.")
    asked: dict[str, AskedSpec] = Field(
        default_factory=dict, description="Who answers for a role that the environment asks (user, say), by its name; "
        "for one that is not named the policy does.")

    @property
    def models(self) -> dict[str, str]:
        """What the model of each role is named as."""
        taught = {"teacher": self.teacher.model} if self.teacher else {}
        return taught | {role: one.model for role, one in self.asked.items()}


class ContextText(Strict):
    """A text that the policy does not see when it acts, and does when it judges its own tokens."""

    text: str = Field(
        min_length=1, max_length=20_000, description="The text; {{ item.NAME }} stands for a field of the task's item.")
    match: str | None = Field(
        None, min_length=1, max_length=200, description="Only for tasks whose first prompt contains this, in whatever "
        "case; null: for all.")


class ContextsSpec(Strict):
    """Other prompts under which a run's completions are scored."""

    privileged: list[ContextText] = Field(
        default_factory=list, max_length=256, description="Put into the system message, those that match one after the "
        "other; the policy that reads them is its own teacher.")
    top_k: int = Field(0, ge=0, le=64, description="Likeliest ids that are kept at each token; 0: none.")


class Slot(Strict):
    """One slot's filling: a method's name and its parameters."""

    name: str
    params: dict[str, Any] = Field(default_factory=dict)


class AlgorithmSpec(Strict):
    """A filling of every slot; a preset's name gives the defaults, keys given here replace them."""

    preset: str = Field("grpo", description="Name of a preset, a key of hone.algorithms.presets.PRESETS.")
    builder: Slot | None = None
    allocation: Slot | None = None
    filter: Slot | None = None
    reward: Slot | None = None
    advantage: Slot | None = None
    modulation: Slot | None = None
    correction: Slot | None = None
    loss: Slot | None = None
    aggregation: Slot | None = None
    regularizers: list[Slot] | None = None
    skip_zero_advantage: bool = Field(
        True, description="Leave groups without gradient out of the forward; the result is the same.")
    truncated: Literal["keep", "drop"] = Field(
        "keep", description="Samples cut off at max_tokens: keep: like any other; drop: masked, in statistics too.")


class StageSpec(Strict):
    """Some steps of a run that differ from the others; what is not said here is the run's.

    A stage begins as a run does, on the weights that the one before leaves: optimizer, reference and what slots keep
    are new, and schedules count its own steps. A stage of given completions samples nothing: one row a prompt.
    """

    until: int = Field(ge=1, le=MOST, description="Last step of the stage.")
    name: str = Field("", max_length=200, description="What it is called where it is told of; default: its preset.")
    task: TaskSource | None = Field(None, description="Tasks to train on, with grader and harness of their own.")
    grader: dict[str, Any] | None = Field(None, description="Grader with a type.")
    harness: Slot | None = Field(None, description="How the policy acts.")
    algorithm: AlgorithmSpec | None = Field(None, description="The whole algorithm; no slot of the run's stays.")
    sampling: SamplingSpec | None = Field(None, description="How training samples are drawn.")
    batch: BatchSpec | None = Field(None, description="Size of a step.")
    lr: float | None = Field(None, gt=0, description="Peak learning rate.")

    @model_validator(mode="before")
    @classmethod
    def _preset_shorthand(cls, value: Any) -> Any:
        return _with_preset(value)


class RunSpec(Strict):
    """A managed run: a model, a task, a way to tell good from bad, and how to learn from it."""

    name: str = Field(min_length=1, max_length=200)
    seed: int = Field(
        0, ge=0, lt=2**31, description="Same seed and spec on the same machine: the same weights, bit for bit.")
    model: ModelSpec
    task: TaskSource = Field(description="Tasks to train on; for supervised runs a dataset with completions.")
    grader: dict[str, Any] | None = Field(None, description="Grader with a type; default: the environment's own.")
    harness: Slot | None = Field(
        None, description="How the policy acts in its environment, a key of hone.harnesses.HARNESSES; default: the "
        "environment's own.")
    algorithm: AlgorithmSpec = Field(default_factory=AlgorithmSpec)
    sampling: SamplingSpec = Field(default_factory=SamplingSpec)
    batch: BatchSpec = Field(default_factory=BatchSpec)
    optimizer: OptimizerSpec = Field(default_factory=OptimizerSpec)
    critic: CriticSpec | None = Field(
        None, description="Default: one where the advantage reads values, else none.")
    roles: RolesSpec = Field(default_factory=RolesSpec)
    contexts: ContextsSpec = Field(default_factory=ContextsSpec)
    steps: Annotated[int, Field(ge=1, le=MOST, description="Training steps.")]
    stages: list[StageSpec] = Field(
        default_factory=list, max_length=256, description="First steps that differ, in order: a warm-up, a curriculum, "
        "a distillation; after the last `until` the run goes on as it says.")
    eval: EvalSpec | None = Field(default_factory=EvalSpec, description="null: no evaluation.")
    max_staleness: int = Field(
        0, ge=0, le=64, description="Versions rollouts may run ahead; 0 is synchronous and deterministic.")
    group_deadline_s: float = Field(
        600, gt=0, le=LONGEST_S,
        description="With max_staleness above 0: seconds after which a group that is not ready is given up, one of an "
        "evaluation too.")
    snapshot_every: int = Field(1, ge=1, le=MOST, description="Steps between optimizer snapshots.")
    keep_versions: int = Field(
        4, ge=1, le=MOST, description="Newest versions whose weights are kept, besides checkpoints.")
    checkpoint_every: int = Field(
        0, ge=0, le=MOST, description="Steps between versions kept for good; 0 keeps the last only.")
    gap_alarm_nats: float = Field(
        0.01, gt=0, description="Mean trainer-sampler gap, nats a token, above which an alarm is raised.")
    deadline_s: float = Field(
        86_400, gt=0, le=LONGEST_S, description="Seconds after which the run fails with its reason.")

    @model_validator(mode="before")
    @classmethod
    def _preset_shorthand(cls, value: Any) -> Any:
        return _with_preset(value)


def _with_preset(value: Any) -> Any:
    if isinstance(value, dict) and isinstance(value.get("algorithm"), str):
        return {**value, "algorithm": {"preset": value["algorithm"]}}
    return value
