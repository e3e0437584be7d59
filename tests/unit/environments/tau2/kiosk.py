"""The domain of tests/domains/kiosk, ready to be played in processes of their own."""

from functools import cache
from pathlib import Path

from hone.environments.contract import WrongParams
from hone.environments.tau2 import archive, domain, program
from hone.environments.tau2.domain import ServiceDomain
from tests.unit.environments.tau2.process_runner import ProcessRunner

FOLDER = Path(__file__).resolve().parents[3] / "domains" / "kiosk"


def files() -> dict[str, bytes]:
    """Return the domain's files by their paths."""
    return archive.collected(FOLDER)


@cache
def kiosk() -> ServiceDomain:
    """Return the domain with what is found of it."""
    read = domain.read(files())
    return read.with_findings(program.examined(ProcessRunner(), read))


class KioskShelf(ProcessRunner):
    """A shelf with one domain."""

    def domain(self, reference: str) -> ServiceDomain:
        if reference not in ("kiosk", kiosk().digest):
            raise WrongParams("params.domain", reference, "the name or the digest of a domain")
        return kiosk()
