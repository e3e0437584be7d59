"""The certificate of the embedded stack's door, made once and kept below the state directory."""

import os
import socket
from pathlib import Path
from typing import NamedTuple


class Identity(NamedTuple):
    """The PEM files of a server. Clients trust the certificate itself."""

    cert: Path
    key: Path


def ensure(state: Path) -> Identity:
    """Return the files of the stack in `state`; make them for localhost and this machine's name if there are none."""
    folder = state / "door"
    kept = Identity(folder / "cert.pem", folder / "key.pem")
    if not kept.cert.exists():  # written after the key, so that the two belong together
        from hone.stack import certificate  # loaded at the first start alone

        folder.mkdir(mode=0o700, exist_ok=True)
        cert, key = certificate.self_signed(("localhost", socket.gethostname()))
        kept.key.unlink(missing_ok=True)
        with os.fdopen(os.open(kept.key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(key)
        kept.cert.write_text(cert)
    return kept
