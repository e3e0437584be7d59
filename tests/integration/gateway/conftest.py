"""A real gateway process on a real database, and two tenants of each test module that share it.

All modules share a gateway and a database, unless one is marked `alone`: it looks at rows of all tenants, kills its
gateway, or is the stack's operator.

gateway    the process: .url, .pid, .objects (its store), .client(key), .http(key)
tenant     admin key of the module's first tenant, who is the operator where the module is alone
other_tenant   admin key of the second
hone       SDK client of the first tenant; other: of the second
seeded     a run of the first tenant with steps, versions, metrics, events, trajectories, usage
"""

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from hone import keys
from hone.client import Client
from hone.client.transport import ATTEMPTS
from hone.models import toy
from hone.stack import ports
from hone.store import objects
from hone.store.database import Database
from hone.store.objects import Objects
from tests.contract import contract  # noqa: F401  # for every test of this folder
from tests.integration.gateway import seed
from tests.integration.gateway.seed import Seeded
from tests.servers.children import Children
from tests.servers.postgres import Server, TestDatabase
from tests.servers.service import running

MAX_BODY_MB = 4
MAX_UPLOADS = 40
ABSENT = ("REWARD", "VALUE", "SIMULATION", "LEARNER", "INFERENCE", "SANDBOX")


@dataclass(frozen=True)
class Gateway:
    """A running gateway."""

    url: str
    pid: int
    objects: Objects
    log: Path

    def client(self, key: str, attempts: int = ATTEMPTS) -> Client:
        return Client(self.url, key, timeout_s=60, attempts=attempts)

    def http(self, key: str = "") -> httpx.Client:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60)


def alone(request: pytest.FixtureRequest) -> bool:
    """Return whether a test module has processes and a database of its own."""
    return request.node.get_closest_marker("alone") is not None


@pytest.fixture(scope="session")
def sandbox_address() -> str:
    """Where gateways look for a sandbox: nobody is there, unless the module uses `sandbox`."""
    return f"127.0.0.1:{ports.pick(1)[0]}"


@pytest.fixture(scope="module")
def sandbox(sandbox_address: str) -> Iterator[None]:
    with running("sandbox", HONE_SANDBOX_ADDRESS=sandbox_address, HONE_SANDBOX_PLACES="2"):
        yield


@pytest.fixture(scope="session")
def shared_postgres(postgres_server: Server) -> TestDatabase:
    """The database of all modules that are not alone, and its operator."""
    made = postgres_server.database(f"hone_{secrets.token_hex(6)}")
    with closing(Database(made.owner_url, size=1)) as database:
        keys.create(database, "operator's key")
    return made


@pytest.fixture(scope="module")
def postgres(request: pytest.FixtureRequest, postgres_server: Server) -> TestDatabase:
    if alone(request):
        return postgres_server.database(f"hone_{secrets.token_hex(6)}")
    shared: TestDatabase = request.getfixturevalue("shared_postgres")
    return shared


@pytest.fixture(scope="session")
def gateway_settings(tmp_path_factory: pytest.TempPathFactory, sandbox_address: str) -> dict[str, str]:
    return {"HONE_MODEL_ROOT": str(tmp_path_factory.getbasetemp()), "HONE_MAX_BODY_MB": str(MAX_BODY_MB),
            "HONE_TENANT_UPLOADS": str(MAX_UPLOADS), "HONE_SANDBOX_ADDRESS": sandbox_address}


@pytest.fixture(scope="session")
def shared_gateway(
    shared_postgres: TestDatabase, tmp_path_factory: pytest.TempPathFactory, gateway_settings: dict[str, str],
) -> Iterator[Gateway]:
    with Children(tmp_path_factory.mktemp("gateway")) as children:
        yield serve(children, shared_postgres, f"file://{children.directory / 'objects'}", gateway_settings)


@pytest.fixture(scope="module")
def gateway(
    request: pytest.FixtureRequest, postgres: TestDatabase, tmp_path_factory: pytest.TempPathFactory,
    gateway_settings: dict[str, str],
) -> Iterator[Gateway]:
    if not alone(request):
        yield request.getfixturevalue("shared_gateway")
        return
    with Children(tmp_path_factory.mktemp("gateway")) as children:
        yield serve(children, postgres, f"file://{children.directory / 'objects'}", gateway_settings)


def serve(
    children: Children, postgres: TestDatabase, objects_url: str, more: dict[str, str], port: int | None = None,
) -> Gateway:
    """Start a gateway, the child called "gateway", and wait until it answers; `more` are settings."""
    (free, nowhere), broker = ports.pick(2), children.directory / "broker"
    port = port or free
    settings = {
        "HONE_GATEWAY_DATABASE_URL": postgres.gateway_url, "HONE_OBJECTS_URL": objects_url,
        "HONE_BROKER_URL": f"filesystem://{broker}", "HONE_GATEWAY_ADDRESS": f"127.0.0.1:{port}",
        **{f"HONE_{name}_ADDRESS": f"127.0.0.1:{nowhere}" for name in ABSENT}, "HONE_SWEEP_S": "0.05", **more}
    broker.mkdir()
    child = children.start("gateway", [sys.executable, "-m", "services.gateway"], env={**os.environ, **settings})
    children.wait("gateway", lambda: ports.answers(f"127.0.0.1:{port}"), timeout_s=120)
    return Gateway(f"http://127.0.0.1:{port}", child.pid, objects.connect(objects_url), children.log("gateway"))


@pytest.fixture(scope="module")
def database(postgres: TestDatabase) -> Iterator[Database]:
    database = Database(postgres.owner_url, size=2)
    yield database
    database.close()


@pytest.fixture(scope="module")
def tenant(database: Database, tenant_name: str) -> str:
    return keys.create(database, "first key", tenant_name).secret


@pytest.fixture(scope="module")
def tenant_name(request: pytest.FixtureRequest) -> str:
    """Return the name of the module's first tenant."""
    return keys.DEFAULT_TENANT if alone(request) else request.path.stem.removeprefix("test_")


@pytest.fixture(scope="module")
def other_tenant(database: Database, tenant: str, tenant_name: str) -> str:
    assert tenant, "the first tenant of a database is its operator"
    name = "others" if tenant_name == keys.DEFAULT_TENANT else f"{tenant_name}-others"
    return keys.create(database, "second key", name).secret


@pytest.fixture(scope="module")
def hone(gateway: Gateway, tenant: str) -> Iterator[Client]:
    with gateway.client(tenant) as client:
        yield client


@pytest.fixture(scope="module")
def other(gateway: Gateway, other_tenant: str) -> Iterator[Client]:
    with gateway.client(other_tenant) as client:
        yield client


@pytest.fixture(scope="module")
def toy_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy.write(tmp_path_factory.mktemp("toy"), hidden=16, layers=1, heads=2, head_dim=8, ffn=32)


@pytest.fixture(scope="module")
def base(hone: Client, toy_directory: Path) -> str:
    return hone.register_model("toy", toy_directory).name


@pytest.fixture(scope="module")
def seeded(hone: Client, base: str, postgres: TestDatabase, gateway: Gateway) -> Seeded:
    run = hone.create_run(seed.spec(base))
    return seed.history(postgres.owner_url, gateway.objects, run)
