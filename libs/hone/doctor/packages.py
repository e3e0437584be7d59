"""The interpreter and the installed packages, compared with what this distribution asks for."""

import platform
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, metadata, requires, version

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from hone.algorithms.catalogue import MEMBERS
from hone.algorithms.presets import PRESETS
from hone.catalogue import entries
from hone.doctor.deployment import Deployment
from hone.doctor.findings import Finding, error, ok, warning
from hone.environments.catalogue import ENVIRONMENTS
from hone.graders.catalogue import GRADERS
from hone.harnesses.catalogue import HARNESSES
from hone.spec.sinks import SINKS

DISTRIBUTION = "hone-rl"
TRAINING = "train"
"""The extra that a trainer and the native engine need."""


def python(_: Deployment) -> Iterator[Finding]:
    """Compare the interpreter with the versions that the distribution supports."""
    wanted, found = SpecifierSet(metadata(DISTRIBUTION)["Requires-Python"]), platform.python_version()
    if found in wanted:
        yield ok("python", f"{found} ({platform.python_implementation()}, {platform.machine()})")
    else:
        yield error("python", found, f"make the environment with Python {wanted}")


def packages(_: Deployment) -> Iterator[Finding]:
    """Compare each installed package with its pin, those for training apart: a gateway's machine needs no torch."""
    yield from compared(requires(DISTRIBUTION) or ())


def members(_: Deployment) -> Iterator[Finding]:
    """Load the members of catalogues that other installed packages have, such as environments and graders."""
    catalogues = (ENVIRONMENTS, GRADERS, HARNESSES, MEMBERS, PRESETS, SINKS)
    for fault in (fault for catalogue in catalogues for fault in catalogue.faults()):
        yield error("members of packages", fault, "install a release of the package that fits, or uninstall it")
    named = sorted({entry.source for catalogue in catalogues for entry in entries.installed(catalogue.group)})
    if named:
        yield ok("packages with members", ", ".join(named))


def compared(requirements: Iterable[str]) -> Iterator[Finding]:
    """Compare installed packages with requirements as a distribution lists them."""
    wanted = [Requirement(text) for text in requirements]
    base = [one for one in wanted if one.marker is None or one.marker.evaluate({"extra": ""})]
    training = [one for one in wanted if one not in base and one.marker and one.marker.evaluate({"extra": TRAINING})]
    if wrong := _wrong(base):
        yield error("packages", "; ".join(wrong), f"pip install {DISTRIBUTION}")
    else:
        yield ok("packages", f"{len(base)} packages within their pins")
    if wrong := _wrong(training):
        yield warning("packages for training", "; ".join(wrong),
                      f"pip install '{DISTRIBUTION}[{TRAINING}]', where trainers and engines run")
    else:
        yield ok("packages for training", f"{len(training)} packages within their pins")


def _wrong(requirements: list[Requirement]) -> list[str]:
    return [line for one in requirements if (line := _difference(one))]


def _difference(wanted: Requirement) -> str:
    try:
        found = version(wanted.name)
    except PackageNotFoundError:
        return f"{wanted.name} is missing, expected {wanted.specifier or 'any version'}"
    if wanted.specifier.contains(found, prereleases=True):
        return ""
    return f"{wanted.name} {found}, expected {wanted.specifier}"
