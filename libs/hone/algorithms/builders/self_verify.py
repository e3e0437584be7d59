"""Self-verify, arXiv 2602.07594: judging the run's own answers becomes a second task, with steps of its own.

A reconstruction: the number of batches that are sampled until items are balanced, where only verdicts are trained.
"""

from typing import Any, Literal

from pydantic import Field

from hone.algorithms.builders.verification_items import ItemParams
from hone.algorithms.schedules.phases import PhaseParams
from hone.graders.verdict import Wording


class SelfVerify(PhaseParams, ItemParams, Wording):
    """The order of the two tasks, the judge's prompt, and the form of a verdict.

    Every update is a step. `interval` and `init_steps` count batches of answers; a run's `steps` count all updates.
    """

    mode: Literal["verify_alter", "self_verify", "verify_init"] = Field(
        "verify_alter", description="Verification updates between the others; only those; or first those, then none.")
    max_batches: int = Field(
        8, ge=1, le=1000, description="Most batches of answers that are sampled for a step of mode self_verify, until "
        "some answers are right and some wrong.")

    def grader(self) -> dict[str, Any]:
        """Return the JSON of the grader of verdicts."""
        return {"type": "verdict", **{name: getattr(self, name) for name in Wording.model_fields}}
