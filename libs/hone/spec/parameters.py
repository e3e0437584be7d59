"""The base of every object that users fill in: of a spec, a method, an environment, a harness, a grader, a setting."""

from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    """An object with known keys alone and finite numbers; its values do not change after validation."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def is_empty(value: dict[str, str]) -> bool:
    """Return whether a mapping is left out of a spec's JSON: most runs have nothing in it."""
    return not value


def is_none(value: object) -> bool:
    """Return whether a field is left out of a spec's JSON: one that is newer than the specs of stored runs."""
    return value is None
