"""Follows the metrics for one sink: it writes unsent points to the sink, then deletes their `unsent_points` rows."""

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
    """Sends a sink its unsent points. If a sink has several followers, only one of them sends."""

    def __init__(self, database_url: str, name: str, sink: Sink, sweep_s: float) -> None:
        self._database = Database(database_url, size=1)  # one session must both hold the sink's lock and read
        self._listener = Listener(database_url, "metrics")
        self._name, self._sink, self._sweep_s = name, sink, sweep_s
        self._refused: dict[str, SinkAway] = {}  # by run: its points wait until the other runs' points are sent
        self._failures = 0

    def run(self, stop: threading.Event) -> None:
        """Send all points, then wait for a hint, until `stop` is set."""
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
            _log.warning("%s could not be closed: %s", self._name, str(away).strip())
        self._database.close()

    def advance(self) -> bool:
        """Send one batch of unsent points. Return False if there are none, or if another process sends.

        If the sink refuses a run's points, they wait until all other points are sent; then this raises SinkAway.
        """
        points = self._unsent()
        for run_id, of_run in groupby(points, key=lambda point: point.run_id):
            if (refusal := self._send(list(of_run))) is not None:
                self._refused[run_id] = refusal
        if points:
            return True
        self._end_runs()
        if self._refused:
            _, refusal = self._refused.popitem()
            self._refused.clear()
            raise refusal
        return False

    def _send(self, of_run: list[Point]) -> SinkAway | None:
        """Write one run's points and mark them as sent; return the error if the sink refuses them."""
        try:
            self._sink.write(of_run)
        except SinkAway as away:
            return away
        reach("sink.written")
        self._forget(of_run)
        return None

    def _unsent(self) -> list[Point]:
        return [Point(**row) for row in self._rows("sinks.unsent", without=list(self._refused), limit=_BATCH)]

    def _rows(self, statement: str, **parameters: Any) -> list[Row]:
        """Return a statement's rows for this sink; none if another process sends to it."""
        with self._database.transaction() as transaction:
            held = transaction.one("sinks.hold", sink=self._name)
            if held is None or not held["held"]:
                return []
            return transaction.all(statement, sink=self._name, **parameters)

    def _forget(self, of_run: Sequence[Point]) -> None:
        """Delete the rows of sent points, and record that the sink has their run open."""
        with self._database.transaction() as transaction:
            transaction.run("sinks.open_run", sink=self._name, run_id=of_run[0].run_id)
            transaction.run(
                "sinks.forget_sent", sink=self._name, run_ids=[point.run_id for point in of_run],
                steps=[point.step for point in of_run], names=[point.name for point in of_run])

    def _end_runs(self) -> None:
        """End the runs in the sink that have ended here, whichever process opened them."""
        for row in self._rows("sinks.ended_runs"):
            try:
                self._sink.end(row["id"], row["name"], row["state"])
            except SinkAway as away:
                self._refused[row["id"]] = away
            else:
                self._database.run("sinks.close_run", sink=self._name, run_id=row["id"])

    def _pause(self, stop: threading.Event, away: Exception) -> None:
        self._failures += 1
        _log.warning("%s waits: %s", self._name, str(away).strip())
        stop.wait(min(self._sweep_s * 2 ** self._failures, _LONGEST_PAUSE_S))


def register(database: Database, names: list[str]) -> None:
    """Make these the sinks: each gets all points that exist and all later ones; other sinks get none."""
    with database.transaction() as transaction:
        transaction.run("sinks.forget_others", names=names)
        known = {row["name"] for row in transaction.all("sinks.names")}
        for name in names:
            if name not in known:
                transaction.run("sinks.lock_metrics")
                transaction.run("sinks.add", sink=name)
                transaction.run("sinks.owe_all", sink=name)
