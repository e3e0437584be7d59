"""What `hone prepare --first-key` and `hone status` say of where a deployment is reached."""

import pytest

from hone.cli import stack


def test_a_deployment_says_where_its_gateway_console_and_door_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for variable, place in (("HONE_LISTEN", "127.0.0.1:8470"), ("HONE_CONSOLE_LISTEN", "0.0.0.0:8476"),
                            ("HONE_DOOR_LISTEN", "127.0.0.1:8477")):
        monkeypatch.setenv(variable, place)
    stack._introduce("tml-first")
    assert capsys.readouterr().out.splitlines() == [
        "gateway  http://127.0.0.1:8470", "console  http://127.0.0.1:8476",
        "gRPC     127.0.0.1:8477  (TLS: docker compose cp door:/run/secrets/door/cert.pem .)",
        "API key  tml-first  (shown this once)"]
