"""What rows know of every tenant, beside the driver's own metrics: each driver tells the same."""

from prometheus_client.core import Metric

from hone.store.database import Database
from hone.telemetry import metrics
from hone.telemetry.gauges import STATEMENTS, families


def show(database_url: str) -> None:
    """Let each scrape of this process look at the rows; while the database is away a scrape fails."""
    database = Database(database_url, size=1)

    def look() -> list[Metric]:
        return list(families({name: database.all(name) for name in STATEMENTS}))

    metrics.add(look)
