"""The resource of a check: how the verdicts of a grader agree with the labels of a set."""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from hone.client.resources import Resource

CheckState = Literal["waiting", "taken", "done", "failed"]


class AgreementCounts(Resource):
    """Verdicts on pairs of one kind: accepted and refused ones, right and wrong, and those without a verdict."""

    tp: int
    fp: int
    fn: int
    tn: int
    invalid: int


class AgreementFigures(Resource):
    """Figures over all pairs with a verdict; null where nothing was counted. `gap` is 1 - fp - fn."""

    gap: float | None = None
    false_accepts: float | None = None
    false_refusals: float | None = None
    key_accepts: float | None = None  # of the kind master_key
    no_verdict: float | None = None
    f1: float | None = None
    precision: float | None = None
    recall: float | None = None
    balanced_accuracy: float | None = None


class GraderCheck(Resource):
    """A check of a grader. `judges` says what answered, by name: an address and a model, or a version."""

    id: str
    state: CheckState
    reason: str | None = None  # why it failed, or is not done yet
    grader: dict[str, Any]
    grader_hash: str
    set: str
    set_hash: str = ""
    judges: dict[str, str] = Field(default_factory=dict)
    run_id: str | None = None  # the run that asked for it
    step: int | None = None  # of that run, that was planned last
    pairs: int = 0
    judged: int = 0  # pairs with a verdict, or with none that could be read
    counts: dict[str, AgreementCounts] = Field(default_factory=dict)  # by kind
    figures: AgreementFigures = Field(default_factory=AgreementFigures)
    copied_from: str | None = None  # id of the equal check whose counts these are
    seconds: float = 0.0
    tokens: dict[str, int] = Field(default_factory=dict)  # that judges used, by model
    created_at: datetime
    ended_at: datetime | None = None

    @property
    def ended(self) -> bool:
        """Whether it is done or has failed."""
        return self.state in ("done", "failed")
