"""The resources of audiences: simulators of users, and what they say of a group's reaction."""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from hone.client.resources import Resource

FitState = Literal["waiting", "taken", "done", "failed"]


class FitSpending(Resource):
    """Usage of a fit's questions to judges, its simulations included. Cached answers are not counted."""

    answers: int
    tokens: int
    cost: float


class AudienceFit(Resource):
    """A simulator of users, made of a dataset with logged behaviour. `report` says what was found."""

    id: str
    state: FitState
    reason: str | None = None  # why it failed, or is not done yet
    dataset: str
    params: dict[str, Any]
    reasoner: dict[str, Any] | None = None  # who answers in the role simulator; null: nobody, the model stands alone
    report: dict[str, Any] = Field(default_factory=dict)
    spent: FitSpending | None = None  # null: no judge was asked
    created_at: datetime
    ended_at: datetime | None = None

    @property
    def ended(self) -> bool:
        """Whether it is done or has failed."""
        return self.state in ("done", "failed")


class MinedPolicy(Resource):
    """A rule with the rate that behaviour shows where it holds."""

    id: str
    text: str
    record: dict[str, Any]


class MinedPolicies(Resource):
    """The decision policies of a fit, the strongest first within each step."""

    data: list[MinedPolicy]


class MeasuredMerchant(Resource):
    """A merchant that nothing was fitted to: the measured rate of each step, and what is predicted of it.

    `fused` and `reasoned` are None where no reasoner was understood.
    """

    id: str
    merchant: str
    stratum: str
    users: int
    rates: list[float]
    fitted: list[float]
    reasoned: list[float] | None = None
    fused: list[float] | None = None


class StepReaction(Resource):
    """The rate at which a group reaches a step: fused, and of both branches. `weight` is the reasoned rate's."""

    step: str
    rate: float
    reasoned: float | None = None
    fitted: float
    weight: float


class AudienceReaction(Resource):
    """How a group reacts. `gap` is the mean of |reasoned - fitted|, and `alarm` whether its running mean is above 0.15.
    """

    id: str  # of the stored simulation
    steps: list[StepReaction]
    policies: list[str]  # texts of those that hold for some users, the most frequent first
    flags: list[str]
    users: int
    personas: int  # about whom the reasoner gave a readable answer
    gap: float | None = None
    mean_gap: float
    alarm: bool


class AudienceErrors(Resource):
    """Errors over groups and steps; `gse` is the group simulation error in percent."""

    gse: float | None = None
    mae: float
    groups: int


class AudienceEvaluation(Resource):
    """How far simulated rates are from measured ones."""

    all: AudienceErrors
    by_stratum: dict[str, AudienceErrors]
    sign_accuracy: float | None = None  # of differences between groups that differ in their strategy alone
