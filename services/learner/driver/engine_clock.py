"""How long engines were in no step for a model, between one look and the next."""

from hone.store.database import Row, Transaction


class EngineClock:
    """Remembers the last look; the first one, and one after engines came or went, tells nothing.

    Rows tell late what engines computed. What a look finds too much is taken off the next ones, so that the sum holds.
    """

    def __init__(self, model_id: str, fresh_s: float) -> None:
        """Engines count that have reported within `fresh_s` seconds."""
        self._model_id, self._fresh_s = model_id, fresh_s
        self._last: Row | None = None
        self._owed_s = 0.0  # told as idle, and found to be computed later

    def idle(self, transaction: Transaction) -> dict[str, float]:
        """Return the seconds without a step as a metric, the mean over engines; they report every few seconds."""
        last, now = self._last, transaction.one("driver.engine_time", model_id=self._model_id, fresh_s=self._fresh_s)
        self._last = now
        if now is None or last is None or not now["engines"] or now["engines"] != last["engines"]:
            self._owed_s = 0.0
            return {}
        passed, computed = now["at"] - last["at"], (now["computed_s"] - last["computed_s"]) / now["engines"]
        idle = passed - computed - self._owed_s
        self._owed_s = max(0.0, -idle)
        return {"engine/idle_s": max(0.0, idle)}
