"""`python -m services.sinks`: copy run metrics to the destinations of HONE_SINKS until SIGTERM."""

import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from functools import partial

from psycopg import InterfaceError, OperationalError

from hone.spec import destinations, settings
from hone.spec.settings import Settings
from hone.store.database import Database
from hone.telemetry import process
from services.sinks.catalog import SINKS
from services.sinks.contract import LibraryMissing, Sink
from services.sinks.follower import Follower, register

_log = logging.getLogger(__name__)
_AWAY = (OperationalError, InterfaceError)


def run(chosen: Settings, stop: threading.Event) -> None:
    """Follow every destination in a thread of its own until told to stop. Raises LibraryMissing."""
    sinks = {one.name: SINKS[one.kind](one.target) for one in destinations.parse(chosen.sinks)}
    database = Database(chosen.database_url, size=1)
    try:
        _retried(partial(register, database, list(sinks)), chosen.sweep_s, stop)
        threads = [threading.Thread(target=_follow_or_die, args=[chosen, name, sink, stop])
                   for name, sink in sinks.items()]
        for thread in threads:
            thread.start()
        _log.info("sinks: %s", ", ".join(sinks) or "none, HONE_SINKS is empty")
        _beat(database, chosen, stop)
        for thread in threads:
            thread.join()
    finally:
        database.close()


def _follow_or_die(chosen: Settings, name: str, sink: Sink, stop: threading.Event) -> None:
    """A follower that dies takes the process with it, so that the supervisor starts another."""
    try:
        Follower(chosen.database_url, name, sink, chosen.sweep_s).run(stop)
    except BaseException:
        _log.exception("%s ends", name)
        os._exit(1)


def _beat(database: Database, chosen: Settings, stop: threading.Event) -> None:
    """Say that this process lives until it is told to stop, then that it leaves."""
    owner = chosen.process_name or f"{socket.gethostname()}:{os.getpid()}"

    def tell(statement: str, **params: str) -> None:
        database.run(statement, id=owner, **params)

    while not stop.is_set():
        _retried(partial(tell, "workers.beat", kind="sinks"), chosen.sweep_s, stop)
        stop.wait(chosen.lease_s / 3)
    try:
        tell("workers.leave")
    except _AWAY as away:
        _log.warning("row not taken away: %s", str(away).strip())


def _retried(work: Callable[[], None], pause_s: float, stop: threading.Event) -> None:
    """Do `work`; while the database is away, again after a pause."""
    while not stop.is_set():
        try:
            work()
            return
        except _AWAY as away:
            _log.warning("waiting: %s", str(away).strip())
            stop.wait(pause_s)


def main() -> None:
    """Run with this process's settings; ends with 1 when a sink's library is not installed."""
    chosen = settings.load()
    process.begin("sinks", chosen)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        run(chosen, stop)
    except LibraryMissing as missing:
        _log.critical("%s", missing)
        sys.exit(1)


if __name__ == "__main__":
    main()
