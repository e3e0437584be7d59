"""A certificate that is renewed while the door serves."""

import asyncio
import logging
import os
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import pytest
import pytest_asyncio

from hone.spec.settings import DoorSettings
from hone.stack import certificate
from services.door.certificates import Certificates, Unusable


class Files:
    """A certificate and its key."""

    def __init__(self, folder: Path) -> None:
        self.cert, self.key = folder / "cert.pem", folder / "key.pem"
        self.renew()

    def renew(self) -> tuple[str, str]:
        pair = certificate.self_signed(("localhost",))
        self.write(*pair)
        return pair

    def write(self, cert: str, key: str) -> None:
        for path, text in ((self.cert, cert), (self.key, key)):
            path.with_suffix(".new").write_text(text)
            os.replace(path.with_suffix(".new"), path)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


@pytest_asyncio.fixture
async def port(files: Files) -> AsyncIterator[int]:
    server = grpc.aio.server()
    port = server.add_secure_port("127.0.0.1:0", Certificates(
        DoorSettings(cert=files.cert, key=files.key)).credentials())
    await server.start()
    yield port
    await server.stop(0)


async def shown(port: int) -> str:
    """Return the certificate that a server shows."""
    return await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", port), timeout=60)


async def test_the_next_client_sees_the_renewed_certificate(files: Files, port: int) -> None:
    first = files.cert.read_text()
    assert (await shown(port)).split() == first.split()
    second, _ = files.renew()
    assert (await shown(port)).split() == second.split() != first.split()


async def test_files_that_do_not_belong_together_change_nothing(
    files: Files, port: int, caplog: pytest.LogCaptureFixture
) -> None:
    first, key = files.cert.read_text(), files.key.read_text()
    other, other_key = certificate.self_signed(("localhost",))
    for cert, its_key in ((other, key), ("no certificate", key), (other, "no key")):
        files.write(cert, its_key)
        with caplog.at_level(logging.ERROR):
            assert (await shown(port)).split() == first.split()
        assert "the certificate stays as it was" in caplog.text
    files.cert.unlink()
    assert (await shown(port)).split() == first.split()
    files.write(other, other_key)
    assert (await shown(port)).split() == other.split()


def test_without_a_usable_pair_the_door_does_not_start(files: Files) -> None:
    with pytest.raises(Unusable, match="found nothing"):
        Certificates(DoorSettings(cert=files.cert))
    files.key.write_text("no key")
    with pytest.raises(Unusable, match="expected PEM files"):
        Certificates(DoorSettings(cert=files.cert, key=files.key))
    files.key.write_text(certificate.self_signed(("localhost",))[1])
    with pytest.raises(Unusable, match="the key of another certificate"):
        Certificates(DoorSettings(cert=files.cert, key=files.key))
