"""The run spec: the typed fields that a user writes to start a run, each with its default, limits and meaning."""

from typing import Annotated, Any, Literal

from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from hone.spec.model import ModelSpec
from hone.spec.noise import EvalNoise, NoiseSpec
from hone.spec.parameters import Strict, is_empty, is_none
from hone.spec.roles import ContextsSpec, RolesSpec
from hone.text.rules import TextRules

MOST = 2**31 - 1
"""The largest count. Integer columns of the database and of messages hold no larger one."""
LONGEST_S = 1e8
"""The longest time in seconds, about three years. A deadline that far away is still a valid date."""


class SamplingSpec(Strict):
    """How the policy samples completions for training."""

    max_tokens: int = Field(256, ge=1, le=MOST, description="Longest completion of a call, in tokens.")
    temperature: float = Field(1.0, ge=1e-3, description="Divisor of the logits.")
    top_p: float = Field(
        1.0, gt=0, le=1, description="Only the likeliest tokens with this total probability are sampled; 1: all.")
    top_k: int = Field(0, ge=0, le=MOST, description="Only this many likeliest tokens are sampled; 0: all.")
    stop: list[Annotated[str, Field(min_length=1)]] = Field(
        default_factory=list, max_length=64, description="Texts that end a completion.")
    include_stop: bool | None = Field(
        None, description="Keep the stop text that ends a completion, with its ids, which are trained; null: where a "
        "grader or harness reads the text that it closes, such as </answer>.")


class Slot(Strict):
    """A method and its parameters."""

    name: str = Field(description="Name of the method.")
    params: dict[str, Any] = Field(
        default_factory=dict, description="Parameters of the method; a missing parameter has its default.")


class TaskSource(Strict):
    """A source of tasks: an environment that makes its own, a dataset, or a dataset's rows in an environment."""

    environment: str | None = Field(
        None, description="Name of an environment (`hone environments`); null: the dataset's rows are questions.")
    params: dict[str, Any] = Field(default_factory=dict, description="Parameters of the environment.")
    dataset: str | None = Field(
        None, description="Name of an uploaded dataset. Its rows are the tasks; null: the environment makes the "
        "tasks.")
    noise: NoiseSpec | None = Field(
        None, exclude_if=is_none, description="Noise in the results of the environment's tools; null: none.")

    @model_validator(mode="after")
    def _at_least_one(self) -> "TaskSource":
        if self.environment is None and self.dataset is None:
            raise ValueError("expected environment, dataset, or both")
        return self

    @property
    def kind(self) -> str:
        """Name of the environment that plays the tasks."""
        return self.environment or "dataset"


class NamedSource(TaskSource):
    """A source of tasks with a name, and with a grader, a harness and sampling of its own."""

    name: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$", description="Name of the source in metrics and in the matrix.")
    grader: dict[str, Any] | None = Field(
        None, description="JSON of a grader, with its type; null: the stage's, or else the environment's own.")
    harness: Slot | None = Field(
        None, description="Harness; null: the stage's, or else the environment's own.")
    sampling: SamplingSpec | None = Field(
        None, description="How the policy samples; a field that is left out is as in the stage.")


class MixedSource(NamedSource):
    """A source of a mixture."""

    weight: float | None = Field(
        None, gt=0, description="Share of the source among the groups, relative to the other weights; null, in all "
        "sources: by the number of rows that train.")


class EvalSource(NamedSource):
    """A source of held-out tasks; one with a name alone is the task's source of that name."""

    @model_validator(mode="after")
    def _at_least_one(self) -> "EvalSource":
        if self.is_reference and (self.params or self.grader or self.harness or self.sampling):
            raise ValueError("expected environment, dataset or both together with other fields, or a name alone")
        return self

    @property
    def is_reference(self) -> bool:
        """Whether it names a source of the task."""
        return self.environment is None and self.dataset is None


