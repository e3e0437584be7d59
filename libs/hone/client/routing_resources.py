"""The resources of routes: what answers under a name of its own, what was decided, and how good it was."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

from hone.client.resources import Resource

PREFIX = "hone/"
"""Prefix of a model's name that names a route."""
AUTO = "auto"
"""The route that every tenant has: the newest models and runs, until it is set."""
EXPLORATION = 0.05
"""Share of the decisions that a route draws at random, where it says nothing else."""

_ModelName = Annotated[str, StringConstraints(min_length=1, max_length=300, pattern=r"^[^\x00]*$")]


def _no_route(name: str) -> str:
    if name.startswith(PREFIX):
        raise ValueError("expected a model, not another route")
    return name


class RouteCandidate(BaseModel):
    """A model that may answer, by any name that chat completions know, and what it costs."""

    model_config = ConfigDict(extra="forbid")

    model: Annotated[_ModelName, AfterValidator(_no_route)]
    cost: float | None = Field(
        None, ge=0, allow_inf_nan=False, description="In any unit, the same for all candidates; null for all: the "
        "number of parameters, in millions.")


class RouteObjective(BaseModel):
    """Objective of a route: at most one of the three; without any a weight of 0.5."""

    model_config = ConfigDict(extra="forbid")

    weight: float | None = Field(None, ge=0, le=1, description="Of predicted success; the rest is that of a low cost.")
    target: float | None = Field(
        None, ge=0, le=1, description="The cheapest model with at least this predicted success answers.")
    max_cost: float | None = Field(
        None, ge=0, allow_inf_nan=False, description="Largest cost: of the models within it the highest predicted "
        "success answers.")

    @model_validator(mode="after")
    def _one(self) -> Self:
        given = [name for name in ("weight", "target", "max_cost") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"expected only one of weight, target and max_cost, found {' and '.join(given)}")
        return self

    @property
    def chosen(self) -> dict[str, float]:
        """The field that is set, with its value; a weight of 0.5 if there is none."""
        return self.model_dump(include={"weight", "target", "max_cost"}, exclude_none=True) or {"weight": 0.5}


class WantedRoute(RouteObjective):
    """A route that is to be made or changed."""

    candidates: list[RouteCandidate] = Field(min_length=1, max_length=32)
    exploration: float = Field(
        EXPLORATION, ge=0, le=1, description="Share of the answers that are drawn among all candidates, so that "
        "outcomes of each come in.")

    @field_validator("candidates")
    @classmethod
    def _alike(cls, given: list[RouteCandidate]) -> list[RouteCandidate]:
        names = [one.model for one in given]
        if twice := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"expected each model once, not {min(twice)} twice")
        if len({one.cost is None for one in given}) > 1:
            raise ValueError("expected a cost of all or of none: they are compared")
        return given


class RouteOptions(RouteObjective):
    """Changes of a chat completion to its route."""

    exploration: float | None = Field(None, ge=0, le=1)


class CostedModel(Resource):
    """A candidate with its cost."""

    model: str
    cost: float


class Route(Resource):
    """A route. Clients ask it as the model `hone/NAME`. `default`: nobody has set it."""

    name: str
    candidates: Sequence[CostedModel]
    objective: dict[str, float]
    exploration: float
    default: bool = False
    created_at: datetime | None = None
    updated_at: datetime | None = None


class Considered(Resource):
    """A candidate in a decision: its predicted success `p` and its score, or why it was `left_out`.

    `rows` counts the prompts whose outcomes `p` comes from; `doubt` says why it is no prediction of V0.
    """

    model: str
    cost: float | None = None
    subject_id: str | None = None
    p: float | None = None
    score: float | None = None
    rows: int = 0
    doubt: str = ""
    left_out: str = ""


class Decision(Resource):
    """Candidate that answered, and the reason. `id` is the chat completion's.

    `propensity` is the chance with which it was drawn. `score` and `comment` are what a client said of the answer.
    Without `completion_tokens` the answer has not ended, or it broke off.
    """

    id: str
    route: str
    prompt: str
    model: str
    subject_id: str
    objective: dict[str, float]
    considered: Sequence[Considered]
    reason: str
    explored: bool
    propensity: float
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    created_at: datetime
    score: float | None = None
    comment: str | None = None


class WantedFeedback(BaseModel):
    """How good an answer of a route was."""

    model_config = ConfigDict(extra="forbid")

    id: Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[^\x00]*$")] = Field(
        description="Id of the chat completion.")
    score: float = Field(ge=0, le=1, allow_inf_nan=False, description="From 0, a failure, to 1.")
    comment: Annotated[str, StringConstraints(max_length=2000, pattern=r"^[^\x00]*$")] = ""


class Feedback(Resource):
    """Feedback of a client about an answer; the last feedback counts."""

    id: str
    score: float
    comment: str
    updated_at: datetime


class RoutePoint(Resource):
    """Result of a way to choose: mean cost, as a share of the most expensive candidate's, and mean outcome."""

    setting: str
    cost: float
    quality: float


class CandidateFindings(Resource):
    """A candidate over the compared prompts: its mean outcome, and how well that was predicted.

    `rows` counts all its prompts with an outcome; `auc` is null where it succeeds or fails on all.
    """

    model: str
    cost: float
    rows: int
    quality: float
    predicted: float
    auc: float | None = None
    calibration_error: float


class RouteEvaluation(Resource):
    """The curves of cost and quality over the prompts that every candidate has a recorded outcome of.

    Each is predicted from outcomes on other prompts. `half` is the quality at half the cost of always asking the most
    expensive candidate. `curves` and `half` have `router`, `random`, `length` and `oracle`.
    """

    route: str
    prompts: int
    candidates: Sequence[CandidateFindings]
    curves: dict[str, Sequence[RoutePoint]]
    half: dict[str, float | None]
    largest: float
    head_version: str
