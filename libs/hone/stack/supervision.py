"""supervisord: its configuration, its start, and calls over its unix socket."""

import hashlib
import http.client
import os
import shlex
import socket
import subprocess
import sys
import tempfile
import xmlrpc.client
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from hone.stack.processes import Process, forked

SERVICES = "services"
POSTGRES = "postgres"
DAEMON = "hone.stack.daemon"
"""The module of supervisord's process."""
_CALL_S = 10.0
_SHUTDOWN = 6  # supervisor.xmlrpc.Faults.SHUTDOWN_STATE, whose module takes long to import
_PERSISTENT = {"startsecs": "1", "startretries": "1000000"}
_RELUCTANT = {"startsecs": "5", "startretries": "2"}
"""For a process that ends at its start where this machine lacks what it needs: it stays FATAL then, with its reason."""
STOP_S = 6
"""Seconds a process has between SIGTERM and SIGKILL."""
_SOCKET_LENGTH = 90  # of the 107 characters a socket's path may have; supervisord appends its pid


class SupervisorAway(ConnectionError):
    """supervisord does not answer on its socket."""


@dataclass(frozen=True)
class Status:
    """supervisord's status of a process; `state` is one of its words: RUNNING, STARTING, BACKOFF, …"""

    name: str
    state: str
    pid: int | None
    uptime_s: float
    reason: str


def configuration(state: Path, services: list[Process], postgres: Process | None) -> str:
    """Return supervisord's configuration: it starts PostgreSQL at once and services when it is asked to.

    Groups end in reverse order, so that PostgreSQL ends last.
    """
    sections = [_daemon(state)]
    if postgres:
        sections.append(_program(postgres, {"priority": "10", "autostart": "true", "stopsignal": "INT"}))
    sections += [_program(process, {"priority": _priority(process), "autostart": "false"}) for process in services]
    names = ",".join(process.name for process in services)
    sections.append(_section(f"group:{SERVICES}", {"programs": names, "priority": "20"}) if services else "")
    return "\n".join(sections)


def start(state: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start supervisord on `<state>/supervisord.conf`, in a session of its own, which Ctrl-C does not reach."""
    _make_socket_directory(state)
    with (state / "logs" / "supervisord.err").open("ab") as errors:
        options = ["--nodaemon", "--silent", "-c", str(state / "supervisord.conf")]
        return subprocess.Popen(
            [sys.executable, "-m", DAEMON, *options],
            cwd=state, env=dict(environment), stdin=subprocess.DEVNULL, stdout=errors, stderr=errors,
            start_new_session=True)


class Supervisor:
    """Calls to a running supervisord. Every method raises SupervisorAway if none answers."""

    def __init__(self, state: Path) -> None:
        self._socket = socket_path(state)

    def answers(self) -> bool:
        """Return whether supervisord answers and is running."""
        try:
            return cast(dict[str, str], self._call("getState"))["statename"] == "RUNNING"
        except SupervisorAway:
            return False

    def start_services(self) -> None:
        """Start every service without waiting for it."""
        self._call("startProcessGroup", SERVICES, False)

    def start(self, name: str) -> None:
        """Start a service that was stopped."""
        self._call("startProcess", f"{SERVICES}:{name}", False)

    def stop(self, name: str) -> None:
        """Stop a service and keep it stopped."""
        self._call("stopProcess", f"{SERVICES}:{name}", True)

    def processes(self) -> list[Status]:
        """Return the status of every process, by name."""
        found = cast(list[dict[str, Any]], self._call("getAllProcessInfo"))
        return sorted(map(_status, found), key=lambda one: one.name)

    def _call(self, method: str, *arguments: object) -> object:
        try:
            with xmlrpc.client.ServerProxy("http://localhost", transport=_Transport(self._socket)) as proxy:
                return cast(object, getattr(proxy.supervisor, method)(*arguments))
        except (OSError, http.client.HTTPException, xmlrpc.client.ProtocolError) as error:
            raise SupervisorAway(f"supervisord does not answer on {self._socket}: {error}") from error
        except xmlrpc.client.Fault as fault:
            if fault.faultCode != _SHUTDOWN:
                raise
            raise SupervisorAway("supervisord is ending") from fault


class _Transport(xmlrpc.client.Transport):
    """XML-RPC over a unix socket, with a deadline: a frozen supervisord must not freeze its callers."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def make_connection(self, _: object) -> http.client.HTTPConnection:
        return _Connection(self._path)


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=_CALL_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(_CALL_S)
        self.sock.connect(str(self._path))


def socket_path(state: Path) -> Path:
    """Return the socket's path: in `state`, or in a private directory if that path is too long for a socket."""
    path = state / "supervisor.sock"
    if len(bytes(path)) <= _SOCKET_LENGTH:
        return path
    name = f"hone-{os.getuid()}-{hashlib.sha256(bytes(state)).hexdigest()[:16]}"
    return Path(tempfile.gettempdir()) / name / path.name


def remove_socket(state: Path) -> None:
    """Remove the socket that a killed supervisord left behind."""
    path = socket_path(state)
    path.unlink(missing_ok=True)
    if path.parent != state and path.parent.exists():
        path.parent.rmdir()


def _make_socket_directory(state: Path) -> None:
    private = socket_path(state).parent
    private.mkdir(mode=0o700, exist_ok=True)
    if private.stat().st_uid != os.getuid() or private.is_symlink():
        raise PermissionError(f"{private} belongs to another user; remove it")


def _daemon(state: Path) -> str:
    daemon = {
        "logfile": "logs/supervisord.log", "logfile_maxbytes": "4MB", "logfile_backups": "1",
        "pidfile": "supervisord.pid", "umask": "077", "minfds": "256",
    }
    if os.getuid() == 0:
        daemon["user"] = "root"  # without it supervisord warns
    interface = {"supervisor.rpcinterface_factory": "supervisor.rpcinterface:make_main_rpcinterface"}
    return "\n".join([
        _section("unix_http_server", {"file": str(socket_path(state)), "chmod": "0700"}),
        _section("supervisord", daemon), _section("rpcinterface:supervisor", interface)])


def _program(process: Process, options: Mapping[str, str]) -> str:
    pairs = ",".join(f'{key}="{value}"' for key, value in process.environment.items())
    return _section(f"program:{process.name}", {
        "command": shlex.join(process.command), "environment": pairs,
        "autorestart": "true", **(_PERSISTENT if process.needed else _RELUCTANT),
        "stopwaitsecs": str(STOP_S), "redirect_stderr": "true",
        "stdout_logfile": f"logs/{process.name}.log",  # in the working directory, the state
        "stdout_logfile_maxbytes": "16MB", "stdout_logfile_backups": "2", **options})


def _priority(process: Process) -> str:
    return "21" if forked(process.command) else "20"  # which do not wait until modules are loaded


def _section(name: str, options: Mapping[str, str]) -> str:
    for key, value in options.items():
        if "\n" in value or " ;" in value:  # a comment begins there
            raise ValueError(f"{name}, {key}: found {value!r}, expected one line without ' ;'")
    lines = [f"{key} = {value}".replace("%", "%%") for key, value in options.items()]
    return "\n".join([f"[{name}]", *lines, ""])


def _status(info: dict[str, Any]) -> Status:
    running = info["pid"] != 0
    uptime = float(info["now"] - info["start"]) if running else 0.0
    return Status(info["name"], info["statename"], info["pid"] or None, uptime, info["spawnerr"])
