"""The entries of HONE_SINKS."""

import pytest
from pydantic import ValidationError

from hone.spec import destinations
from hone.spec.destinations import Destination
from hone.spec.settings import Settings


def test_a_list_of_destinations_is_read() -> None:
    found = destinations.parse("tensorboard:///runs/tb, mlflow:http://host:5000,wandb:team/project,")
    assert found == [Destination("tensorboard", "/runs/tb"), Destination("mlflow", "http://host:5000"),
                     Destination("wandb", "team/project")]
    assert destinations.parse("") == []


def test_names_hold_no_password() -> None:
    assert destinations.names("mlflow:https://me:secret@host/path,tensorboard:///x") == [
        "mlflow:https://host/path", "tensorboard:/x"]


@pytest.mark.parametrize(("text", "expected"), [
    ("prometheus:9090", "expected tensorboard:///directory; mlflow:"),
    ("tensorboard://runs", "expected tensorboard:///directory"),
    ("wandb:", "expected wandb:project"),
    ("wandb:x,wandb:x", "found 'wandb:x' twice"),
])
def test_what_cannot_be_a_destination_is_refused_by_its_setting(text: str, expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        destinations.parse(text)
    with pytest.raises(ValidationError, match="sinks"):
        Settings(sinks=text)
