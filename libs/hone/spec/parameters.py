"""The base of every object that users fill in: of a spec, a method, an environment, a harness, a grader, a setting."""

from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    """An object with known keys alone and finite numbers; its values do not change after validation."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
