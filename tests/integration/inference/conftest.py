"""The inference service as a process, with the engine of HONE_ENGINE, a real PostgreSQL and an object directory.

The modules of this folder share one process, and each test has a model of its own: the start of a process that serves
with vLLM takes longer than most modules.
"""

import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from hone.api.inference_pb2_grpc import InferenceServiceStub
from tests.integration.inference.models import Model, make_model
from tests.servers.postgres import Server, TestDatabase
from tests.servers.service import Service, running


@pytest.fixture(scope="package")
def objects_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"file://{tmp_path_factory.mktemp('objects')}"


@pytest.fixture(scope="package")
def postgres(postgres_server: Server) -> TestDatabase:
    return postgres_server.database(f"hone_{secrets.token_hex(6)}")


@pytest.fixture(scope="package")
def variables(postgres: TestDatabase, objects_url: str) -> dict[str, str]:
    return {"HONE_DATABASE_URL": postgres.worker_url, "HONE_OBJECTS_URL": objects_url, "HONE_ENGINE_SLOTS": "32",
            "HONE_ENGINE_MAX_TOKENS": "1024", "HONE_PROCESS_NAME": "inference-0", "HONE_SWEEP_S": "0.3",
            "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="package")
def service(variables: dict[str, str]) -> Iterator[Service]:
    with running("inference", **variables) as service:
        yield service


@pytest.fixture(scope="package")
def engine(service: Service) -> Any:
    return InferenceServiceStub(service.channel)


@pytest.fixture
def model(postgres_owner_url: str, objects_url: str) -> Model:
    return make_model(postgres_owner_url, objects_url)
