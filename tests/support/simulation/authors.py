"""A simulation service whose authors are scripted."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from hone import keys
from hone.api.simulation_pb2_grpc import SimulationServiceStub
from hone.client import Client
from hone.client.package_resources import PackageJob
from hone.stack import ports
from hone.store.database import Database
from tests.integration.gateway.conftest import serve
from tests.servers.author import KEY, ScriptedAuthor, listening
from tests.servers.children import Children
from tests.servers.postgres import TestDatabase
from tests.servers.service import Service, running
from tests.unit.environments.synthesis import apiary


@dataclass(frozen=True)
class Scene:
    """A gateway, the tenant's client, and what starts a simulation service beside the sandbox."""

    hone: Client
    author: ScriptedAuthor
    url: str
    key: str
    owner_url: str
    tenant_id: str
    variables: dict[str, str]

    @contextmanager
    def simulation(self, name: str) -> Iterator[Service]:
        with running("simulation", HONE_PROCESS_NAME=name, **self.variables) as service:
            yield service

    def asked(self, model: str) -> list[str]:
        return [question for name, question in self.author.asked if name == model]


@pytest.fixture(scope="module")
def scene(postgres: TestDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    home = tmp_path_factory.mktemp("authors")
    database = Database(postgres.owner_url, size=2)
    with ExitStack() as stack:
        stack.callback(database.close)
        author = stack.enter_context(listening({}))
        gateway = serve(stack.enter_context(Children(home)), postgres, f"file://{home / 'objects'}", {})
        key = keys.create(database, "author", tenant="writers")
        hone = stack.enter_context(gateway.client(key.secret))
        address = f"127.0.0.1:{ports.pick(1)[0]}"
        stack.enter_context(running("sandbox", HONE_SANDBOX_ADDRESS=address))
        hone.put_secret("writer", KEY)
        yield Scene(hone, author, gateway.url, key.secret, postgres.owner_url, hone.account().tenant_id, {
            "HONE_DATABASE_URL": postgres.worker_url, "HONE_SANDBOX_ADDRESS": address})


@pytest.fixture(scope="module")
def simulation(scene: Scene) -> Iterator[Any]:
    with scene.simulation("simulation-0") as service:
        yield SimulationServiceStub(service.channel)


def named(scene: Scene, model: str, says: Any, **terms: Any) -> str:
    """Have a model say something under the name of a judge, and return the name."""
    name = model.replace(" ", "-")
    scene.author.models[model] = says
    scene.hone.put_judge(name, scene.author.url, model, secret="writer", **{"attempts": 1, **terms})
    return name


def ended(scene: Scene, job_id: str) -> PackageJob:
    for _ in range(600):
        job = scene.hone.package_job(job_id)
        if job.state not in ("waiting", "taken"):
            return job
        time.sleep(0.1)
    raise AssertionError(f"job {job_id} does not end: {job}")


def made(scene: Scene, endpoint: str, tasks: int = 2, **more: Any) -> PackageJob:
    wanted = scene.hone.make_package(f"by-{endpoint}", apiary.HINT, tasks=tasks, author={"endpoint": endpoint}, **more)
    return ended(scene, wanted.id)