class TaskSpec(TaskSource):
    """Tasks to train on: one source, or a mixture of several."""

    mixture: list[MixedSource] | None = Field(
        None, max_length=64, exclude_if=is_none, description="Sources of tasks. Each group's task is drawn from a "
        "single source, "
        "at random by seed and place; null: the task itself is the source.")
    temperature: float | None = Field(
        None, gt=0, le=1e6, exclude_if=is_none, description="Of a mixture without weights: a source with n rows has "
        "the share n^(1/temperature); 1 is proportional, more is flatter; null: 1.")

    @model_validator(mode="after")
    def _at_least_one(self) -> "TaskSpec":
        own = self.environment is not None or self.dataset is not None
        if self.mixture is None and not own:
            raise ValueError("expected environment, dataset, or both; or mixture")
        if self.mixture is not None and (own or self.params or self.noise):
            raise ValueError("expected mixture alone, or environment and dataset")
        if self.mixture is None and self.temperature is not None:
            raise ValueError("expected temperature only with mixture")
        return self


class EvalSpec(Strict):
    """Evaluation on held-out tasks, which training never draws."""

    prompts: int = Field(
        256, ge=1, le=65_536, description="Number of held-out tasks of a source; all that it has, where these are "
        "fewer.")
    samples: int = Field(
        1, ge=1, le=1024, exclude_if=(1).__eq__, description="Sampled answers to each task, whose mean is its score "
        "(avg@k). The greedy answer comes in addition.")
    every: int = Field(
        25, ge=1, le=MOST, description="Steps between evaluations; the base and the last step are always evaluated.")
    seed: int = Field(1_000_003, ge=0, lt=2**31, description="Seed with which the held-out tasks are drawn.")
    source: TaskSource | None = Field(
        None, description="Source of the held-out tasks; null: the training source, of which about a sixteenth is "
        "held out, and of a dataset at least a row.")
    sources: list[EvalSource] | None = Field(
        None, min_length=1, max_length=64, exclude_if=is_none, description="Several sources of held-out tasks, each "
        "with a score of its own; null: source, or else the task's own sources.")
    noise: EvalNoise | None = Field(
        None, exclude_if=is_none, description="Noise of further series: the held-out tasks are answered under each of "
        "its types, too, with as many samples as `samples`; `share` has no part in it. The clean answers are their "
        "twins. null: no such series. The noise of the task itself is for training alone.")


class BatchSizeSpec(Strict):
    """Batch sizes that change over the run, until a budget of groups is used up."""

    name: str = Field(description="Name of a batch-size schedule, a method of the slot batch_size.")
    params: dict[str, Any] = Field(default_factory=dict, description="Parameters of the schedule.")
    budget: int = Field(ge=1, le=MOST, description="Groups of the whole run (rows, when supervised).")


class BatchSpec(Strict):
    """Size of a step."""

    prompts: int = Field(
        32, ge=1, le=65_536, description="Groups of a step (rows, when supervised); with a schedule: the largest step.")
    schedule: BatchSizeSpec | None = Field(
        None, description="Batch sizes that change over the run and determine its number of steps; null: a constant "
                          "size.")
    samples: int = Field(8, ge=1, le=4096, description="Rollouts of a group (1, when supervised).")
    minibatches: int = Field(
        1, ge=1, le=1024, description="Parts into which a step's groups are cut; each part makes an update.")
    epochs: int = Field(1, ge=1, le=1024, description="Passes over the parts of a step.")


class OptimizerSpec(Strict):
    """The optimizer, AdamW, and the schedule of its learning rate."""

    lr: float = Field(1e-5, gt=0, description="Peak learning rate.")
    beta1: float = Field(0.9, ge=0, lt=1, description="Decay of the running mean of gradients, for each update.")
    beta2: float = Field(
        0.95, ge=0, lt=1, description="Decay of the running mean of squared gradients, for each update.")
    eps: float = Field(1e-8, gt=0, description="Added to the divisor of an update.")
    weight_decay: float = Field(
        0.0, ge=0, description="Share of each weight that an update takes off, times the learning rate.")
    clip_norm: float = Field(1.0, gt=0, description="Gradients with a larger norm are scaled down to this norm.")
    schedule: str = Field(
        "constant", description="Name of a learning-rate schedule, a method of the slot schedule.")
    schedule_params: dict[str, float] = Field(default_factory=dict, description="Parameters of the schedule.")


class CriticSpec(Strict):
    """The critic: a second model that predicts rewards. It starts with the policy's base."""

    optimizer: OptimizerSpec = Field(
        default_factory=lambda: OptimizerSpec(lr=1e-5),
        description="The critic's own AdamW; its learning rate is constant.")
    clip: float = Field(
        0.5, gt=0, description="Largest change of a value during a step that lowers the loss, in units of reward.")


