"""A RabbitMQ server for tests, with its own node name, ports and management API. It shares nothing with a system's."""

import base64
import json
import os
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import Request, urlopen

import psutil

from hone.stack import ports
from tests.servers.children import Children

SCRIPT = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")  # beneath the wrapper in /usr/sbin, which switches users
USER, PASSWORD = "hone", "for-tests"


@dataclass(frozen=True)
class Server:
    """A running broker: `url` for AMQP, `management_url` (with `USER` and `PASSWORD`) for RabbitMQ's own HTTP API."""

    url: str
    management_url: str
    restart: Callable[[], None]  # kills it and starts it again on the same files

    def look(self, path: str) -> object:
        """Return the management API's answer to GET /api/`path`."""
        return self._call(path, "GET")

    def virtual_host(self, name: str) -> str:
        """Create a virtual host, which has queues of its own, and return its AMQP URL."""
        self._call(f"vhosts/{name}", "PUT")
        self._call(f"permissions/{name}/{USER}", "PUT", {"configure": ".*", "write": ".*", "read": ".*"})
        return f"{self.url.removesuffix('//')}/{name}"

    def delete(self, path: str) -> None:
        """DELETE /api/`path`, for instance `queues/%2F/rollouts/contents` to purge a queue."""
        self._call(path, "DELETE")

    def _call(self, path: str, method: str, body: object = None) -> object:
        given = None if body is None else json.dumps(body).encode()
        request = Request(f"{self.management_url}/api/{path}", method=method, data=given)
        request.add_header("Content-Type", "application/json")
        request.add_header("Authorization", f"Basic {_basic()}")
        with urlopen(request, timeout=60) as answer:
            found = answer.read()
        return json.loads(found) if found else None


def absent() -> str | None:
    """Return why RabbitMQ cannot be started here, or None."""
    return None if SCRIPT.exists() and shutil.which("erl") else "RabbitMQ is not installed (make deps installs it)"


@contextmanager
def running(directory: Path) -> Iterator[Server]:
    """Run a broker with its files in `directory`."""
    amqp, distribution, epmd, management = ports.pick(4)
    environment = _environment(directory, amqp, distribution, epmd)
    _configure(directory, management)
    with Children(directory) as children:
        def ready() -> bool:
            return _greets(amqp) and ports.answers(f"127.0.0.1:{management}")

        def restart() -> None:
            _end_beam(directory)
            children.restart("rabbitmq")
            children.wait("rabbitmq", ready, timeout_s=90)

        server = Server(f"amqp://{USER}:{PASSWORD}@127.0.0.1:{amqp}//", f"http://127.0.0.1:{management}", restart)
        try:
            children.start("epmd", [_epmd(), "-port", str(epmd), "-address", "127.0.0.1"], env=environment)
            children.start("rabbitmq", [str(SCRIPT)], env=environment)
            children.wait("rabbitmq", ready, timeout_s=90)
            yield server
        finally:
            _end_beam(directory)


def _environment(directory: Path, amqp: int, distribution: int, epmd: int) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"], "HOME": str(directory), "LANG": "C.UTF-8",
        "RABBITMQ_NODENAME": f"hone{amqp}@localhost", "RABBITMQ_NODE_PORT": str(amqp),
        "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1", "RABBITMQ_DIST_PORT": str(distribution),
        "ERL_EPMD_PORT": str(epmd), "ERL_EPMD_ADDRESS": "127.0.0.1",
        "RABBITMQ_MNESIA_BASE": f"{directory}/mnesia", "RABBITMQ_LOG_BASE": f"{directory}/log",
        "RABBITMQ_PID_FILE": f"{directory}/pid", "RABBITMQ_CONFIG_FILE": f"{directory}/rabbitmq.conf",
        "RABBITMQ_ENABLED_PLUGINS_FILE": f"{directory}/enabled_plugins", "RABBITMQ_CONF_ENV_FILE": "/dev/null",
        "RABBITMQ_ADVANCED_CONFIG_FILE": f"{directory}/advanced.config",
        "RABBITMQ_GENERATED_CONFIG_DIR": f"{directory}/generated",
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
    }


def _configure(directory: Path, management: int) -> None:
    for name in ("mnesia", "log", "generated"):
        (directory / name).mkdir(parents=True)
    (directory / "enabled_plugins").write_text("[rabbitmq_management].")
    (directory / "rabbitmq.conf").write_text("\n".join([
        f"default_user = {USER}", f"default_pass = {PASSWORD}", "log.file.level = warning",
        f"management.tcp.port = {management}", "management.tcp.ip = 127.0.0.1", "collect_statistics_interval = 1000",
        ""]))


def _greets(port: int) -> bool:
    """Return whether a server speaks AMQP on a port: it answers a wrong header with its own."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.settimeout(1)
            connection.sendall(b"AMQP\x00\x00\x09\x00")
            return bool(connection.recv(8))
    except OSError:
        return False


def _epmd() -> str:
    found = sorted(Path("/usr/lib/erlang").glob("erts-*/bin/epmd"))
    return shutil.which("epmd") or str(found[-1])


def _end_beam(directory: Path) -> None:
    """Kill the node: its start script passes no signals on."""
    written = directory / "pid"
    if written.exists() and psutil.pid_exists(int(written.read_text())):
        psutil.Process(int(written.read_text())).kill()


def _basic() -> str:
    return base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
