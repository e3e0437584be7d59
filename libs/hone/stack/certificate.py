"""A TLS certificate that signs itself, for a door that has no other one."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

_YEARS = 10
_LOOPBACK = IPv4Address("127.0.0.1")


def self_signed(names: Sequence[str]) -> tuple[str, str]:
    """Return certificate and private key as PEM, for these host names and 127.0.0.1.

    Clients trust the certificate itself: they have it as their root. It is valid for ten years from yesterday on, so
    that a client whose clock is behind accepts it.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
    begin = datetime.now(UTC) - timedelta(days=1)
    alternatives = [*map(x509.DNSName, names), x509.IPAddress(_LOOPBACK)]
    certificate = (
        x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
        .serial_number(x509.random_serial_number()).not_valid_before(begin)
        .not_valid_after(begin + timedelta(days=365 * _YEARS))
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256()))
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return certificate.public_bytes(Encoding.PEM).decode(), private.decode()
