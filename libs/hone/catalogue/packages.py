"""Installed packages that a run needs: whether this process has them, and a sentence for a process that does not."""

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version


def lacking(packages: Mapping[str, str], process: str) -> str:
    """Return a sentence about packages that are not installed in this process; empty if it has all."""
    absent = [name for name in packages if not _installed(name)]
    return f"the {process} lacks the package {named(packages, absent)}: install it where this process runs" if (
        absent) else ""


def beside(packages: Mapping[str, str]) -> str:
    """Return a remark for the end of a failure's reason: the packages that each process of the run needs."""
    return f" (each process of this run needs the package {named(packages, packages)})" if packages else ""


def named(packages: Mapping[str, str], names: Mapping[str, str] | list[str]) -> str:
    """Return names of packages with their versions, for a sentence."""
    return " and ".join(f"{name} {packages[name]}".strip() for name in names)


def _installed(name: str) -> bool:
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True
