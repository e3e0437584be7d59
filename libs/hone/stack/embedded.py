"""The embedded stack: every service as a process on this machine, and the servers that no URL is given for."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from psycopg import OperationalError

from hone.spec import destinations
from hone.spec import settings as service_settings
from hone.stack import door_identity, leftovers, ports, postgres, processes, provision, supervision
from hone.stack.interruption import rest
from hone.stack.lock import Lock
from hone.stack.processes import Process
from hone.stack.record import Record, load, load_or_create, reachable
from hone.stack.supervision import Status, Supervisor
from hone.store import objects

_ENDED = {"BACKOFF", "FATAL"}
"""States of a process that ended soon after its start."""


class StackNotReady(Exception):
    """A part of the stack is not ready in time. The message names it, the last line that it logged, and its log."""


class Stack:
    """The stack of a state directory. As a context manager it starts at once and stops at the end.

    settings   HONE_* variables without HONE_, in small letters: {"lease_s": 2}; they win over those of `environ`
    counts     number of processes by kind: {"trainer": 2}; other kinds have one process
    commands   commands by kind, instead of the kind's own module: {"reward": [sys.executable, "stub.py"]}
    environ    environment of every process; by default the environment of this process

    The stack uses a server whose URL is given (database_url, broker_url, objects_url) and starts the others itself.
    """

    def __init__(
        self, state: str | Path, settings: Mapping[str, object] | None = None, counts: Mapping[str, int] | None = None,
        commands: Mapping[str, list[str]] | None = None, environ: Mapping[str, str] | None = None,
    ) -> None:
        self.state = Path(state).resolve()
        self.supervisor = Supervisor(self.state)
        self._environment = _checked({**(os.environ if environ is None else environ), **_variables(settings or {})})
        self._counts, self._commands = counts or {}, commands or {}
        self._lock = Lock(self.state)
        self._daemon: subprocess.Popen[bytes] | None = None
        self._processes: list[Process] = []
        self._spared = set[str]()  # processes that ended at their start, and that the stack does not need

    def __enter__(self) -> "Stack":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self, timeout_s: float = 60.0) -> None:
        """Start every process. Processes that a killed stack left behind are ended first; its data stays.

        Returns when services are started; `wait_ready` waits for them. The database gets `timeout_s` seconds to answer,
        recovery after a kill included. Raises StackRunning, StackNotReady, StoreRefused, SchemaMismatch,
        MigrationFailed, and ValueError for a wrong setting.
        """
        self.state.mkdir(mode=0o711, parents=True, exist_ok=True)
        self._lock.acquire()
        try:
            self._start(time.monotonic() + timeout_s)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End every process, services first, PostgreSQL last. Does nothing if this object did not start them."""
        if not self._lock.held:
            return
        if self._daemon:
            self._daemon.terminate()
            self.supervisor.answers()  # wakes it
        clear(self.state)
        if self._daemon:
            self._daemon.wait()
            self._daemon = None
        self._lock.release()

    def alive(self) -> bool:
        """Return whether the supervisor still runs."""
        return self._daemon is not None and self._daemon.poll() is None

    def restart(self) -> None:
        """Start everything again after the supervisor was killed."""
        self.stop()
        self.start()

    def wait_ready(self, timeout_s: float = 60.0) -> None:
        """Return when every process runs, and every process with an address listens. Raises StackNotReady."""
        until = time.monotonic() + timeout_s
        while waiting := self._waiting():
            if time.monotonic() > until or not self.alive():
                why = f"not ready after {timeout_s:g} s" if self.alive() else "supervisord ended"
                raise StackNotReady("\n".join([f"{why}, while it waited for", *map(self._awaited, waiting)]))
            rest(0.1)

    def record(self) -> Record:
        """Return the addresses and the API key: the content of stack.json."""
        return load(self.state)

    def status(self) -> list[Status]:
        """Return the supervisor's status of each process."""
        return self.supervisor.processes()

    def pids(self) -> dict[str, int]:
        """Return the pid of each running process by name; the supervisor's name is `supervisord`."""
        found = {one.name: one.pid for one in self.status() if one.pid}
        return {**found, "supervisord": self._daemon.pid} if self._daemon else found

    def kill(self, name: str, number: int = signal.SIGKILL) -> int:
        """Send a signal to a process and return its pid. Raises KeyError if it does not run."""
        pid = self.pids()[name]
        os.kill(pid, number)
        return pid

    def _start(self, until: float) -> None:
        _make_directories(self.state)
        clear(self.state)
        kept = load_or_create(self.state)
        given = self._environment
        self._processes = processes.services(self._counts, self._commands, kept, given)
        cluster = None if given.get("HONE_DATABASE_URL") else self._cluster(kept)
        urls = provision.embedded(kept, cluster) if cluster else provision.external(
            kept, given["HONE_DATABASE_URL"], given.get("HONE_GATEWAY_DATABASE_URL", ""))
        self._fill(kept, urls)
        self._supervise(kept, cluster)
        self._provide(kept, urls, until)
        if self._processes:
            self.supervisor.start_services()

    def _cluster(self, kept: Record) -> postgres.Cluster:
        cluster = postgres.Cluster(postgres.make_home(self.state, kept.identity), kept.port(supervision.POSTGRES))
        cluster.create(kept.password)
        return cluster

    def _fill(self, kept: Record, urls: provision.Urls) -> None:
        """Write the URLs and addresses of this start into the record."""
        kept.database_url, kept.gateway_database_url = urls.worker, urls.gateway
        kept.stack_token = service_settings.read(self._environment).stack_token or kept.stack_token
        kept.objects_url = self._environment.get("HONE_OBJECTS_URL") or _folder_url("file", self.state / "objects")
        kept.broker_url = self._environment.get("HONE_BROKER_URL") or _folder_url("filesystem", self.state / "broker")
        kept.addresses = {one.name: one.address for one in self._processes if one.address}
        kept.door_address = reachable(kept.addresses["door-0"]) if "door-0" in kept.addresses else ""
        kept.door_certificate = self._identity()["HONE_DOOR_CERT"] if kept.door_address else ""
        kept.gateway_url, kept.console_url = (_url(kept.addresses.get(name)) for name in ("gateway-0", "console-0"))
        kept.save(self.state)
        objects.connect(kept.objects_url)

    def _supervise(self, kept: Record, cluster: postgres.Cluster | None) -> None:
        server = None
        if cluster:
            command = (sys.executable, "-m", "hone.stack.postgres", str(cluster.home), str(cluster.port))
            server = Process(supervision.POSTGRES, command, {}, f"127.0.0.1:{cluster.port}")
        text = supervision.configuration(self.state, self._processes, server)
        (self.state / "supervisord.conf").write_text(text)
        self._daemon = supervision.start(self.state, self._children_environment(kept))

    def _children_environment(self, kept: Record) -> dict[str, str]:
        threads = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        return {
            **threads, **self._environment, **processes.addresses(self._processes),
            "HOME": self._environment.get("HOME") or str(self.state),
            "HONE_DATABASE_URL": kept.database_url, "HONE_GATEWAY_DATABASE_URL": kept.gateway_database_url,
            "HONE_OBJECTS_URL": kept.objects_url, "HONE_BROKER_URL": kept.broker_url,
            "HONE_STACK_TOKEN": kept.stack_token, **self._identity(), "HONE_STATE": str(self.state),
            leftovers.MARK: str(self.state)}

    def _identity(self) -> dict[str, str]:
        """Return the variables of the door's certificate: those that are given, or of one of this stack's own."""
        given = {name: self._environment.get(name, "") for name in ("HONE_DOOR_CERT", "HONE_DOOR_KEY")}
        if any(given.values()):
            return given
        own = door_identity.ensure(self.state)
        return {"HONE_DOOR_CERT": str(own.cert), "HONE_DOOR_KEY": str(own.key)}

    def _provide(self, kept: Record, urls: provision.Urls, until: float) -> None:
        """Wait for the database and the supervisor; create tables, logins and the first key."""
        while not self.supervisor.answers():
            self._give_up_after(until, "supervisord does not answer")
        while True:
            try:
                provision.prepare(kept, urls)
                break
            except OperationalError as error:
                self._give_up_after(until, f"the database does not answer: {error}")
        provision.forget_sinks(urls.worker, destinations.names(self._environment.get("HONE_SINKS", "")))
        kept.api_key = provision.first_key(kept, urls.worker)
        kept.save(self.state)

    def _give_up_after(self, until: float, reason: str) -> None:
        if time.monotonic() > until or not self.alive():
            name = supervision.POSTGRES if self.alive() else "supervisord"
            raise StackNotReady(f"{reason.strip()} ({last_line(self.state, name)}; log {log(self.state, name)})")
        time.sleep(0.02)
        self.supervisor.answers()  # a call wakes the supervisor, which otherwise looks at its processes once a second

    def _waiting(self) -> list[Process]:
        states = {one.name: one.state for one in self.status()}
        self._spared |= {one.name for one in self._processes if not one.needed and states[one.name] in _ENDED}
        return [one for one in self._processes if one.name not in self._spared and not _ready(one, states[one.name])]

    def _awaited(self, process: Process) -> str:
        """Return the part that is waited for, and the last line that the process wrote meanwhile."""
        ready = f"to answer at {reachable(process.address)}" if process.address else "to run"
        return (f"  {process.name} {ready}: {last_line(self.state, process.name)}\n"
                f"    log {log(self.state, process.name)}")


