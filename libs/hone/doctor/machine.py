"""Every check of this machine, in the order in which `hone doctor` prints them."""

from collections.abc import Iterator

from hone.doctor import packages
from hone.doctor.findings import Finding


def look() -> Iterator[Finding]:
    """Yield the findings about this machine, each as soon as it is there."""
    yield from packages.python()
    yield from packages.packages()
