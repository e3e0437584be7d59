"""Free ports."""

import socket

from hone.stack import ports
from hone.stack.record import Record


def test_picks_different_free_ports_that_no_outgoing_connection_gets() -> None:
    chosen = ports.pick(50)
    assert len(set(chosen)) == 50
    assert max(chosen) < 32768


def test_a_taken_port_is_not_free_and_a_record_moves_on() -> None:
    record = Record(identity="1", password="p", gateway_password="g", worker_password="w")
    port = record.port("gateway-0")
    assert record.port("gateway-0") == port
    with socket.socket() as server:
        server.bind(("127.0.0.1", port))
        server.listen()
        assert not ports.is_free(port)
        assert ports.answers(f"127.0.0.1:{port}")
        assert record.port("gateway-0") != port
    assert not ports.answers(f"127.0.0.1:{port}")
