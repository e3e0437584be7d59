"""Follows the metrics rows for one sink: what is unsent is written there, then forgotten."""

import logging
import threading
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from psycopg import InterfaceError, OperationalError

from hone.crashpoints import reach
from hone.store.database import Database, Row
from hone.store.notifications import Listener
from services.sinks.contract import Point, Sink, SinkAway

_log = logging.getLogger(__name__)
_BATCH = 2000
_LONGEST_PAUSE_S = 60.0


class Follower:
    """Offers a sink its unsent points until told to stop; of several followers of one sink only one sends."""

    def __init__(self, database_url: str, name: str, sink: Sink, sweep_s: float) -> None:
        self._database = Database(database_url, size=1)  # one: the session that holds the sink is the one that reads
        self._listener = Listener(database_url, "metrics")
        self._name, self._sink, self._sweep_s = name, sink, sweep_s
        self._troubles: dict[str, SinkAway] = {}  # of runs that are left out for now
        self._failures = 0

    def run(self, stop: threading.Event) -> None:
        """Send, then wait for a hint, until `stop`."""
        while not stop.is_set():
            try:
                while not stop.is_set() and self.advance():
                    pass
                self._failures = 0
                self._listener.wait(self._sweep_s)
            except (OperationalError, InterfaceError, SinkAway) as away:
                self._pause(stop, away)
        try:
            self._sink.close()
        except SinkAway as away:
            _log.warning("%s is left: %s", self._name, str(away).strip())
        self._database.close()

    def advance(self) -> bool:
        """Send one batch of unsent points; False when there is none, or another process sends.

        A run that the sink does not take is left out until the others are sent. Raises SinkAway then.
        """
        points = self._unsent()
        for run_id, of_run in groupby(points, key=lambda point: point.run_id):
            if (trouble := self._send(list(of_run))) is not None:
                self._troubles[run_id] = trouble
        if points:
            return True
        self._end_runs()
        if self._troubles:
            _, trouble = self._troubles.popitem()
            self._troubles.clear()
            raise trouble
        return False

    def _send(self, of_run: list[Point]) -> SinkAway | None:
        """Write one run's points and forget them; return what kept them from being written."""
        try:
            self._sink.write(of_run)
        except SinkAway as away:
            return away
        reach("sink.written")
        self._forget(of_run)
        return None

    def _unsent(self) -> list[Point]:
        return [Point(**row) for row in self._rows("sinks.unsent", without=list(self._troubles), limit=_BATCH)]

    def _rows(self, statement: str, **parameters: Any) -> list[Row]:
        """Return a statement's rows for this sink; none where another process sends to it."""
        with self._database.transaction() as transaction:
            held = transaction.one("sinks.hold", sink=self._name)
            if held is None or not held["held"]:
                return []
            return transaction.all(statement, sink=self._name, **parameters)

    def _forget(self, of_run: Sequence[Point]) -> None:
        """Strike the points off, and keep that the sink has their run open."""
        with self._database.transaction() as transaction:
            transaction.run("sinks.open_run", sink=self._name, run_id=of_run[0].run_id)
            transaction.run(
                "sinks.forget_sent", sink=self._name, run_ids=[point.run_id for point in of_run],
                steps=[point.step for point in of_run], names=[point.name for point in of_run])

    def _end_runs(self) -> None:
        """Tell the sink of the runs that have ended, whoever opened them; one it does not take keeps none from it."""
        for row in self._rows("sinks.ended_runs"):
            try:
                self._sink.end(row["id"], row["name"], row["state"])
            except SinkAway as away:
                self._troubles[row["id"]] = away
            else:
                self._database.run("sinks.close_run", sink=self._name, run_id=row["id"])

    def _pause(self, stop: threading.Event, away: Exception) -> None:
        self._failures += 1
        _log.warning("%s waits: %s", self._name, str(away).strip())
        stop.wait(min(self._sweep_s * 2 ** self._failures, _LONGEST_PAUSE_S))


def register(database: Database, names: list[str]) -> None:
    """Let every point from now on, and those there are, be owed to these sinks, and none to others."""
    with database.transaction() as transaction:
        transaction.run("sinks.forget_others", names=names)
        known = {row["name"] for row in transaction.all("sinks.names")}
        for name in names:
            if name not in known:
                transaction.run("sinks.lock_metrics")
                transaction.run("sinks.add", sink=name)
                transaction.run("sinks.owe_all", sink=name)
