"""Statements: every name in the code is in a file of queries/, and every statement there is used."""

import re
from pathlib import Path

from hone.store.sql import named
from hone.telemetry import gauges
from services.gateway.admission import retained
from services.learner.driver import deletions

ROOT = Path(__file__).resolve().parents[3]
QUERIES = ROOT / "libs" / "hone" / "store" / "queries"
COMPOSED = {
    *gauges.STATEMENTS,
    *(f"{table}.{name}" for table in ("runs", "models") for name in (
        "lease", "renew_lease", "fence", "release_lease", "release_leases")),  # hone.store.leases
    *(f"engines.{name}" for name in (
        "enter", "clear_loaded", "set_loaded", "set_refused", "set_evicted", "add_counts")),  # notes of an engine
    *(f"deletions.{name}" for names in (*deletions._ROWS.values(), ("remove_operations", "remove_versions"))
      for name in names),
    "runs.owned", "models.owned",  # hone.store.ownership
    *(f"retention.{name}" for name in (
        "preflights", "runs", "exports", "versions", "samples", "events", "idempotency", "decisions",
        "judge_answers", "grader_checks", "simulations")),
    *(f"retained.{name}{due}" for name in retained.LIMITED for due in ("", "_due")),
}
"""The names that the code puts together."""
OTHERS = {"journal.after", "schema.sql", "uploads.put_part"}
"""Strings that look like a name: a crash point, a file, an action of the audit log."""


def test_every_statement_is_used_and_every_name_is_known() -> None:
    known = {f"{path.stem}.{name}" for path in QUERIES.glob("*.sql") for name in named(path.read_text())}
    assert known >= COMPOSED
    tables = {path.stem for path in QUERIES.glob("*.sql")}
    used = {name for name in _quoted() if name.partition(".")[0] in tables} - OTHERS
    assert used - known == set()
    assert known - used - COMPOSED == set()


def _quoted() -> set[str]:
    """Return every string of the form table.name in the code."""
    text = "\n".join(path.read_text() for part in ("libs", "services") for path in (ROOT / part).rglob("*.py"))
    return set(re.findall(r"\"(\w+\.\w+)\"", text))
