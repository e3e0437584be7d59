"""The queues have their guarantees in their declarations; only the URL chooses the kind of broker."""

import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from amqp.exceptions import RecoverableConnectionError  # type: ignore[import-untyped]

from hone.queues import application
from hone.queues.topology import DEAD_ROLLOUTS, ROLLOUTS
from hone.spec.settings import Settings
from hone.stack import certificate


def test_hints_live_in_a_quorum_queue_with_a_dead_letter_queue() -> None:
    promised = ROLLOUTS.queue_arguments
    assert promised["x-queue-type"] == DEAD_ROLLOUTS.queue_arguments["x-queue-type"] == "quorum"
    assert (promised["x-dead-letter-exchange"], promised["x-dead-letter-routing-key"]) == ("", DEAD_ROLLOUTS.name)
    assert ROLLOUTS.durable


def test_the_url_decides_the_broker(tmp_path: Path) -> None:
    folder = application.create(Settings.model_validate({"broker_url": f"filesystem://{tmp_path}/b"})).conf
    rabbit = application.create(Settings.model_validate({"broker_url": "amqp://u:p@host//"})).conf
    assert folder.broker_transport_options["data_folder_in"] == str(tmp_path / "b")
    assert folder.broker_transport_options["polling_interval"] == 0.01
    assert rabbit.broker_transport_options == {"confirm_publish": True}


@pytest.mark.parametrize(("name", "reason"), [("elsewhere", "CERTIFICATE_VERIFY_FAILED"), ("localhost", None)])
def test_a_broker_shows_a_certificate_of_its_own_name(
    name: str, reason: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The server at localhost ends after the handshake."""
    cert, key = certificate.self_signed([name])
    (tmp_path / "cert.pem").write_text(cert)
    (tmp_path / "key.pem").write_text(key)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as pool:
        server.settimeout(20)
        pool.submit(shake_hands, server, context)
        broker = application.create(Settings(broker_url=f"amqps://u:p@localhost:{server.getsockname()[1]}//"))
        with pytest.raises((OSError, RecoverableConnectionError)) as ended:
            broker.connection_for_write(connect_timeout=5).transport.establish_connection()
    assert getattr(ended.value, "reason", None) == reason


def shake_hands(server: socket.socket, context: ssl.SSLContext) -> None:
    connection, _ = server.accept()
    with connection, suppress(OSError), context.wrap_socket(connection, server_side=True):
        pass


@pytest.mark.parametrize(("option", "value"), [
    ("accept_content", ["json"]), ("task_serializer", "json"), ("task_acks_late", True),
    ("task_acks_on_failure_or_timeout", False), ("task_ignore_result", True), ("result_backend", None),
    ("worker_enable_remote_control", False), ("worker_detect_quorum_queues", True), ("worker_prefetch_multiplier", 1),
])
def test_the_applications_promises(option: str, value: object) -> None:
    conf = application.create(Settings.model_validate({"broker_url": "amqp://u:p@host//"})).conf
    assert conf[option] == value
