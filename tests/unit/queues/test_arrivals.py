"""A new file is noticed at once, however long the timeout is."""

import threading
import time
from pathlib import Path

import pytest
from kombu import Consumer, Producer

from hone.queues import application, arrivals
from hone.queues.arrivals import Arrivals
from hone.queues.topology import ROLLOUTS
from hone.spec.settings import Settings


def moved(folder: Path) -> None:
    (folder / ".new").touch()
    (folder / ".new").rename(folder / "new")


def test_a_file_that_came_since_the_last_call_is_noticed_at_once(tmp_path: Path) -> None:
    arrivals = Arrivals(tmp_path, poll_s=60)
    moved(tmp_path)
    began = time.monotonic()
    arrivals.wait(60)
    assert time.monotonic() - began < 30
    arrivals.close()


def test_without_a_file_it_waits_for_the_timeout(tmp_path: Path) -> None:
    arrivals = Arrivals(tmp_path, poll_s=60)
    arrivals.wait(0.01)
    arrivals.close()


def test_without_a_watch_it_looks_at_the_folder_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def used_up() -> None:
        raise OSError("too many open files")

    monkeypatch.setattr(arrivals, "INotify", used_up)
    looking = Arrivals(tmp_path, poll_s=0.01)
    began = time.monotonic()
    looking.wait(60)
    assert time.monotonic() - began < 30
    looking.close()


def test_a_message_wakes_a_reader_that_would_look_again_much_later(tmp_path: Path) -> None:
    settings = Settings.model_validate({"broker_url": f"filesystem://{tmp_path}/broker"})
    found = list[str]()
    with application.create(settings, poll_s=60).connection_for_read() as connection:
        application.declare(connection)

        def take(body: str, _: object) -> None:
            found.append(body)

        def send() -> None:
            with application.create(settings).connection_for_write() as other:
                Producer(other.default_channel).publish("x", exchange="", routing_key="rollouts")

        with Consumer(connection.default_channel, [ROLLOUTS], on_message=None, callbacks=[take], no_ack=True):
            sender = threading.Timer(0.05, send)
            sender.start()
            connection.drain_events()
            sender.join()
    assert found == ["x"]
