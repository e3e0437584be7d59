"""The secrets of a deployment in containers: made once, handed out as files."""

import ssl
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
from cryptography import x509

from hone.stack import secret_files
from hone.stack.certificate import self_signed


def contents(root: Path) -> dict[str, str]:
    return {str(path.relative_to(root)): path.read_text() for path in root.rglob("[!.]*") if path.is_file()}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in (*secret_files.VOLUMES, secret_files.MADE):
        (tmp_path / name).mkdir()
    return tmp_path


def test_a_second_start_changes_nothing(root: Path) -> None:
    secret_files.write(root, {})
    first = contents(root)
    secret_files.write(root, {})
    assert contents(root) == first
    assert len({first[f"made/{name}"] for name in secret_files.MADE_NAMES}) == len(secret_files.MADE_NAMES)


def test_a_start_that_was_killed_is_completed(root: Path) -> None:
    secret_files.write(root, {})
    first = contents(root)
    for name in ("made/worker", "stack/token", "made/door.cert"):
        (root / name).unlink()
    (root / "made" / "postgres.new").write_text("half")
    secret_files.write(root, {})
    second = contents(root)
    assert second["stack/token"] == first["stack/token"]
    assert second["made/worker"] != first["made/worker"]
    assert second["made/worker"] in second["worker/database-url"]
    assert second["door/cert.pem"] == second["made/door.cert"] != first["door/cert.pem"]


def test_two_starts_at_once_hand_out_the_same_secrets(root: Path) -> None:
    command = [sys.executable, "-m", "hone.stack.secret_files", str(root)]
    both = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(2)]
    assert [one.wait(60) for one in both] == [0, 0]
    found = contents(root)
    assert found["stack/token"] == found["made/stack"]
    assert found["owner/password"] == found["made/postgres"]
    secret_files.write(root, {})
    assert contents(root) == found


def test_each_urls_password_is_the_servers(root: Path) -> None:
    secret_files.write(root, {})
    found = contents(root)
    assert f":{found['owner/password']}@postgres" in found["owner/database-url"]
    assert f"default_pass = {found['made/rabbitmq']}\n" in found["rabbitmq/rabbitmq.conf"]
    assert f":{found['made/rabbitmq']}@rabbitmq" in found["stack/broker-url"]
    assert f":{found['objects/password']}@objects" in found["stack/objects-url"]
    assert found["made/postgres"] not in "".join(
        text for name, text in found.items() if not name.startswith(("owner/", "made/")))


def test_a_server_of_ones_own_is_handed_on(root: Path) -> None:
    secret_files.write(root, {})
    secret_files.write(root, {"HONE_OBJECTS_URL": "s3s://key:secret@host/bucket"})
    assert (root / "stack" / "objects-url").read_text() == "s3s://key:secret@host/bucket"
    secret_files.write(root, {})
    assert "@objects:9000" in (root / "stack" / "objects-url").read_text()


def test_the_made_secrets_are_their_owners_and_the_others_readable_where_they_are_mounted(root: Path) -> None:
    secret_files.write(root, {})
    modes = {path.parent.name == "made": path.stat().st_mode & 0o777 for path in root.rglob("[!.]*") if path.is_file()}
    assert modes == {True: 0o400, False: 0o444}


def test_a_client_that_has_the_certificate_trusts_it(tmp_path: Path) -> None:
    cert, key = self_signed(("door", "localhost"))
    (tmp_path / "cert.pem").write_text(cert)
    (tmp_path / "key.pem").write_text(key)
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    extensions = x509.load_pem_x509_certificate(cert.encode()).extensions
    names = extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert names.value.get_values_for_type(x509.DNSName) == ["door", "localhost"]
    server = grpc.server(ThreadPoolExecutor(1))
    port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([(key.encode(), cert.encode())]))
    server.start()
    with grpc.secure_channel(f"127.0.0.1:{port}", grpc.ssl_channel_credentials(cert.encode())) as channel:
        grpc.channel_ready_future(channel).result(timeout=10)
    server.stop(None)
