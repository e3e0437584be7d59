"""The two back ends of a stack: embedded, or servers (RabbitMQ, PostgreSQL, S3). Only settings choose between them."""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

NAMES = ["embedded", "servers"]


@dataclass(frozen=True)
class Backend:
    """Settings of a stack, and the servers that they name. An embedded stack has no servers here."""

    name: str
    settings: Mapping[str, object]
    servers: Mapping[str, Any] = field(default_factory=dict)
    bucket: str = ""


EMBEDDED = Backend("embedded", {})


def choose(name: str, fixture: Callable[[str], Any]) -> Backend:
    """Return a back end. `fixture` returns the value of a fixture by its name; it skips the test without the server."""
    if name == "embedded":
        return EMBEDDED
    rabbitmq, s3 = fixture("rabbitmq"), fixture("s3")
    if not s3.durable:
        pytest.skip("moto keeps nothing on disk and checks no signatures (make deps installs Ceph)")
    database = fixture("postgres_server").database(f"hone_{secrets.token_hex(6)}")
    bucket = f"hone-{secrets.token_hex(6)}"
    host = f"v{secrets.token_hex(4)}"
    urls = {"database_url": database.owner_url, "broker_url": rabbitmq.virtual_host(host),
            "objects_url": s3.url(bucket)}
    servers = {"rabbitmq": rabbitmq, "s3": s3, "postgres": fixture("postgres_server"), "virtual_host": host}
    return Backend(name, urls, servers, bucket)
