"""The secrets of a deployment in containers: made once at random, and handed to each service as files.

`python -m hone.stack.secret_files DIRECTORY` writes them. DIRECTORY/made holds what was made, and is never overwritten.
Each other directory is a volume with what some services may read: it is written again at each start.
"""

import fcntl
import os
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path

from hone.spec import settings
from hone.spec.problems import Invalid
from hone.stack import certificate

MADE = "made"
VOLUMES = ("owner", "worker", "gateway", "stack", "rabbitmq", "objects", "door", "sandbox")
"""Directories that services mount. Each service has only those that it needs."""

_RANDOM = ("postgres", "worker", "gateway", "rabbitmq", "objects", "stack")
MADE_NAMES = (*_RANDOM, "door.cert", "door.key")
"""Files of the directory `made`."""

_DOOR_NAMES = ("door", "localhost")


def write(root: Path, given: Mapping[str, str]) -> None:
    """Make the secrets that do not exist yet, and write every volume's files.

    `given` are HONE_* URLs of servers that are not the deployment's own: they are written in place of its own.
    Of two starts at once, the second waits for the first.
    """
    (root / MADE).mkdir(mode=0o700, exist_ok=True)
    with (root / MADE / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _write(root, given)


def _write(root: Path, given: Mapping[str, str]) -> None:
    for name, text in files(_made(root / MADE), given).items():
        _replace(root / name, text, mode=0o444)  # servers have users of their own; who mounts a file may read it


def files(made: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Return the text of every file by volume and name."""
    def url(setting: str, own: str) -> str:
        return given.get(setting) or own

    return {
        "owner/password": made["postgres"],
        "owner/database-url": url("HONE_OWNER_DATABASE_URL", f"postgresql://hone_owner:{made['postgres']}@postgres/hone"),
        "worker/database-url": url("HONE_DATABASE_URL", f"postgresql://hone_worker_login:{made['worker']}@postgres/hone"),
        "gateway/database-url": url(
            "HONE_GATEWAY_DATABASE_URL", f"postgresql://hone_gateway_login:{made['gateway']}@postgres/hone"),
        "stack/token": made["stack"],
        "sandbox/token": made["stack"],
        "stack/objects-url": url("HONE_OBJECTS_URL", f"s3://hone:{made['objects']}@objects:9000/hone"),
        "stack/broker-url": url("HONE_BROKER_URL", f"amqp://hone:{made['rabbitmq']}@rabbitmq//"),
        "rabbitmq/rabbitmq.conf": f"default_user = hone\ndefault_pass = {made['rabbitmq']}\nloopback_users = none\n",
        "objects/user": "hone",
        "objects/password": made["objects"],
        "objects/seaweedfs.json": _seaweedfs(made["objects"]),
        "door/cert.pem": made["door.cert"],
        "door/key.pem": made["door.key"]}


def _seaweedfs(password: str) -> str:
    """Return the one user of SeaweedFS: without a file of users it serves everybody."""
    return ('{"identities": [{"name": "hone", "actions": ["Admin"], "credentials": [{"accessKey": "hone", '
            f'"secretKey": "{password}"' "}]}]}\n")


def _made(folder: Path) -> dict[str, str]:
    for name in _RANDOM:
        _keep(folder / name, secrets.token_hex(24))
    if not (folder / "door.cert").exists():  # written after the key, so that the two belong together
        cert, key = certificate.self_signed(_DOOR_NAMES)
        _replace(folder / "door.key", key, mode=0o400)
        _replace(folder / "door.cert", cert, mode=0o400)
    return {name: (folder / name).read_text() for name in MADE_NAMES}


def _keep(path: Path, text: str) -> None:
    if not path.exists():
        _replace(path, text, mode=0o400)


def _replace(path: Path, text: str, mode: int) -> None:
    """Write the file as a whole: a start that was killed leaves no half of a secret."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    unfinished = path.with_name(path.name + ".new")
    unfinished.unlink(missing_ok=True)
    with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(path)


def main(directory: str) -> None:
    """Write the secrets and say where they are."""
    root = Path(directory)
    existed = (root / MADE / _RANDOM[0]).exists()
    try:
        write(root, settings.resolved(os.environ))
    except (Invalid, OSError) as error:
        sys.exit(f"error: {error}")
    print(f"the secrets {'existed already' if existed else 'were made now'}")


if __name__ == "__main__":
    main(*sys.argv[1:])
