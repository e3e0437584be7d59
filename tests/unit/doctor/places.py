"""A deployment for the checks: an empty state directory, and settings as a test chooses them."""

from collections.abc import Iterable
from pathlib import Path

from hone.doctor.deployment import Deployment, find
from hone.doctor.findings import Finding


def deployment(state: Path = Path("/nonexistent"), /, **variables: str) -> Deployment:
    return find(state, variables)


def only(findings: Iterable[Finding]) -> Finding:
    """Return the one finding; one that is not "ok" says how to mend it."""
    (found,) = findings
    assert bool(found.mend) == (found.level != "ok")
    return found
