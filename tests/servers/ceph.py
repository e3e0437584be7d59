"""Ceph's object gateway: an independent S3 server. Its monitor, its disk and all its files lie in one directory."""

import json
import os
import shutil
import signal
import subprocess
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from string import Template

from hone.stack import ports
from tests.servers.children import Children

_PROGRAMS = ("radosgw", "ceph-mon", "ceph-osd", "ceph")
_CONFIG = Template("""[global]
fsid = $fsid
mon host = [v2:127.0.0.1:$mon2/0,v1:127.0.0.1:$mon1/0]
mon initial members = a
public addr = 127.0.0.1
cluster addr = 127.0.0.1
ms bind ipv6 = false
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
paxos propose interval = 0.05
paxos min wait = 0.01
mon osd initial require min compat client = luminous
osd crush chooseleaf type = 0
mon allow pool size one = true
mon warn on pool no redundancy = false
mon max pg per osd = 2000
log file = $directory/$$name.ceph.log
run dir = $directory
admin socket = $directory/$$name.asok
pid file = $directory/$$name.pid
mon data = $directory/mon
osd data = $directory/osd
osd objectstore = bluestore
bluestore block size = 4294967296
bluestore block create = true
bluestore fsck on mount = false
osd memory target = 939524096
debug ms = 0
debug osd = 0
osd class load list = *
osd class default list = *
keyring = $directory/keyring
[client.rgw]
keyring = $directory/keyring
rgw frontends = beast endpoint=127.0.0.1:$rgw tcp_nodelay=1
rgw data = $directory/rgw
rgw thread pool size = 64
rgw dns name = localhost
rgw init timeout = 60
""")


def absent() -> str | None:
    """Return why Ceph cannot be started here, or None."""
    missing = [program for program in _PROGRAMS if shutil.which(program) is None]
    return f"Ceph is not installed: no {', '.join(missing)} (make deps installs it)" if missing else None


@contextmanager
def running(directory: Path, access_key: str, secret_key: str) -> Iterator[tuple[str, Callable[[], None]]]:
    """Run an S3 server with one user; yield its host:port, and a function that kills it and starts it again."""
    mon2, mon1, rgw = ports.pick(3)
    for name in ("mon", "osd", "rgw"):
        (directory / name).mkdir(parents=True)
    fsid = str(uuid.uuid4())
    (directory / "ceph.conf").write_text(
        _CONFIG.substitute(fsid=fsid, directory=directory, mon2=mon2, mon1=mon1, rgw=rgw))
    with Children(directory) as children:
        ceph = _Ceph(directory, children)
        ceph.make_keys()
        ceph.start_monitor(fsid, f"[v2:127.0.0.1:{mon2},v1:127.0.0.1:{mon1}]")
        ceph.start_disk()
        ceph.start_gateway(f"127.0.0.1:{rgw}")
        ceph.make_user(access_key, secret_key)
        yield f"127.0.0.1:{rgw}", lambda: ceph.restart(f"127.0.0.1:{rgw}")


class _Ceph:
    """The steps of a cluster's first start, in order."""

    def __init__(self, directory: Path, children: Children) -> None:
        self._directory, self._children = directory, children
        self._environment = {**os.environ, "CEPH_CONF": str(directory / "ceph.conf")}

    def make_keys(self) -> None:
        self._call("ceph-authtool", "--create-keyring", "keyring", "--gen-key", "-n", "mon.", "--cap", "mon", "allow *")
        everything = [word for what in ("mon", "osd", "mgr") for word in ("--cap", what, "allow *")]
        for client in ("client.admin", "client.rgw"):
            self._call("ceph-authtool", "keyring", "--gen-key", "-n", client, *everything)

    def start_monitor(self, fsid: str, addresses: str) -> None:
        self._call("monmaptool", "--create", "--clobber", "--fsid", fsid, "--addv", "a", addresses, "monmap")
        self._call("ceph-mon", "--mkfs", "-i", "a", "--monmap", "monmap", "--keyring", "keyring")
        self._start("mon", "ceph-mon", "-i", "a", "-f")

    def start_disk(self) -> None:
        identity, key = str(uuid.uuid4()), self._call("ceph-authtool", "--gen-print-key").strip()
        self._call("ceph", "osd", "new", identity, "-i", "-", given=json.dumps({"cephx_secret": key}))
        self._call("ceph-authtool", "--create-keyring", "osd/keyring", "-n", "osd.0", "--add-key", key)
        self._call("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", identity, "--keyring", "osd/keyring")
        self._start("osd", "ceph-osd", "-i", "0", "--keyring", "osd/keyring", "-f")
        self._wait_for_disk()

    def start_gateway(self, address: str) -> None:
        self._start("rgw", "radosgw", "-n", "client.rgw", "-f")
        self._children.wait("rgw", lambda: ports.answers(address), timeout_s=90)

    def restart(self, address: str) -> None:
        """Kill gateway and disk and start them again on the same files."""
        self._children.stop("rgw", signal.SIGKILL)
        for socket in self._directory.glob("*.asok"):
            socket.unlink(missing_ok=True)
        self._children.restart("osd")
        self._wait_for_disk()
        self.start_gateway(address)

    def _wait_for_disk(self) -> None:
        self._children.wait("osd", lambda: "1 up" in self._call("ceph", "osd", "stat"), timeout_s=60)

    def make_user(self, access_key: str, secret_key: str) -> None:
        self._call("radosgw-admin", "-n", "client.rgw", "user", "create", "--uid=hone", "--display-name=hone",
                   f"--access-key={access_key}", f"--secret={secret_key}")

    def _start(self, name: str, *command: str) -> None:
        self._children.start(name, list(command), cwd=self._directory, env=self._environment)

    def _call(self, *command: str, given: str = "") -> str:
        done = subprocess.run(command, cwd=self._directory, env=self._environment, input=given, text=True,
                              capture_output=True, timeout=90, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{command[0]} ended with {done.returncode}: {done.stderr[-2000:]}")
        return done.stdout
