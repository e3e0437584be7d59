"""Addresses of the gateway and the database: from `HONE_URL` and `HONE_API_KEY`, or from this machine's stack."""

import os
from pathlib import Path

from hone.client import Client
from hone.spec import settings
from hone.stack.record import StackMissing, load
from hone.store.database import Database

DEFAULT_STATE = ".hone"


class Unconfigured(Exception):
    """No address is configured for the command; the message says how to configure one."""


def state() -> Path:
    """Return the state directory of this machine's stack: `HONE_STATE` or ./.hone."""
    return Path(os.environ.get("HONE_STATE") or DEFAULT_STATE).resolve()


def client() -> Client:
    """Return the SDK client of the configured gateway. A stack's own key is sent to that stack only.

    Raises Unconfigured.
    """
    given = settings.resolved(os.environ)
    url, key = given.get("HONE_URL"), given.get("HONE_API_KEY")
    if url and key:
        return Client(url, key)
    found_url, found_key = _from_stack()
    if url and url.rstrip("/") != found_url:
        raise Unconfigured(f"set HONE_API_KEY too, to a key of the gateway at {url}: it is not the stack in {state()}")
    return Client(found_url, key or found_key)


def _from_stack() -> tuple[str, str]:
    try:
        record = load(state())
    except StackMissing:
        raise Unconfigured(
            f"set HONE_URL and HONE_API_KEY, or start a stack with `hone up` (found no stack in {state()})") from None
    return record.gateway_url, record.api_key


def database(place: Path | None = None) -> Database:
    """Return the database, for commands that do not use REST.

    It belongs to the stack in `place` if given, else it is at `HONE_DATABASE_URL`, else it belongs to this machine's
    stack. Raises Unconfigured.
    """
    url = "" if place else settings.resolved(os.environ).get("HONE_DATABASE_URL", "")
    return Database(url or _database_url((place or state()).resolve()), size=1)


def _database_url(place: Path) -> str:
    try:
        return load(place).database_url
    except StackMissing:
        raise Unconfigured(
            f"there is no stack in {place}: name its state directory with --state or HONE_STATE, start one with `hone "
            "up`, or set HONE_DATABASE_URL") from None
