"""A PostgreSQL server for tests, from the binaries that the embedded stack uses; fsync is off."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from psycopg import Connection, OperationalError, sql

from hone.stack import ports
from hone.stack.postgres import SUPERUSER, Cluster, as_account, unprivileged
from hone.store import schema
from tests.servers.children import Children

PASSWORD = "for-tests"
_TEMPLATE = "hone_template"


@dataclass(frozen=True)
class Server:
    """A running server. Each test module gets a database of its own."""

    cluster: Cluster
    children: Children

    def database(self, name: str, template: str = _TEMPLATE) -> "TestDatabase":
        """Create a database with its tables, or with all that is in another one, to which nobody is connected."""
        self._execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template)))
        users = (SUPERUSER, "test_worker", "test_gateway")
        return TestDatabase(*(self.cluster.url(user, PASSWORD, name) for user in users))

    def empty(self, name: str) -> str:
        """Create a database without tables and return its owner's URL."""
        self._execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return self.cluster.url(SUPERUSER, PASSWORD, name)

    def prepare(self) -> None:
        """Create the template that each database is copied from, and one login for each of the two roles.

        Passwords are set under the server's own options: hashed once, not 4,096 times, for each of many connections.
        """
        self._execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(sql.Identifier(SUPERUSER), sql.Literal(PASSWORD)))
        self._execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(_TEMPLATE)))
        schema.ensure(self.cluster.url(SUPERUSER, PASSWORD, _TEMPLATE))
        for role in ("worker", "gateway"):
            self._execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {} IN ROLE {}").format(
                sql.Identifier(f"test_{role}"), sql.Literal(PASSWORD), sql.Identifier(f"hone_{role}")))

    def start(self) -> None:
        """Start the server, for the first time or after `kill`."""
        command = self.cluster.command(fsync="off", full_page_writes="off", scram_iterations="1")
        self.children.start("postgres", command, cwd="/", **as_account(unprivileged()))
        self.children.wait("postgres", self._accepts, timeout_s=120)

    def kill(self) -> None:
        """Kill the server without a chance to clean up; its files stay."""
        self.children.stop("postgres", signal.SIGKILL)
        self.cluster.clear()

    def _accepts(self) -> bool:
        try:
            self._execute(sql.SQL("SELECT").format())
        except OperationalError:  # it listens before it accepts connections
            return False
        return True

    def _execute(self, query: sql.Composed) -> None:
        with Connection.connect(self.cluster.url(SUPERUSER, PASSWORD, "postgres"), autocommit=True) as connection:
            connection.execute(query)


@dataclass(frozen=True)
class TestDatabase:
    """URLs of one database, for its owner, the workers' role and the gateway's role."""

    __test__ = False
    owner_url: str
    worker_url: str
    gateway_url: str


@contextmanager
def running(directory: Path) -> Iterator[Server]:
    """Run a server with its files in `directory`. Every user must be allowed to enter the directory."""
    cluster = Cluster(directory, ports.pick(1)[0])
    cluster.create(PASSWORD)
    with Children(directory) as children:
        server = Server(cluster, children)
        server.start()
        server.prepare()
        try:
            yield server
        finally:
            children.stop("postgres", signal.SIGQUIT)  # without a checkpoint: the files are deleted
