"""Waits until the servers of a deployment are ready for its processes, which are started at the same time."""

import socket
import time
from urllib.parse import urlsplit

import psycopg
from psycopg.rows import dict_row

from hone.spec.settings import Settings
from hone.store import objects, schema
from hone.store.objects import StoreAway

_TIMEOUT_S, _PAUSE_S = 5, 2.0
_PORTS = {"amqp": 5672, "amqps": 5671}


class NotReady(Exception):
    """A server is still not ready; the message says which, and why."""


def wait(settings: Settings, timeout_s: float = 900.0) -> None:
    """Return once `missing` finds nothing; print what is waited for. Raises NotReady after `timeout_s`."""
    until, said = time.monotonic() + timeout_s, ""
    while found := missing(settings):
        if time.monotonic() > until:
            raise NotReady(found)
        if found != said:
            print(f"waiting: {found}", flush=True)
        said = found
        time.sleep(_PAUSE_S)


def missing(settings: Settings) -> str | None:
    """Return the parts that are not ready: tables, object store, or broker, where the settings name them."""
    try:
        found = _tables(settings.database_url or settings.gateway_database_url)
        if found is None:
            _reach_others(settings)
        return found
    except (psycopg.Error, OSError, StoreAway) as error:
        return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"


def _tables(url: str) -> str | None:
    if not url:
        return None
    with psycopg.connect(url, connect_timeout=_TIMEOUT_S, row_factory=dict_row) as connection:
        found = schema.version(connection)
    if found is None:
        return "the database has no tables yet"
    return None if found >= schema.VERSION else f"the tables have version {found}, not yet {schema.VERSION}"


def _reach_others(settings: Settings) -> None:
    if settings.objects_url:
        objects.connect(settings.objects_url)
    broker = urlsplit(settings.broker_url)
    if broker.scheme in _PORTS and broker.hostname:
        socket.create_connection((broker.hostname, broker.port or _PORTS[broker.scheme]), _TIMEOUT_S).close()
