"""Fixtures for every test. Servers are real; each starts once a session, when the first test needs it.

A test that needs a server that is not installed is skipped, or fails with --require-servers.

postgres_server    the server (tests.servers.postgres.Server)
postgres           owner, worker and gateway URL of a database with tables, for one test module
postgres_url       that database for the workers' role, which sees every tenant
postgres_owner_url that database for its owner
gateway_postgres_url that database for the gateway's role, which sees the tenant that the transaction names
rabbitmq           the broker: .url, .management_url, .look(path), .delete(path)
rabbitmq_url       its AMQP URL
s3                 the S3 server: .endpoint, .access_key, .secret_key, .durable, .url(bucket)
s3_url             URL of a bucket for one test module
shared_directory   an empty directory with a short name that other users can enter; removed after the session
"""

import gc
import os
import secrets
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer

from hone import garbage
from hone.stack import ports
from tests import distribution, outcomes
from tests.servers import postgres as postgres_servers
from tests.servers import rabbitmq as rabbitmq_servers
from tests.servers import s3 as s3_servers

# The same examples on each run, on slow machines too: a failure comes from the change.
settings.register_profile("fixed", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("fixed")

# Thousands of collected tests and a million objects of libraries stay: looking for cycles among them only takes time.
garbage.look_rarely()

# A shell in whose background the tests run has them ignore Ctrl-C. Commands that a test interrupts would inherit that.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Models of tests lie in directories: nothing asks Hugging Face's hub.
os.environ["HF_HUB_OFFLINE"] = "1"

# Stacks of tests embed prompts by trigrams: the sentence encoder's weights would cost each of them memory and seconds.
os.environ.setdefault("HONE_VALUE_EMBEDDER", "hashed")

# Servers in a test's own process and those it starts share this stack's token.
os.environ.setdefault("HONE_STACK_TOKEN", secrets.token_urlsafe(32))

# Each worker draws its ports from a range of its own: a port may be used only seconds after it was found free.
_WORKER, _WORKERS = os.environ.get("PYTEST_XDIST_WORKER", "gw0"), os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")
ports.RANGE = ports.RANGE[int(_WORKER.removeprefix("gw"))::int(_WORKERS)]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--require-servers", action="store_true", help="fail where a server is not installed")
    parser.addoption("--soak", action="store_true", help="run the long version of tests that have one (make soak)")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    distribution.in_order(items)
    if not config.getoption("--soak"):
        long = [item for item in items if item.get_closest_marker("soak")]
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]


def pytest_collection_finish() -> None:
    gc.freeze()


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> distribution.ByUnit:
    return distribution.ByUnit(config, log)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say of each part how its tests ended, and note the seconds of each file for the next run's order."""
    if not hasattr(terminalreporter.config, "workerinput"):
        outcomes.report(terminalreporter)


@pytest.fixture(scope="session")
def need(request: pytest.FixtureRequest) -> Callable[[str | None], None]:
    """Return a function that skips or fails a test if it is given a reason, as the command line says."""

    def end(reason: str | None) -> None:
        if reason and request.config.getoption("--require-servers"):
            pytest.fail(reason)
        if reason:
            pytest.skip(reason)

    return end


@pytest.fixture(scope="session")
def shared_directory() -> Iterator[Path]:
    directory = Path(tempfile.mkdtemp(prefix="hone-"))
    directory.chmod(0o711)
    yield directory
    shutil.rmtree(directory)


@pytest.fixture(scope="session")
def postgres_server(shared_directory: Path) -> Iterator[postgres_servers.Server]:
    home = shared_directory / "postgres"
    home.mkdir(mode=0o711)
    with postgres_servers.running(home) as server:
        yield server


@pytest.fixture(scope="module")
def postgres(postgres_server: postgres_servers.Server) -> postgres_servers.TestDatabase:
    return postgres_server.database(f"hone_{secrets.token_hex(6)}")


@pytest.fixture(scope="module")
def postgres_url(postgres: postgres_servers.TestDatabase) -> str:
    return postgres.worker_url


@pytest.fixture(scope="module")
def postgres_owner_url(postgres: postgres_servers.TestDatabase) -> str:
    return postgres.owner_url


@pytest.fixture(scope="module")
def gateway_postgres_url(postgres: postgres_servers.TestDatabase) -> str:
    return postgres.gateway_url


@pytest.fixture(scope="session")
def rabbitmq(shared_directory: Path, need: Callable[[str | None], None]) -> Iterator[rabbitmq_servers.Server]:
    need(rabbitmq_servers.absent())
    home = shared_directory / "rabbitmq"
    home.mkdir()
    with rabbitmq_servers.running(home) as server:
        yield server


@pytest.fixture(scope="session")
def rabbitmq_url(rabbitmq: rabbitmq_servers.Server) -> str:
    return rabbitmq.url


@pytest.fixture(scope="session")
def s3(shared_directory: Path, need: Callable[[str | None], None]) -> Iterator[s3_servers.Server]:
    need(s3_servers.absent())
    home = shared_directory / "s3"
    home.mkdir()
    with s3_servers.running(home) as server:
        yield server


@pytest.fixture(scope="module")
def s3_url(s3: s3_servers.Server) -> str:
    return s3.url(f"hone-{secrets.token_hex(6)}")
