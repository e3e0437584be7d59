"""Specs of roles, and how the gateway refuses them."""

from typing import Any

import pytest

from hone.client import Client
from hone.client import errors as client_errors
from hone.models import toy

SMALL: dict[str, Any] = {"hidden": 16, "layers": 1, "heads": 2, "head_dim": 8, "ffn": 32}
STRANGE = [*toy.SYMBOLS[:-1], "!"]


def refusal(hone: Client, spec: dict[str, Any]) -> list[str]:
    with pytest.raises(client_errors.Refused) as refused:
        hone.create_run(spec)
    return [str(problem) for problem in refused.value.problems]
