"""The two back ends as settings, and nothing but settings: embedded, or RabbitMQ, PostgreSQL and S3 servers."""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

NAMES = ["embedded", "servers"]


@dataclass(frozen=True)
class Backend:
    """Settings of a stack, and the servers behind them by name where they are not the stack's own."""

    name: str
    settings: Mapping[str, object]
    servers: Mapping[str, Any] = field(default_factory=dict)
    bucket: str = ""


def choose(name: str, fixture: Callable[[str], Any]) -> Backend:
    """Return a back end; `fixture` gives a fixture's value by name and skips, with its reason, where it cannot."""
    if name == "embedded":
        return Backend(name, {})
    rabbitmq, s3 = fixture("rabbitmq"), fixture("s3")
    if not s3.durable:
        pytest.skip("the S3 server at hand keeps nothing on disk and checks no signatures (make deps installs one)")
    database = fixture("postgres_server").database(f"hone_{secrets.token_hex(6)}")
    bucket = f"hone-{secrets.token_hex(6)}"
    host = f"v{secrets.token_hex(4)}"
    urls = {"database_url": database.owner_url, "broker_url": rabbitmq.virtual_host(host),
            "objects_url": s3.url(bucket)}
    servers = {"rabbitmq": rabbitmq, "s3": s3, "postgres": fixture("postgres_server"), "virtual_host": host}
    return Backend(name, urls, servers, bucket)