class AlgorithmSpec(Strict):
    """The algorithm: one method for each slot. A preset names them all; a slot given here replaces the preset's."""

    preset: str = Field("grpo", description="Name of a preset (`hone algorithms`).")
    builder: Slot | None = Field(None, description="Source of a step's trajectories; null: the preset's.")
    allocation: Slot | None = Field(None, description="Number of rollouts of each prompt; null: the preset's.")
    sampler: Slot | None = Field(None, description="Choice of the tasks that are asked; null: the preset's.")
    filter: Slot | None = Field(None, description="Choice of groups that count; null: the preset's.")
    reward: Slot | None = Field(None, description="Shaping of rewards; null: the preset's.")
    advantage: Slot | None = Field(None, description="Estimator of advantages; null: the preset's.")
    modulation: Slot | None = Field(None, description="Change of advantages token by token; null: the preset's.")
    correction: Slot | None = Field(
        None, description="Weights against differences of sampler and trainer; null: the preset's.")
    loss: Slot | None = Field(None, description="Policy loss of a token; null: the preset's.")
    aggregation: Slot | None = Field(None, description="Mean over tokens and samples; null: the preset's.")
    regularizers: list[Slot] | None = Field(None, description="Terms added to the loss; null: the preset's.")
    skip_zero_advantage: bool = Field(
        True, description="Leave samples without gradient out of the forward pass; the result is the same.")
    truncated: Literal["keep", "drop"] = Field(
        "keep", description="Samples that were cut off at max_tokens: keep treats them like the rest; drop leaves them "
        "out of statistics and loss.")


class _OrPreset:
    """Tells in a field's JSON schema that the name of a preset is enough."""

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [{"type": "string", "description": "Name of a preset."}, handler(core)]}


class StageSpec(Strict):
    """Some steps of a run with a task, algorithm or size of their own; a null field is as in the run.

    A stage starts like a run, from the weights that the stage before left: optimizer, reference and method states are
    new, and schedules count the stage's own steps. A supervised stage samples nothing and has one row a prompt.
    """

    until: int = Field(ge=1, le=MOST, description="Last step of the stage.")
    name: str = Field("", max_length=200, description="Name of the stage in metrics and messages; default: its preset.")
    task: TaskSpec | None = Field(
        None, description="Tasks to train on; grader and harness of the run do not apply to them.")
    grader: dict[str, Any] | None = Field(
        None, description="JSON of a grader, with its type; null: the run's, or the environment's own where the stage "
                          "has a task.")
    harness: Slot | None = Field(
        None, description="Harness; null: the run's, or the environment's own where the stage has a task.")
    algorithm: Annotated[AlgorithmSpec, _OrPreset()] | None = Field(
        None, description="The whole algorithm, also the slots not given here; null: the run's.")
    sampling: SamplingSpec | None = Field(None, description="How the policy samples; null: as in the run.")
    batch: BatchSpec | None = Field(None, description="Size of a step; null: as in the run.")
    lr: float | None = Field(None, gt=0, description="Peak learning rate; null: the run's.")

    @model_validator(mode="before")
    @classmethod
    def _preset_shorthand(cls, value: Any) -> Any:
        return _with_preset(value)


class JudgeCheckSpec(Strict):
    """When the run's judge is measured on outputs with labels, and which errors stop the run."""

    set: str = Field(
        "short_answers", max_length=300, description="Labelled set: short_answers, or dataset:NAME of an uploaded "
        "dataset, whose rows have output and label.")
    every: int = Field(50, ge=1, le=MOST, description="Steps between checks; a judge that changed is checked at once.")
    least: float = Field(
        0.6, ge=-1, le=1, description="Smallest 1 - fp - fn: the part of the difference that the judge's errors leave "
                                      "between "
        "right and wrong. Below it the run is refused, or stops.")
    most_key_accepts: float = Field(
        0.02, ge=0, le=1, description="Largest share of texts without an answer, of the kind master_key, that the "
        "judge may accept.")
    rise: float = Field(
        0.05, ge=0, le=1, description="Largest rise of the share of wrong outputs that the judge accepts, over the "
        "first check. Above it the run stops.")
    again: float = Field(
        0.1, ge=0, le=1, description="Share of the training samples about which the judge is asked twice, the second "
        "time with another seed. The metric judge/disagreement says how often its verdicts differ.")


