"""A group's order: the driver writes it once, and a rollout worker gets it whole with its claim."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from hone.text.rules import TextRules


class Role(BaseModel):
    """A frozen model of a run, beside the policy."""

    model_config = ConfigDict(frozen=True)

    model_id: str
    max_positions: int | None = None  # most tokens that it can read; None: not recorded
    top_k: int = 0  # of a teacher: how many of its likeliest ids are stored at each token


class Voice(BaseModel):
    """An endpoint that speaks for a role of the environment."""

    model_config = ConfigDict(frozen=True)

    endpoint: str  # its name among the judges of the tenant
    max_tokens: int
    temperature: float


class PrivilegedText(BaseModel):
    """A text that the policy does not see when it acts, and reads when its own tokens are scored a second time."""

    model_config = ConfigDict(frozen=True)

    text: str  # {{ item.NAME }} stands for a field of the task's item
    match: str | None = None  # only where the first prompt, or a step's last message, contains this; None: everywhere
    at: Literal["task", "step"] = "task"  # in the system message, or at the last message of each call that it matches


class Waves(BaseModel):
    """When further samples of a group follow: as the rewards of those before contradict a prediction."""

    model_config = ConfigDict(frozen=True)

    predicted: float  # chance of success, from 0 to 1, known before the first sample
    most: int  # samples in all
    cost: float  # of a sample, as a squared error of rewards from -1 to 1
    mode: Literal["one", "jump"]
    bounds: tuple[float, float]  # smallest and largest score


class Budget(BaseModel):
    """Expectation of a group's task before it was sampled, and how the number of its samples was decided."""

    model_config = ConfigDict(frozen=True)

    predicted: float | None = None  # chance of success that the value service predicted
    reliable: bool = False  # whether the prediction was used
    doubt: str = ""  # why not
    predictor: str = ""  # version of what predicted
    context_digest: str = ""  # of the outcomes that it was predicted from
    chance: float | None = None  # that the allocation took for this task; None: it knew none
    figures: dict[str, float] = {}  # of the allocation of this group and of those that were requested with it


class Order(BaseModel):
    """How to make the samples of one group. Nothing in it changes after the driver's insert."""

    model_config = ConfigDict(frozen=True)

    purpose: str  # train, eval or probe
    request_no: int  # counts the run's groups of this purpose
    step: int  # of the run; an evaluation's: the last committed one
    n: int  # samples; with `waves` those of the first wave
    task: dict[str, Any]  # {environment, params, seed, item}
    task_hash: str
    source: str = ""  # name of the task's source; "": the task is no mixture
    seed: int  # of the run
    sampling: dict[str, Any]  # fields of hone.spec.run.SamplingSpec
    grader: dict[str, Any] | None = None  # None: the environment's own
    deviation_judge: str | None = None  # that says beside the grader whether noise led the policy away; None: nobody
    harness: str = "chat"
    harness_params: dict[str, Any] = {}
    collections: dict[str, int] = {}  # version of each collection that the harness reads; 0: it has none yet
    packages: dict[str, str] = {}  # of other authors, with versions, whose members the run names
    chat: TextRules = TextRules()  # how conversations become text
    model_id: str  # the policy
    max_positions: int | None = None  # most tokens that the policy can read; None: not recorded
    version_id: str | None  # exactly this version samples; None: the newest one
    waves: Waves | None = None  # None: there is one wave
    budget: Budget | None = None  # None: the number of samples is the spec's
    sampled: dict[str, float] | None = None  # what a manifest says of the task, by name; None: it was drawn without one
    roles: dict[str, Role] = {}  # by name; who is not named is the policy
    voices: dict[str, Voice] = {}  # by the role that they speak for
    privileged: list[PrivilegedText] = []
    traceparent: str | None = None  # W3C trace context of the step that it was requested for

    @property
    def request(self) -> str:
        """Return the name of the group's sampling noise: it is equal for every attempt."""
        return f"{self.purpose}/{self.request_no}"

    @property
    def teacher(self) -> Role | None:
        """Return the model that scores the policy's tokens."""
        return self.roles.get("teacher")

    @property
    def asked(self) -> dict[str, Role]:
        """Return the models that answer what the environment asks, by role."""
        return {name: role for name, role in self.roles.items() if name != "teacher"}
