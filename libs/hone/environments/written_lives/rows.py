"""The life that a row holds."""

from typing import Any

from pydantic import ValidationError

from hone.environments.contract import WrongParams
from hone.remembering.lives import Life, faults
from hone.remembering.written import WrittenLife, life_of
from hone.spec.findings import first

_FIELD = "item.life"


def life_in(given: Any) -> Life:
    """Return the life of a row's field `life`. Raises WrongParams, with the first field that breaks a rule."""
    try:
        written = WrittenLife.model_validate(given)
    except ValidationError as error:
        raise WrongParams(*first(error, _FIELD, model=WrittenLife)) from error
    life = life_of(written)
    if wrong := faults(life, written.sizes):
        raise WrongParams(f"{_FIELD}.{wrong[0].field}", wrong[0].found, wrong[0].expected)
    return life