class RunSpec(Strict):
    """A run: a model, tasks, a grader, and the algorithm by which the model learns from them."""

    name: str = Field(min_length=1, max_length=200, description="Name of the run, for people.")
    seed: int = Field(
        0, ge=0, lt=2**31, description="Seed of the run; the same seed and spec on the same machine give the same "
        "weights, bit for bit.")
    model: ModelSpec = Field(description="The model to train.")
    task: TaskSpec = Field(description="Tasks to train on; for a supervised run a dataset with completions.")
    grader: dict[str, Any] | None = Field(
        None, description="JSON of a grader, with its type; null: the environment's own.")
    judge_check: JudgeCheckSpec | None = Field(
        None, exclude_if=is_none, description="How the judge that the run's grader asks is measured before the first "
        "step and while the run trains; null: not at all.")
    harness: Slot | None = Field(
        None, description="Harness, which turns observations into prompts and completions into actions; null: the "
        "environment's own.")
    algorithm: Annotated[AlgorithmSpec, _OrPreset()] = Field(
        default_factory=AlgorithmSpec, description="The algorithm; a preset's name alone is enough.")
    chat: TextRules = Field(
        default_factory=TextRules, description="How conversations become text, where the model's files leave it open.")
    sampling: SamplingSpec = Field(default_factory=SamplingSpec, description="How the policy samples for training.")
    batch: BatchSpec = Field(default_factory=BatchSpec, description="Size of a step.")
    optimizer: OptimizerSpec = Field(default_factory=OptimizerSpec, description="The policy's optimizer.")
    critic: CriticSpec | None = Field(
        None, description="The critic; null: the default critic where a method reads values, else none.")
    roles: RolesSpec = Field(default_factory=RolesSpec, description="Models that the run uses and does not train.")
    contexts: ContextsSpec = Field(
        default_factory=ContextsSpec, description="Other prompts under which completions are scored.")
    steps: Annotated[int, Field(
        ge=0, le=MOST, description="Training steps; 0: the base is evaluated, and nothing is trained.")]
    stages: list[StageSpec] = Field(
        default_factory=list, max_length=256, description="Stages in order, such as a warm-up or a curriculum; steps "
        "after the last stage follow the run's own fields.")
    eval: EvalSpec | None = Field(default_factory=EvalSpec, description="Evaluation on held-out tasks; null: none.")
    max_staleness: int = Field(
        0, ge=0, le=64, description="Versions by which the sampling policy may lag behind training; 0: synchronous and "
        "deterministic.")
    group_deadline_s: float = Field(
        600, gt=0, le=LONGEST_S, description="With max_staleness above 0: seconds after which an unfinished group is "
        "dropped, also in an evaluation.")
    snapshot_every: int = Field(
        1, ge=1, le=MOST, description="Steps between snapshots, from which training resumes exactly.")
    keep_versions: int = Field(
        4, ge=1, le=MOST, description="Newest versions whose weights are kept, in addition to checkpoints.")
    checkpoint_every: int = Field(
        0, ge=0, le=MOST, description="Steps between versions that are kept for good; 0: only the last.")
    gap_alarm_nats: float = Field(
        0.01, gt=0, description="Mean trainer-sampler gap above which the run raises an alarm, in nats a token.")
    budget: float | None = Field(
        None, ge=0, le=1e15, allow_inf_nan=False, description="Money that the run may cost, by `hone prices`. When it "
        "is used up the run pauses, until the budget is raised (`hone runs budget`); null: no bound.")
    deadline_s: float = Field(
        86_400, gt=0, le=LONGEST_S, description="Seconds after which an unfinished run fails.")
    packages: dict[str, str] = Field(
        {}, exclude_if=is_empty, description="Installed packages, with their versions, whose environments, graders, "
        "harnesses or methods the run names. Hone fills it in; a process without one of them says so.")

    @model_validator(mode="before")
    @classmethod
    def _preset_shorthand(cls, value: Any) -> Any:
        return _with_preset(value)


def _with_preset(value: Any) -> Any:
    """Return a spec whose algorithm is an object, also where it was a preset's name."""
    if isinstance(value, dict) and isinstance(value.get("algorithm"), str):
        return {**value, "algorithm": {"preset": value["algorithm"]}}
    return value
