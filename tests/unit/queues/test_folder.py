"""The broker in a folder: whole messages, taken once, and nothing that a bad file can break."""

from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from kombu import Producer

from hone.queues import application
from hone.queues.hints import Hints
from hone.queues.topology import CLAIM_ROLLOUTS, DEAD_ROLLOUTS, ROLLOUTS
from hone.spec.settings import Settings
from hone.telemetry import tracing


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings.model_validate({"broker_url": f"filesystem://{tmp_path}/broker"})


@pytest.fixture
def channel(settings: Settings) -> Any:
    with application.create(settings).connection_for_read() as connection:
        application.declare(connection)
        yield connection.default_channel


def test_hints_are_empty_messages_for_the_claiming_task(settings: Settings, channel: Any) -> None:
    assert Hints(settings).send(2) == 2
    message = ROLLOUTS(channel).get()
    assert message.headers["task"] == CLAIM_ROLLOUTS
    assert message.payload[:2] == [[], {}]
    assert message.content_type == "application/json"


@pytest.mark.usefixtures("spans")
def test_a_hint_carries_its_place_in_a_trace(settings: Settings, channel: Any) -> None:
    with tracing.span("request", root=True):
        place = tracing.current()
        Hints(settings).send(1)
    Hints(settings).send(1)
    assert [ROLLOUTS(channel).get().headers.get("traceparent") for _ in range(2)] == [place, None]


def test_each_message_is_taken_once_and_in_order(channel: Any) -> None:
    producer = Producer(channel)
    for number in range(3):
        producer.publish(number, exchange="", routing_key="rollouts")
    queue = ROLLOUTS(channel)
    assert [queue.get().payload for _ in range(3)] == [0, 1, 2]
    assert queue.get() is None


def test_a_rejected_message_is_a_dead_letter_and_a_requeued_one_comes_again(channel: Any) -> None:
    Producer(channel).publish("x", exchange="", routing_key="rollouts")
    ROLLOUTS(channel).get().requeue()
    ROLLOUTS(channel).get().reject()
    assert ROLLOUTS(channel).get() is None
    assert DEAD_ROLLOUTS(channel).get().payload == "x"


@pytest.mark.parametrize("data", [
    b"", b"{", b"[]", b'{"properties": 1}', b'{"properties": {"body_encoding": "rot13"}, "body": "x"}',
    b'{"properties": {"body_encoding": "base64"}, "body": "abc"}', b"\xff\xfe\x00"])
def test_a_file_that_is_no_message_is_moved_aside(data: bytes, settings: Settings, channel: Any) -> None:
    folder = Path(channel.data_folder_in)
    (folder / "000_bad.rollouts.msg").write_bytes(data)
    Hints(settings).send(1)
    assert ROLLOUTS(channel).get().headers["task"] == CLAIM_ROLLOUTS
    assert (folder / "000_bad.rollouts.dead.msg").read_bytes() == data


def test_files_that_are_being_written_are_not_seen(channel: Any) -> None:
    (Path(channel.data_folder_in) / ".1_half.rollouts.msg").touch()
    with pytest.raises(Empty):
        channel._get("rollouts")
    assert channel._size("rollouts") == 0


def test_a_purge_removes_this_queues_messages_only(settings: Settings, channel: Any) -> None:
    Hints(settings).send(3)
    Producer(channel).publish("x", exchange="", routing_key="rollouts.dead")
    assert ROLLOUTS(channel).purge() == 3
    assert DEAD_ROLLOUTS(channel).get().payload == "x"


def test_the_folder_holds_nothing_once_everything_is_read(settings: Settings, channel: Any) -> None:
    Hints(settings).send(1)
    ROLLOUTS(channel).get().ack()
    assert list(Path(channel.data_folder_in).iterdir()) == []
