"""One of our services as a process of its own."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from hone.rpc.client import blocking_channel
from hone.stack import interpreters, ports


@dataclass(frozen=True)
class Service:
    """Its process, and a channel to it."""

    process: "subprocess.Popen[bytes]"
    channel: grpc.Channel


@contextmanager
def running(name: str, **variables: str) -> Iterator[Service]:
    """Run `python -m services.<name>`, with `HONE_*` and other variables on top of this environment.

    Ends it by SIGTERM, unless the test did, and sees that it goes.
    """
    address = f"127.0.0.1:{ports.pick(1)[0]}"
    environ = {**os.environ, f"HONE_{name.upper()}_ADDRESS": address, **variables}
    command = [interpreters.python(name, environ), "-m", f"services.{name}"]
    process = subprocess.Popen(command, env=environ, stderr=subprocess.DEVNULL)
    try:
        with blocking_channel(address) as channel:
            grpc.channel_ready_future(channel).result(180)
            yield Service(process, channel)
        if process.poll() is None:
            process.terminate()
            process.wait(60)
    finally:
        process.kill()
        process.wait()


def refused_field(error: Any) -> tuple[str, str]:
    """Return the field that a refusal names in its rich details, and its whole message."""
    status = rpc_status.from_call(error)
    detail = error_details_pb2.BadRequest()
    if status is None or not status.details[0].Unpack(detail):
        raise AssertionError(f"no rich details: {error}")
    return detail.field_violations[0].field, status.message
