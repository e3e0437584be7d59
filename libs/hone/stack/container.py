"""A process in a container of its own, with the container's name, and its health check from inside.

`python -m hone.stack.container run KIND` becomes the process; `… probe KIND` ends with 0 if the process is healthy;
`… wait KIND` ends once the servers that the process uses are there, with tables and bucket.
"""

import os
import socket
import ssl
import sys
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from ipaddress import ip_address

import grpc
from cryptography import x509
from grpc_health.v1 import health_pb2, health_pb2_grpc

from hone import addresses
from hone.process.heartbeat import worker_is_alive
from hone.spec import settings as service_settings
from hone.spec.settings import Addresses, Settings
from hone.stack import readiness
from hone.stack.processes import KINDS
from hone.stack.record import reachable
from hone.store.database import Database

TIMEOUT_S = 5.0
_PAGES = {"gateway", "console"}
"""Kinds of process that serve HTTP."""


class Unwell(Exception):
    """The process does not answer, or has not reported for longer than a lease."""


def environment(kind: str, host: str, given: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that the process gets besides `given`: its name, and its address if it listens.

    Both have the container's name: an engine registers under its address, so that there may be several. An IP stays as
    it is: that of every interface (0.0.0.0), or a pod's own, for in Kubernetes nobody finds a pod by its name.
    """
    own = {"HONE_PROCESS_NAME": given.get("HONE_PROCESS_NAME") or f"{kind}-{host}"}
    listens = KINDS[kind].listens
    if listens is None:
        return own
    variable = f"HONE_{listens.upper()}_ADDRESS"
    place, _, port = (given.get(variable) or Addresses.model_fields[listens].default).rpartition(":")
    return {**own, variable: f"{place if variable in given and _is_ip(place) else host}:{port}"}


def _is_ip(place: str) -> bool:
    with suppress(ValueError):
        return bool(ip_address(place.removeprefix("[").removesuffix("]")))
    return False


def probe(kind: str, settings: Settings) -> None:
    """Check the process of this container. Raises Unwell, or the error of the call to the process."""
    listens = KINDS[kind].listens
    if listens is None:
        _expect_heartbeat(settings)
    elif kind in _PAGES:
        _expect_page(getattr(settings.addresses, listens))
    elif kind == "door":
        _expect_door(settings.addresses.door)
    else:
        _expect_serving(getattr(settings.addresses, listens))


def _expect_page(address: str) -> None:
    with urllib.request.urlopen(f"http://{reachable(address)}/healthz", timeout=TIMEOUT_S):
        pass


def _expect_serving(address: str) -> None:
    with grpc.insecure_channel(reachable(address)) as channel:
        _check(channel, address)


def _check(channel: grpc.Channel, address: str) -> None:
    answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=TIMEOUT_S)
    if answer.status != health_pb2.HealthCheckResponse.SERVING:
        raise Unwell(f"{address} is {health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)}")


def _expect_door(address: str) -> None:
    """Ask a door. Its certificate is for the name that its clients use, not for this one: it is trusted as it is."""
    shown = ssl.get_server_certificate(addresses.parts(reachable(address)), timeout=TIMEOUT_S)
    trusted = grpc.ssl_channel_credentials(shown.encode())
    with grpc.secure_channel(reachable(address), trusted, [("grpc.ssl_target_name_override", _name(shown))]) as channel:
        _check(channel, address)


def _name(pem: str) -> str:
    """Return a name that a certificate is for. Raises x509.ExtensionNotFound if it has none."""
    names = x509.load_pem_x509_certificate(pem.encode()).extensions.get_extension_for_class(
        x509.SubjectAlternativeName).value
    hosts = [*names.get_values_for_type(x509.DNSName), *map(str, names.get_values_for_type(x509.IPAddress))]
    return hosts[0].replace("*", "any")


def _expect_heartbeat(settings: Settings) -> None:
    database = Database(settings.database_url, size=1)
    try:
        ages = {row["id"]: row["age_s"] for row in database.all("workers.all")}
    finally:
        database.close()
    age_s = ages.get(settings.process_name)
    if age_s is None:
        raise Unwell(f"{settings.process_name} has not reported")
    if not worker_is_alive(age_s, settings.lease_s):
        raise Unwell(f"{settings.process_name} has been silent for {age_s:.0f} s")


def main(verb: str, kind: str) -> None:
    """Become the process, check it, or wait for its servers."""
    os.environ.update(environment(kind, socket.gethostname(), os.environ))
    if verb == "run":
        os.execv(sys.executable, [sys.executable, "-m", KINDS[kind].module])
    try:
        if verb == "wait":
            return readiness.wait(service_settings.load())
        probe(kind, service_settings.load())
    except Exception as error:
        sys.exit(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in {"run", "probe", "wait"} or sys.argv[2] not in KINDS:
        sys.exit(f"usage: python -m hone.stack.container run|probe|wait {'|'.join(KINDS)}")
    main(*sys.argv[1:])
