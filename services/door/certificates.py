"""The door's certificate and key, read again when their files change: a renewed certificate needs no restart."""

import logging
from pathlib import Path

import grpc
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from hone.spec.settings import DoorSettings

Stamp = tuple[tuple[int, int, int], ...]
_log = logging.getLogger(__name__)


class Unusable(OSError):
    """The files are no certificate and its key."""


class Certificates:
    """Credentials that grpc asks for at each handshake. Unusable files are logged; the last usable files stay.

    Raises OSError if there are none at first.
    """

    def __init__(self, door: DoorSettings) -> None:
        if door.cert is None or door.key is None:
            raise Unusable("HONE_DOOR_CERT and HONE_DOOR_KEY: found nothing, expected PEM files")
        self._cert, self._key = door.cert, door.key
        self._seen = self._stamp()
        self._first = self._read()

    def credentials(self) -> grpc.ServerCredentials:
        """Return the credentials of a server."""
        return grpc.dynamic_ssl_server_credentials(self._first, self._changed)  # type: ignore[arg-type]  # None: unchanged

    def _changed(self) -> grpc.ServerCertificateConfiguration | None:
        """Return the files' content if it is new and usable. grpc calls this in threads of its own."""
        try:
            stamp = self._stamp()
            if stamp == self._seen:
                return None
            self._seen = stamp
            found = self._read()
        except OSError as error:
            _log.error("the certificate stays as it was: %s", error)
            return None
        _log.info("the certificate was read again: %s", self._cert)
        return found

    def _stamp(self) -> Stamp:
        return tuple((one.st_mtime_ns, one.st_ino, one.st_size) for one in (self._cert.stat(), self._key.stat()))

    def _read(self) -> grpc.ServerCertificateConfiguration:
        cert, key = self._cert.read_bytes(), self._key.read_bytes()
        _expect_pair(cert, key, self._cert, self._key)
        return grpc.ssl_server_certificate_configuration([(key, cert)])


def _expect_pair(cert: bytes, key: bytes, cert_path: Path, key_path: Path) -> None:
    """Raise Unusable unless the key belongs to the first certificate: the two are written one after the other."""
    try:
        certified, own = x509.load_pem_x509_certificate(cert).public_key(), load_pem_private_key(key, None).public_key()
    except (ValueError, TypeError) as error:
        raise Unusable(f"{cert_path} and {key_path}: found {error}, expected PEM files") from error
    forms = [one.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo) for one in (certified, own)]
    if forms[0] != forms[1]:
        raise Unusable(f"{key_path}: found the key of another certificate than {cert_path}")
