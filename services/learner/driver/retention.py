"""Deletes what is old and what nobody asked to keep, as the settings say: marks first, then as any other deletion."""

import logging

from hone.spec.retention_settings import RetentionSettings
from hone.store.database import Database

BATCH = 200
"""Runs, exports or rows that one statement takes at most."""

_log = logging.getLogger(__name__)


def sweep(database: Database, kept: RetentionSettings, batch: int = BATCH) -> dict[str, int]:
    """Take a batch of everything that is too old; return how many of each. Raises psycopg.OperationalError."""
    ages = {"preflights": kept.preflights_d, "runs": kept.runs_d, "exports": kept.exports_d,
            "versions": kept.versions_d, "samples": kept.samples_d, "events": kept.events_d,
            "idempotency": kept.idempotency_d, "decisions": kept.decisions_d, "judge_answers": kept.judge_answers_d,
            "grader_checks": kept.grader_checks_d, "simulations": kept.simulations_d}
    found = {name: database.run(f"retention.{name}", days=days, limit=batch)
             for name, days in ages.items() if days is not None}
    found["journal"] = database.run("retention.journal", limit=batch)
    found["asked"] = database.run("retention.asked", limit=batch)
    if any(found.values()):
        _log.info("too old: %s", ", ".join(f"{count} {name}" for name, count in found.items() if count))
    return found
