"""Makes a database ready for a stack: schema, the two roles' logins, the first API key."""

from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from psycopg import Connection, OperationalError, errors
from psycopg.rows import dict_row

from hone import keys
from hone.stack.postgres import SUPERUSER, Cluster
from hone.stack.record import Record
from hone.store import schema
from hone.store.database import Database
from hone.store.sql import statement

_TIMEOUT_S = 10


class RoleRefused(Exception):
    """The given database user may not create a login, or set its password."""


@dataclass(frozen=True)
class Urls:
    """The URLs of one database for three users: the owner of the tables, the workers' role, the gateway's role.

    `server` is the URL at which the database itself can be created, None for a database that is given.
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
    """Return the URLs of the database at `worker`, whose user owns the tables and sees every tenant's rows.

    Without a `gateway` URL the gateway gets a login of this stack.
    """
    parts = urlsplit(worker)
    place = parts.netloc.rpartition("@")[2]
    own = urlunsplit(parts._replace(netloc=f"{_logins(record)[1]}:{record.gateway_password}@{place}"))
    return Urls(owner=worker, worker=worker, gateway=gateway or own)


def prepare(record: Record, urls: Urls) -> None:
    """Create the database, its tables and this stack's logins if they do not exist.

    Older tables are upgraded. Raises psycopg.OperationalError while the server is away, RoleRefused, SchemaMismatch,
    MigrationFailed.
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
    """Delete the unsent metrics of all sinks but these, and the sinks."""
    with Connection.connect(url) as connection:
        connection.execute(statement("sinks.forget_others"), {"names": names})


def _logins(record: Record) -> tuple[str, str]:
    return f"hone_worker_{record.identity}", f"hone_gateway_{record.identity}"


def _make_database(server: str) -> None:
    with Connection.connect(server, autocommit=True) as connection:
        if connection.execute(statement("server.database_exists")).fetchone() is None:
            connection.execute(statement("server.create_database"))


def logs_in(url: str, role: str) -> bool:
    """Return whether the login of `url` exists with this password, and is in `role`."""
    try:
        with Connection.connect(url, connect_timeout=_TIMEOUT_S, row_factory=dict_row) as connection:
            return bool((connection.execute(statement("server.in_role"), {"role": role}).fetchone() or {})["found"])
    except OperationalError:
        return False


def ensure_login(owner: str, login: str, role: str, password: str) -> None:
    """Create the login in `role` with this password, or change its password. Raises RoleRefused."""
    try:
        with Connection.connect(owner) as connection:
            connection.execute(statement("server.name_login"), {"login": login, "role": role, "password": password})
            connection.execute(statement("server.ensure_login"))
    except errors.InsufficientPrivilege as error:
        raise RoleRefused(f"cannot create the login {login} in {role}, or set its password ({str(error).strip()}): let "
                          "the owner create roles, or make that login yourself") from error
