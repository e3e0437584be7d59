"""The name and the address of a process in a container."""

import pytest

from hone.spec.settings import Addresses, Settings
from hone.stack import container


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