def owner_url(state: Path) -> str:
    """Return the URL at which the owner of the tables reaches the database of the stack in `state`.

    Raises StackMissing.
    """
    kept = load(state)
    if not postgres.Cluster(postgres.home(state), 0).data.exists():
        return kept.database_url  # a database of one's own: its user owns the tables
    parts = urlsplit(kept.database_url)
    place = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{postgres.SUPERUSER}:{kept.password}@{place}"))


def clear(state: Path) -> None:
    """End every process of the stack in `state`. supervisord, if it runs, ends the others in order."""
    left = leftovers.marked(state)
    daemons = [process for process in left if leftovers.runs(process, supervision.DAEMON)]
    leftovers.end(daemons, grace_s=2 * supervision.STOP_S)
    leftovers.end(leftovers.marked(state), grace_s=supervision.STOP_S)
    data = postgres.Cluster(postgres.home(state), 0).data
    leftovers.end(leftovers.working_in(data), signal.SIGINT, grace_s=supervision.STOP_S)
    supervision.remove_socket(state)


def _make_directories(state: Path) -> None:
    for name in ("logs", "objects", "broker"):
        (state / name).mkdir(mode=0o700, exist_ok=True)


def _variables(settings: Mapping[str, object]) -> dict[str, str]:
    given = {name: f"HONE_{name.upper()}" for name in settings}
    known = service_settings.VARIABLES.keys() | service_settings.OTHER_VARIABLES
    if unknown := sorted(name for name, variable in given.items() if variable not in known):
        raise ValueError(f"settings: found {unknown[0]!r}, expected names of docs/settings.md without HONE_, in small "
                         "letters")
    return {given[name]: str(value) for name, value in settings.items()}


def _checked(environment: Mapping[str, str]) -> Mapping[str, str]:
    """Return the environment, values from files read, if every HONE_* variable is known and fits. Raises Invalid."""
    found = service_settings.resolved(environment)
    service_settings.read(found)
    return found


def _url(address: str | None) -> str:
    return f"http://{reachable(address)}" if address else ""


def _folder_url(scheme: str, folder: Path) -> str:
    return f"{scheme}://{folder}"


def _ready(process: Process, state: str) -> bool:
    if process.address is None:
        return state == "RUNNING"
    return state in {"RUNNING", "STARTING"} and ports.answers(reachable(process.address))


def last_line(state: Path, name: str) -> str:
    """Return the last line that a process wrote to its log."""
    lines = _lines(log(state, name))
    return lines[-1] if lines else "it wrote nothing"


def log(state: Path, name: str) -> Path:
    """Return the file that a process writes its log to; for one that ended before it had a log, that of its errors."""
    written, errors = (state / "logs" / f"{name}.{end}" for end in ("log", "err"))
    return errors if _lines(errors) and not _lines(written) else written


def _lines(path: Path) -> list[str]:
    return path.read_text(errors="replace").strip().splitlines() if path.exists() else []
