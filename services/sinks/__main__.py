"""`python -m services.sinks`: copy run metrics to the destinations of HONE_SINKS until SIGTERM."""

import logging
import sys
import threading
from functools import partial

from hone.process import startup
from hone.process.ending import on_stop_signal, vital_thread
from hone.process.heartbeat import Heartbeat, interval_s
from hone.process.outages import Outages
from hone.spec import destinations, settings
from hone.spec.settings import Settings
from hone.spec.sinks import SINKS
from hone.store.database import Database
from services.sinks.contract import LibraryMissing, Sink
from services.sinks.follower import Follower, register

_log = logging.getLogger(__name__)


def run(chosen: Settings, stop: threading.Event) -> None:
    """Follow every destination in a thread of its own until `stop` is set. Raises LibraryMissing."""
    sinks = {one.name: SINKS[one.kind](one.target) for one in destinations.parse(chosen.sinks)}
    database, outages = Database(chosen.database_url, size=1), Outages(stop, chosen.sweep_s)
    try:
        outages.outlast(partial(register, database, list(sinks)))
        threads = [vital_thread(name, partial(_follow, chosen, name, sink, stop)) for name, sink in sinks.items()]
        for thread in threads:
            thread.start()
        _log.info("sinks: %s", ", ".join(sinks) or "none, HONE_SINKS is empty")
        _beat(Heartbeat(database, "sinks", startup.name(chosen)), outages, chosen.lease_s, stop)
        for thread in threads:
            thread.join()
    finally:
        database.close()


def _follow(chosen: Settings, name: str, sink: Sink, stop: threading.Event) -> None:
    Follower(chosen.database_url, name, sink, chosen.sweep_s).run(stop)


def _beat(heartbeat: Heartbeat, outages: Outages, lease_s: float, stop: threading.Event) -> None:
    """Report that this process is alive until `stop` is set; then delete its row."""
    while not stop.is_set():
        outages.outlast(heartbeat.beat)
        stop.wait(interval_s(lease_s))
    outages.survive(heartbeat.leave)


def main() -> None:
    """Run with this process's settings; exit with 1 if a sink's library is not installed."""
    chosen = settings.load()
    startup.begin("sinks", chosen)
    stop = threading.Event()
    on_stop_signal(stop.set)
    try:
        run(chosen, stop)
    except LibraryMissing as missing:
        _log.critical("%s", missing)
        sys.exit(1)


if __name__ == "__main__":
    main()
