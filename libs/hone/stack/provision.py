"""Makes a database ready for a stack: schema, the two roles' logins, the first API key."""

from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from psycopg import Connection, errors

from hone import keys
from hone.stack.postgres import SUPERUSER, Cluster
from hone.stack.record import Record
from hone.store import schema
from hone.store.database import Database
from hone.store.sql import statement


class RoleRefused(Exception):
    """The given database user may not make the gateway's login."""


@dataclass(frozen=True)
class Urls:
    """One database as three users: its schema's owner, the workers' role, the gateway's role.

    `server` is where the database itself can be made, None if it is somebody else's and exists.
    """

    owner: str
    worker: str
    gateway: str
    server: str | None = None


def embedded(record: Record, cluster: Cluster) -> Urls:
    """Return the URLs of the embedded server's database."""
    worker, gateway = _logins(record)
    return Urls(
        owner=cluster.url(SUPERUSER, record.password, "hone"),
        worker=cluster.url(worker, record.worker_password, "hone"),
        gateway=cluster.url(gateway, record.gateway_password, "hone"),
        server=cluster.url(SUPERUSER, record.password, "postgres"))


def external(record: Record, worker: str, gateway: str) -> Urls:
    """Return the URLs of the database at `worker`, whose user owns the schema and has every tenant's rows.

    Without a `gateway` URL the gateway gets a login of this stack's own.
    """
    parts = urlsplit(worker)
    place = parts.netloc.rpartition("@")[2]
    own = urlunsplit(parts._replace(netloc=f"{_logins(record)[1]}:{record.gateway_password}@{place}"))
    return Urls(owner=worker, worker=worker, gateway=gateway or own)


def prepare(record: Record, urls: Urls) -> None:
    """Make the database, its schema and the logins that are ours, where missing.

    Raises psycopg.OperationalError while the server is away, RoleRefused, SchemaMismatch.
    """
    if urls.server:
        _make_database(urls.server)
    schema.ensure(urls.owner)
    roles = ("hone_worker", "hone_gateway")
    for url, login, role in zip((urls.worker, urls.gateway), _logins(record), roles, strict=True):
        if urlsplit(url).username == login:
            ensure_login(urls.owner, login, role, urlsplit(url).password or "")


def first_key(record: Record, url: str) -> str:
    """Return an API key that this database accepts: the record's, or a new one of the default tenant."""
    database = Database(url, size=1)
    try:
        if record.api_key and database.one("api_keys.holder", hash=keys.digest(record.api_key)):
            return record.api_key
        return keys.create(database, "first").secret
    finally:
        database.close()


def forget_sinks(url: str, names: list[str]) -> None:
    """Owe run metrics to no sinks but these: what nobody copies is not kept for anybody."""
    with Connection.connect(url) as connection:
        connection.execute(statement("sinks.forget_others"), {"names": names})


def _logins(record: Record) -> tuple[str, str]:
    return f"hone_worker_{record.identity}", f"hone_gateway_{record.identity}"


def _make_database(server: str) -> None:
    with Connection.connect(server, autocommit=True) as connection:
        if connection.execute(statement("server.database_exists")).fetchone() is None:
            connection.execute(statement("server.create_database"))


def ensure_login(owner: str, login: str, role: str, password: str) -> None:
    """Make the login `login` with `password` in `role`, or give it that password. Raises RoleRefused."""
    try:
        with Connection.connect(owner) as connection:
            connection.execute(statement("server.name_login"), {"login": login, "role": role, "password": password})
            connection.execute(statement("server.ensure_login"))
    except errors.InsufficientPrivilege as error:
        raise RoleRefused(f"cannot make the login {login} ({error}); set HONE_GATEWAY_DATABASE_URL") from error
