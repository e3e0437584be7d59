"""A broker that is away costs the sender a moment and a log line."""

import logging
import socket

import pytest

from hone.queues.hints import Hints
from hone.spec.settings import Settings


def hints(port: int) -> Hints:
    return Hints(Settings.model_validate({"broker_url": f"amqp://guest:guest@127.0.0.1:{port}//"}))


def test_a_broker_that_refuses_is_logged_and_does_no_harm(caplog: pytest.LogCaptureFixture) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        sender = hints(taken.getsockname()[1])
        with caplog.at_level(logging.WARNING):
            assert [sender.send(1), sender.send(3)] == [0, 0]
    assert [record.message.split(":")[0] for record in caplog.records] == ["hints not sent"] * 2


@pytest.mark.timeout(30)
def test_a_broker_that_never_answers_does_not_hold_the_sender() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        assert hints(silent.getsockname()[1]).send(1) == 0


def test_a_folder_that_went_away_is_survived_and_used_again(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("broker")
    sender = Hints(Settings.model_validate({"broker_url": f"filesystem://{folder}"}))
    assert sender.send(1) == 1
    folder.rename(folder.with_name("elsewhere"))
    assert sender.send(1) == 0
    folder.mkdir()
    assert sender.send(1) == 1
