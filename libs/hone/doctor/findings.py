"""Findings of a check, and how to mend each."""

from hone.client.preflight import Finding, Level

__all__ = ["Finding", "Level", "error", "ok", "warning"]


def ok(check: str, found: str) -> Finding:
    """Return the finding that all is well."""
    return Finding(check=check, level="ok", found=found)


def warning(check: str, found: str, mend: str) -> Finding:
    """Return the finding of something that works, but less well than it could."""
    return Finding(check=check, level="warning", found=found, mend=mend)


def error(check: str, found: str, mend: str) -> Finding:
    """Return the finding of something without which the stack or a run does not work."""
    return Finding(check=check, level="error", found=found, mend=mend)
