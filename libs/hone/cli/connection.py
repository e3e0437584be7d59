"""Where the gateway and the database are: `HONE_URL` and `HONE_API_KEY`, or the stack that runs on this machine."""

import os
from pathlib import Path

from hone.client import Client
from hone.stack.record import StackMissing, load
from hone.store.database import Database

DEFAULT_STATE = ".hone"


class Unconfigured(Exception):
    """The command does not know where to go."""


def state() -> Path:
    """Return the state directory of this machine's stack: `HONE_STATE` or ./.hone."""
    return Path(os.environ.get("HONE_STATE") or DEFAULT_STATE).resolve()


def client() -> Client:
    """Return the SDK for the configured gateway; a stack's own key is sent to that stack alone. Raises Unconfigured."""
    url, key = os.environ.get("HONE_URL"), os.environ.get("HONE_API_KEY")
    if url and key:
        return Client(url, key)
    found_url, found_key = _from_stack()
    if url and url.rstrip("/") != found_url:
        raise Unconfigured(f"set HONE_API_KEY too, a key of the gateway at {url}: the stack in {state()} is another")
    return Client(found_url, key or found_key)


def _from_stack() -> tuple[str, str]:
    try:
        record = load(state())
    except StackMissing:
        raise Unconfigured(f"set HONE_URL and HONE_API_KEY, or `hone up` a stack (none in {state()})") from None
    return record.gateway_url, record.api_key


def database(place: Path | None = None) -> Database:
    """Return the database itself, for what is only done where it is reached directly.

    It is that of the stack in `place`, else at `HONE_DATABASE_URL`, else of this machine's stack. Raises Unconfigured.
    """
    url = "" if place else os.environ.get("HONE_DATABASE_URL", "")
    return Database(url or _database_url((place or state()).resolve()), size=1)


def _database_url(place: Path) -> str:
    try:
        return load(place).database_url
    except StackMissing:
        raise Unconfigured(
            f"there is no stack in {place}: name its state directory with --state or HONE_STATE, `hone up` one, or set "
            "HONE_DATABASE_URL") from None
