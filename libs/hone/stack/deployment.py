"""The preparation of a deployment: tables, logins and bucket. A second time it changes nothing."""

import time
from urllib.parse import unquote, urlsplit

from psycopg import OperationalError

from hone import keys
from hone.spec import destinations
from hone.spec.settings import Settings
from hone.stack import provision
from hone.store import objects, schema
from hone.store.database import Database
from hone.store.schema import Upgrade

_PAUSE_S = 0.5


def prepare(settings: Settings, owner_url: str, timeout_s: float) -> Upgrade:
    """Make or upgrade the tables, make both roles' logins and the bucket. Return what became of the tables.

    The database gets `timeout_s` seconds to answer. Raises psycopg.OperationalError, SchemaMismatch,
    MigrationFailed, RoleRefused, StoreAway, PermissionError, and ValueError for a setting that is not given.
    """
    if not owner_url:
        raise ValueError("HONE_OWNER_DATABASE_URL: found nothing, expected a URL")
    _expect_given(settings, "database_url", "gateway_database_url", "objects_url")
    upgrade = _tables_made(owner_url, time.monotonic() + timeout_s)
    for url, role in ((settings.database_url, "hone_worker"), (settings.gateway_database_url, "hone_gateway")):
        parts = urlsplit(url)
        if not provision.logs_in(url, role):
            provision.ensure_login(owner_url, unquote(parts.username or ""), role, unquote(parts.password or ""))
    provision.forget_sinks(settings.database_url, destinations.names(settings.sinks))
    objects.connect(settings.objects_url)
    return upgrade


def first_key(settings: Settings) -> str | None:
    """Make an admin key if there is no key and return its secret, which cannot be read again. Otherwise return None."""
    database = Database(settings.database_url, size=1)
    try:
        return None if database.one("api_keys.any") else keys.create(database, "first").secret
    finally:
        database.close()


def _expect_given(settings: Settings, *names: str) -> None:
    for name in names:
        if not getattr(settings, name):
            raise ValueError(f"HONE_{name.upper()}: found nothing, expected a URL")


def _tables_made(owner_url: str, until: float) -> Upgrade:
    while True:
        try:
            return schema.ensure(owner_url)
        except OperationalError:
            if time.monotonic() > until:
                raise
            time.sleep(_PAUSE_S)
