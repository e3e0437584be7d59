"""Which broker can the embedded stack use? Compares kombu transports that need no server.

    python benchmarks/probes/broker.py [--seconds 3] [--messages 200]

For each transport: processor time of an idle consumer that polls every 10 ms, time from a hint's publication to its
arrival, whether two consumers share the messages without losing or doubling one, what a consumer killed with a message
in hand loses, how many remain after a purge, and what a reader does with the file of a killed writer. Prints one JSON
object; docs/probes.md tells what was found.
"""

import argparse
import json
import multiprocessing
import os
import signal
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any

from kombu import Connection, Consumer, Exchange, Producer, Queue

from hone.queues.folder import Transport

QUEUE = Queue("probe", Exchange(""), routing_key="probe")
POLL_S = 0.01
Open = Callable[[], Connection]


def transports(folder: Path) -> dict[str, Open]:
    """Return how to open each transport on state below `folder`."""
    (folder / "plain").mkdir()
    (folder / "ours").mkdir()
    options = {name: {"data_folder_in": str(folder / name), "data_folder_out": str(folder / name),
                      "control_folder": str(folder / name), "polling_interval": POLL_S} for name in ("plain", "ours")}
    return {
        "filesystem": lambda: Connection("filesystem://", transport_options=options["plain"]),
        "hone.queues.folder": lambda: Connection("filesystem://", transport=Transport,
                                                 transport_options=options["ours"]),
        "sqlalchemy+sqlite": lambda: Connection(f"sqla+sqlite:///{folder}/queue.db", polling_interval=POLL_S),
    }


def consume(start: Open, pipe: Pipe, acknowledge: bool) -> None:
    """Send (sequence number, seconds since publication) of each message through `pipe`, until killed."""
    def on_message(body: dict[str, float], message: Any) -> None:
        pipe.send((body["n"], time.time() - body["sent"]))
        if acknowledge:
            message.ack()

    with start() as connection, Consumer(connection, [QUEUE], callbacks=[on_message], accept=["json"]):
        connection.transport.polling_interval = POLL_S
        pipe.send(None)
        while True:
            try:
                connection.drain_events(timeout=1)
            except socket.timeout:  # noqa: UP041 — kombu raises the old name
                continue
            except ValueError as error:
                pipe.send(repr(error))


class Reader:
    """A consumer in a process of its own."""

    def __init__(self, start: Open, acknowledge: bool = True) -> None:
        context = multiprocessing.get_context("fork")
        self.pipe, child = context.Pipe()
        self.process = context.Process(target=consume, args=(start, child, acknowledge), daemon=True)
        self.process.start()
        self.pipe.recv()

    def received(self, quiet_s: float) -> list[Any]:
        """Return everything received until nothing came for `quiet_s`."""
        found = []
        while self.pipe.poll(quiet_s):
            found.append(self.pipe.recv())
        return found

    def kill(self) -> None:
        os.kill(self.process.pid or 0, signal.SIGKILL)
        self.process.join()


def publish(start: Open, numbers: range, pause_s: float = 0.0) -> float:
    """Publish one message for each number and return the median seconds a publication took."""
    took = []
    with start() as connection:
        producer = Producer(connection.default_channel)
        for n in numbers:
            before = time.time()
            producer.publish({"n": n, "sent": before}, routing_key="probe", exchange="", declare=[QUEUE])
            took.append(time.time() - before)
            time.sleep(pause_s)
    return statistics.median(took)


def idle_cost(start: Open, seconds: float) -> float:
    """Return the share of a core that an idle consumer takes."""
    reader = Reader(start)
    before = _cpu_s(reader)
    time.sleep(seconds)
    share = (_cpu_s(reader) - before) / seconds
    reader.kill()
    return share


def _cpu_s(reader: Reader) -> float:
    fields = Path(f"/proc/{reader.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def latency(start: Open, messages: int) -> dict[str, float]:
    reader = Reader(start)
    publish_s = publish(start, range(messages), pause_s=0.013)
    seconds = sorted(item[1] for item in reader.received(0.5) if isinstance(item, tuple))
    reader.kill()
    return {"publish_ms": 1e3 * publish_s, "arrival_p50_ms": 1e3 * statistics.median(seconds),
            "arrival_p99_ms": 1e3 * seconds[int(0.99 * (len(seconds) - 1))]}


def sharing(start: Open, messages: int) -> dict[str, int]:
    """Two readers against one fast writer: what was lost, doubled, or ended a call of a reader."""
    readers = [Reader(start), Reader(start)]
    publish(start, range(messages))
    found = [item for reader in readers for item in reader.received(1.0)]
    for reader in readers:
        reader.kill()
    numbers = [item[0] for item in found if isinstance(item, tuple)]
    return {"lost": messages - len(set(numbers)), "doubled": len(numbers) - len(set(numbers)),
            "read_errors": sum(isinstance(item, str) for item in found)}


def half_a_file(start: Open) -> str:
    """Return what a reader meets in a file that a killed writer left empty; only for transports of files."""
    with start() as connection:
        folder = connection.transport_options.get("data_folder_in")
    if folder is None:
        return "has no files"
    reader = Reader(start)
    Path(folder, "1_x.probe.msg").touch()
    found = reader.received(0.5)
    reader.kill()
    return f"drain_events raises {found[0]}" if found else "set aside"


def kill_loss(start: Open) -> int:
    """Return how many of 3 messages nobody gets after a consumer that held them unacknowledged was killed."""
    first = Reader(start, acknowledge=False)
    publish(start, range(3))
    first.received(0.5)
    first.kill()
    second = Reader(start)
    found = second.received(1.0)
    second.kill()
    return 3 - len(found)


def purge(start: Open) -> int:
    """Return the number of messages left after 50 were published and purged."""
    publish(start, range(50))
    with start() as connection:
        bound = QUEUE(connection.default_channel)
        bound.purge()
        return int(bound.queue_declare(passive=True).message_count)


def measure(start: Open, seconds: float, messages: int) -> dict[str, Any]:
    return {"idle_cpu_share": idle_cost(start, seconds), **latency(start, messages // 4),
            **sharing(start, messages), "lost_by_kill_of_3": kill_loss(start), "left_after_purge": purge(start),
            "half_a_file": half_a_file(start)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--messages", type=int, default=400)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = {name: measure(start, options.seconds, options.messages)
                 for name, start in transports(Path(folder)).items()}
    json.dump(found, sys.stdout, indent=2)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
