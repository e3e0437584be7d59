"""Self-verify as a builder, arXiv 2602.07594: a run's own answers become a second task, which shares its steps.

Reconstructed: how often a batch without balanced items is followed by another, where nothing else is trained.
"""

from typing import Any, Literal

from pydantic import Field

from hone.algorithms.builders.verification_items import ItemParams
from hone.algorithms.schedules.phases import PhaseParams
from hone.graders.verdict import Wording


class SelfVerify(PhaseParams, ItemParams, Wording):
    """When which task is trained, what a judge is shown, how its verdict is read.

    Every update is a step: `interval` and `init_steps` count batches of answers, a run's `steps` both kinds of updates.
    """

    mode: Literal["verify_alter", "self_verify", "verify_init"] = Field(
        "verify_alter", description="Verification updates between the others; only such; or first such, then none.")
    max_batches: int = Field(
        8, ge=1, le=1000, description="Batches of answers that are sampled for a step of self_verify at most, until "
        "some are right and some wrong.")

    def grader(self) -> dict[str, Any]:
        """Return the grader of verdicts, as a group stores it."""
        return {"type": "verdict", **{name: getattr(self, name) for name in Wording.model_fields}}
