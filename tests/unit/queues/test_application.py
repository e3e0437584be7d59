"""The queues have their guarantees in their declarations; only the URL chooses the kind of broker."""

from pathlib import Path

import pytest

from hone.queues import application
from hone.queues.topology import DEAD_ROLLOUTS, ROLLOUTS
from hone.spec.settings import Settings


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


@pytest.mark.parametrize(("option", "value"), [
    ("accept_content", ["json"]), ("task_serializer", "json"), ("task_acks_late", True),
    ("task_acks_on_failure_or_timeout", False), ("task_ignore_result", True), ("result_backend", None),
    ("worker_enable_remote_control", False), ("worker_detect_quorum_queues", True), ("worker_prefetch_multiplier", 1),
])
def test_the_applications_promises(option: str, value: object) -> None:
    conf = application.create(Settings.model_validate({"broker_url": "amqp://u:p@host//"})).conf
    assert conf[option] == value
