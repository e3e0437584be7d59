"""The model of a run spec: what it starts from, and which of its weights are trained."""

from typing import Literal, get_args

from pydantic import Field, model_validator

from hone.spec.parameters import Strict

Projection = Literal["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
PROJECTIONS: tuple[Projection, ...] = get_args(Projection)


class LoraSpec(Strict):
    """A low-rank adapter (LoRA): small matrices beside the base model are trained, and the base does not change."""

    rank: int = Field(16, ge=1, le=1024, description="Rank of the matrices beside each projection.")
    alpha: float = Field(32.0, gt=0, description="The adapter's output is multiplied by alpha / rank.")
    targets: list[Projection] = Field(
        default_factory=lambda: list(PROJECTIONS), min_length=1,
        description="Projections of each layer that get an adapter.")


class ModelSpec(Strict):
    """The model that the run trains."""

    base: str = Field(
        min_length=1, description="Model to start from: name of a registered model, id of a version (ver_…), or id of "
        "a finished run (run_…).")
    kind: Literal["full", "lora"] = Field(
        "full", description="full trains every weight; lora trains an adapter beside the base.")
    lora: LoraSpec | None = Field(None, description="Size of the adapter, with kind lora; null: the default size.")

    @model_validator(mode="after")
    def _form_of_an_adapter(self) -> "ModelSpec":
        if self.lora is not None and self.kind != "lora":
            raise ValueError("expected kind: lora where lora is given")
        return self
