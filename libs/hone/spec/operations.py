"""The typed payload of each kind of operation in a model's operation log."""

import json
from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field, ValidationInfo, field_validator

from hone.spec.parameters import Strict
from hone.spec.run import MOST

Id = Annotated[str, Field(pattern=r"^\w+$", max_length=100)]


class Payload(Strict):
    """The payload of one kind of operation: a JSON object whose values have exactly the declared types."""

    model_config = ConfigDict(strict=True)

    kind: ClassVar[str]

    def text(self) -> str:
        """Return the payload as JSON. Equal payloads have equal texts."""
        return json.dumps(self.model_dump(exclude_none=True), sort_keys=True)


class ForwardBackward(Payload):
    """Accumulate the gradient of one update of a step."""

    kind = "forward_backward"

    run_id: Id
    step: int = Field(ge=1, le=MOST)
    update: int = Field(0, ge=0, le=MOST)


class OptimStep(Payload):
    """Apply the accumulated gradient."""

    kind = "optim_step"

    lr: float = Field(ge=0)
    clip_norm: float = Field(gt=0)


class Save(Payload):
    """Publish the weights as version `number`, and commit the step with the same number."""

    kind = "save"

    run_id: Id
    step: int | None = Field(None, ge=1, le=MOST)
    number: int = Field(ge=0, le=MOST)

    @field_validator("number")
    @classmethod
    def _of_its_step(cls, number: int, known: ValidationInfo) -> int:
        step = known.data.get("step")
        if step is not None and number != step:
            raise ValueError(f"expected {step}, the number of its step")
        return number


class Export(Payload):
    """Write a version as files for stock engines."""

    kind = "export"

    version_id: Id


PAYLOADS: dict[str, type[Payload]] = {
    "forward_backward": ForwardBackward,
    "optim_step": OptimStep,
    "save": Save,
    "export": Export,
}
