"""The name and the address of a process in a container."""

import urllib.request

import pytest

from hone.spec.settings import Addresses, Settings
from hone.stack import container, ports, readiness
from hone.stack.record import reachable
from hone.telemetry import metrics


def test_a_process_is_named_and_reached_by_its_container() -> None:
    given = {"HONE_INFERENCE_ADDRESS": "inference:9000", "HONE_REWARD_ADDRESS": "reward:8472"}
    assert container.environment("inference", "a1b2", given) == {
        "HONE_PROCESS_NAME": "inference-a1b2", "HONE_INFERENCE_ADDRESS": "a1b2:9000"}
    assert container.environment("inference", "a1b2", {})["HONE_INFERENCE_ADDRESS"] == "a1b2:8471"
    assert container.environment("driver", "c3", {"HONE_LEARNER_ADDRESS": "driver:8475"}) == {
        "HONE_PROCESS_NAME": "driver-c3", "HONE_LEARNER_ADDRESS": "c3:8475"}


def test_a_pods_ip_stays() -> None:
    given = {"HONE_INFERENCE_ADDRESS": "10.1.2.3:8471"}
    assert container.environment("inference", "pod", given)["HONE_INFERENCE_ADDRESS"] == "10.1.2.3:8471"
    for place in ("[fd00::1]:8471", "[::]:8471"):
        given = {"HONE_INFERENCE_ADDRESS": place}
        assert container.environment("inference", "pod", given)["HONE_INFERENCE_ADDRESS"] == place


def test_a_process_answers_on_ipv6() -> None:
    (port,) = ports.pick(1)
    metrics.serve(f"[::]:{port}")
    assert reachable(f"[::]:{port}") == f"[::1]:{port}"
    with urllib.request.urlopen(f"http://[::1]:{port}/metrics", timeout=5) as answer:
        assert answer.status == 200


def test_a_server_that_is_away_is_said_and_waited_for_until_the_time_is_over(
    capsys: pytest.CaptureFixture[str],
) -> None:
    settings = Settings(database_url="postgresql://hone:word@127.0.0.1:1/hone")
    with pytest.raises(readiness.NotReady, match="refused"):
        readiness.wait(settings, timeout_s=0)
    assert "word" not in capsys.readouterr().out
    assert readiness.missing(Settings(broker_url="amqp://u:word@127.0.0.1:1//")) == (
        "ConnectionRefusedError: [Errno 111] Connection refused"
    )
    assert readiness.missing(Settings()) is None


def test_an_address_of_every_interface_and_a_given_name_stay() -> None:
    given = {"HONE_GATEWAY_ADDRESS": "0.0.0.0:80", "HONE_PROCESS_NAME": "door"}
    assert container.environment("gateway", "a1b2", given) == {
        "HONE_PROCESS_NAME": "door", "HONE_GATEWAY_ADDRESS": "0.0.0.0:80"}
    assert container.environment("rollout", "a1b2", {}) == {"HONE_PROCESS_NAME": "rollout-a1b2"}


@pytest.mark.parametrize("kind", ["gateway", "reward"])
def test_a_process_that_does_not_listen_is_unwell(kind: str) -> None:
    nowhere = Settings(addresses=Addresses(gateway="127.0.0.1:1", reward="127.0.0.1:1"))
    with pytest.raises(Exception, match=r"UNAVAILABLE|refused"):
        container.probe(kind, nowhere)
