"""The embedded PostgreSQL on a full disk: it ends when its log cannot grow, waits for room, and comes back."""

import sys
import time
from pathlib import Path

import psycopg
import pytest

from hone.stack import ports, postgres
from tests.servers import disk
from tests.servers.children import Children

LOG_MB = 40
"""More than PostgreSQL keeps ready of its write-ahead log."""


def test_the_database_waits_for_room(tmp_path: Path) -> None:
    with disk.mounted(300 * 2**20) as small, Children(tmp_path) as children:
        (small / "postgres").mkdir(mode=0o711)
        cluster = postgres.Cluster(small / "postgres", ports.pick(1)[0])
        cluster.create("secret")
        command = [sys.executable, "-m", "hone.stack.postgres", str(cluster.home), str(cluster.port)]
        address = f"127.0.0.1:{cluster.port}"
        children.start("postgres", command)
        children.wait("postgres", lambda: ports.answers(address), 60)
        with _connected(cluster) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 1 AS one")
        disk.fill(small, 0)
        with pytest.raises(psycopg.OperationalError):
            _write_log(cluster)
        children.stop("postgres")
        children.start("postgres", command)
        words = f"no space left in {cluster.home}: PostgreSQL starts once there are 64 MiB"
        children.wait("postgres", lambda: words in children.log("postgres").read_text(), 60)
        disk.make_room(small)
        children.wait("postgres", lambda: ports.answers(address), 60)
        with _connected(cluster) as connection:
            assert connection.execute("SELECT one FROM kept").fetchall() == [(1,)]


def _write_log(cluster: postgres.Cluster) -> None:
    with _connected(cluster) as connection:
        for _ in range(LOG_MB):
            connection.execute("SELECT pg_logical_emit_message(false, 'x', repeat('a', 1000000))")


def _connected(cluster: postgres.Cluster) -> "psycopg.Connection[tuple[object, ...]]":
    """Return a connection; the server listens a little before it has recovered."""
    url, until = cluster.url("postgres", "secret", "postgres"), time.monotonic() + 120
    while True:
        try:
            return psycopg.connect(url, autocommit=True)
        except psycopg.OperationalError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
