"""The entries of HONE_SINKS."""

import pytest

from hone.spec import destinations, settings
from hone.spec.destinations import Destination
from hone.spec.problems import Invalid


def test_a_list_of_destinations_is_read() -> None:
    found = destinations.parse("tensorboard:///runs/tb, mlflow:http://host:5000,wandb:team/project,")
    assert found == [Destination("tensorboard", "/runs/tb"), Destination("mlflow", "http://host:5000"),
                     Destination("wandb", "team/project")]
    assert destinations.parse("") == []


@pytest.mark.parametrize("uri", [
    "http://localhost:5000", "https://me:secret@host/path", "sqlite:///runs.db", "sqlite:////var/runs.db",
    "mysql+pymysql://me@host/runs", "postgresql://host/runs", "databricks", "databricks://profile"])
def test_a_tracking_address_of_mlflow_is_accepted(uri: str) -> None:
    assert destinations.parse(f"mlflow:{uri}") == [Destination("mlflow", uri)]


def test_names_hold_no_password() -> None:
    assert destinations.names("mlflow:https://me:secret@host/path,tensorboard:///x") == [
        "mlflow:https://host/path", "tensorboard:/x"]


@pytest.mark.parametrize(("text", "expected"), [
    ("prometheus:9090", "expected tensorboard:///directory; mlflow:"),
    ("tensorboard://runs", "expected tensorboard:///directory"),
    ("wandb:", "expected wandb:project"),
    ("mlflow:", "expected mlflow:http://host:port"),
    ("mlflow:ftp://host", "found 'mlflow:ftp://host', expected mlflow:http://host:port"),
    ("mlflow:runs", "expected mlflow:http://host:port"),
    ("mlflow:http:///path", "expected mlflow:http://host:port"),
    ("mlflow:sqlite://", "expected mlflow:http://host:port"),
    ("mlflow:ftp://me:secret@host", "found 'mlflow:ftp://host'"),
    ("wandb:x,wandb:x", "found 'wandb:x' twice"),
])
def test_a_wrong_destination_is_refused_by_its_variable(text: str, expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        destinations.parse(text)
    with pytest.raises(Invalid, match="HONE_SINKS: ") as refused:
        settings.read({"HONE_SINKS": text})
    assert "secret" not in str(refused.value)
