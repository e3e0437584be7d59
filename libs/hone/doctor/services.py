"""The services of a stack that runs: its processes, as the supervisor sees them, and the gateway's view of health."""

from collections.abc import Iterator

from hone.client import Client
from hone.client.errors import HoneError
from hone.doctor.deployment import Deployment
from hone.doctor.findings import Finding, error, ok, warning
from hone.stack.embedded import last_line
from hone.stack.supervision import Supervisor, SupervisorAway

_TIMEOUT_S = 15.0
_UP = {"RUNNING", "STARTING"}


def processes(deployment: Deployment) -> Iterator[Finding]:
    """Look whether every process of the stack runs."""
    if not deployment.running:
        there = f"the stack in {deployment.state} does not run" if deployment.record else f"none in {deployment.state}"
        yield ok("stack", f"{there}; hone up starts it")
        return
    try:
        found = Supervisor(deployment.state).processes()
    except SupervisorAway:
        yield error("stack", "its supervisor does not answer", f"hone down; hone up (state {deployment.state})")
        return
    down = [one for one in found if one.state not in _UP]
    for one in down:
        yield error("stack", f"{one.name} is {one.state}: {last_line(deployment.state, one.name)}",
                    f"read {deployment.state / 'logs' / one.name}.log")
    if not down:
        yield ok("stack", f"{len(found)} processes run in {deployment.state}")


def health(deployment: Deployment) -> Iterator[Finding]:
    """Ask the gateway for the health of every service that it sees."""
    known = deployment.gateway
    if known is None:
        if deployment.environment.get("HONE_URL"):
            yield warning("gateway", "HONE_URL is set and HONE_API_KEY is not", "set both (hone keys create makes a "
                          "key)")
        return
    url, key = known
    try:
        with Client(url, key, timeout_s=_TIMEOUT_S, attempts=2) as client:
            services = client.health().services
    except HoneError as failed:
        yield error("gateway", f"{url}: {failed}", "start it (hone up), or look at HONE_URL and HONE_API_KEY")
        return
    for service in services:
        if not service.ok:
            yield error("gateway", f"{service.name}: {service.detail}", f"read the log of {service.name}")
    if all(service.ok for service in services):
        yield ok("gateway", f"{url} finds {len(services)} services well")
