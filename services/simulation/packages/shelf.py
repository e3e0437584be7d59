"""Environment packages and domains for the episodes of this process: read from the database, run in the sandbox.

Its methods wait, and are called in threads of their own; what they wait for runs on the service's loop.
"""

import asyncio
import re
from collections import OrderedDict
from collections.abc import Coroutine
from contextvars import ContextVar
from threading import Lock
from typing import Any, TypeVar

from psycopg import OperationalError

from hone.environments.contract import EpisodeLost, WrongParams
from hone.environments.packages import archive
from hone.environments.packages.package import Package
from hone.environments.tau2 import archive as domains
from hone.environments.tau2.domain import ServiceDomain
from hone.sandbox.client import ProgramRefused, Sandbox, SandboxBusy
from hone.sandbox.program import Ended, Program, Ran
from hone.store.database import AsyncDatabase
from services.simulation.packages.batches import CallBatches

OWNER: ContextVar[str] = ContextVar("owner", default="")
"""The tenant whose work it is; empty: a service's, which may play every package."""
KEPT, ANSWER_S = 64, 120.0
_DIGEST = re.compile(r"[0-9a-f]{64}")
Result = TypeVar("Result")


class PackageShelf:
    """Make it on the running loop."""

    def __init__(self, database: AsyncDatabase, sandbox: Sandbox) -> None:
        self._database, self._batches, self._loop = database, CallBatches(sandbox), asyncio.get_running_loop()
        self._kept = OrderedDict[tuple[str, str], Package | ServiceDomain]()
        self._reading = dict[tuple[str, str], Lock]()
        self._lock = Lock()

    def package(self, reference: str) -> Package:
        """Return the package with a digest, or the one that a name of the tenant means. Raises WrongParams."""
        found = self._meant(reference, "params.package")
        if not isinstance(found, Package):
            raise WrongParams("params.package", reference, "a package; it is a domain of tau2 (environment: tau2)")
        return found

    def domain(self, reference: str) -> ServiceDomain:
        """Return the domain with a digest, or the one that a name of the tenant means. Raises WrongParams."""
        found = self._meant(reference, "params.domain")
        if not isinstance(found, ServiceDomain):
            raise WrongParams("params.domain", reference, "a domain of tau2; it is a package (environment: package)")
        return found

    def _meant(self, reference: str, field: str) -> Package | ServiceDomain:
        tenant = OWNER.get()
        digest = reference if _DIGEST.fullmatch(reference) else self._digest(tenant, reference, field)
        with self._lock:
            reading = self._reading.setdefault((tenant, digest), Lock())
        with reading:  # one thread reads it, those that come meanwhile wait
            try:
                return self._found(tenant, digest) or self._loaded(tenant, digest, reference, field)
            finally:
                with self._lock:
                    self._reading.pop((tenant, digest), None)

    def _found(self, tenant: str, digest: str) -> Package | ServiceDomain | None:
        with self._lock:
            if (tenant, digest) not in self._kept:
                return None
            self._kept.move_to_end((tenant, digest))
            return self._kept[tenant, digest]

    def _loaded(self, tenant: str, digest: str, reference: str, field: str) -> Package | ServiceDomain:
        row = self._waited(self._database.one("packages.content", tenant_id=tenant or None, digest=digest))
        if row is None:
            raise _unknown(reference, field)
        found = _read(bytes(row["content"]))
        with self._lock:
            self._kept[tenant, digest] = found
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return found

    def run(self, program: Program) -> Ran:
        """Run a program in the sandbox, a call beside others. No place in time is an infrastructure error.

        One that the sandbox does not take has not begun.
        """
        try:
            return self._waited(self._batches.run(program, OWNER.get()))
        except SandboxBusy as busy:
            return Ran(Ended.INFRA_ERROR, str(busy))
        except ProgramRefused as refused:
            return Ran(Ended.REFUSED, str(refused))

    def _digest(self, tenant: str, name: str, field: str) -> str:
        row = self._waited(self._database.one("packages.known", tenant_id=tenant, reference=name)) if tenant else None
        if row is None:
            raise _unknown(name, field)
        return str(row["digest"])

    def _waited(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Return the result of the loop's work. Raises EpisodeLost where it cannot be found now."""
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop).result(ANSWER_S)
        except (OperationalError, TimeoutError) as error:
            raise EpisodeLost(f"the package cannot be read: {error}") from error


def _read(content: bytes) -> Package | ServiceDomain:
    if domains.holds_domain(content):
        return domains.unpacked(content, trusted=True)
    return archive.unpacked(content, trusted=True)


def _unknown(reference: str, field: str) -> WrongParams:
    return WrongParams(field, reference, f"the name or the digest of a {field.rpartition('.')[2]} that was added")
