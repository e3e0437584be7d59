"""One of Hone's services as a process."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from hone.rpc.client import blocking_channel
from hone.stack import interpreters, ports
from tests.servers import forking


@dataclass(frozen=True)
class Service:
    """A service's process, and a channel to it."""

    process: "subprocess.Popen[bytes]"
    channel: grpc.Channel


@contextmanager
def running(name: str, **variables: str) -> Iterator[Service]:
    """Run `python -m services.<name>` with this process's environment and the given variables.

    Its object store is empty, unless there is one in either. At the end of the context the service gets SIGTERM, unless
    the test ended it, and has a minute to end.
    """
    setting = f"HONE_{name.upper()}_ADDRESS"
    address = variables.get(setting) or f"127.0.0.1:{ports.pick(1)[0]}"
    with TemporaryDirectory() as objects:
        environ = {"HONE_OBJECTS_URL": f"file://{objects}", **os.environ, setting: address, **variables}
        command = [interpreters.python(name, environ), "-m", f"services.{name}"]
        process = forking.start(command, env=environ, stderr=subprocess.DEVNULL)
        try:
            with blocking_channel(address, environ["HONE_STACK_TOKEN"]) as channel:
                grpc.channel_ready_future(channel).result(180)
                yield Service(process, channel)
            if process.poll() is None:
                process.terminate()
                process.wait(60)
        finally:
            process.kill()
            process.wait()


def refused_field(error: Any) -> tuple[str, str]:
    """Return the field that the rich details of a refusal name, and the refusal's message."""
    status = rpc_status.from_call(error)
    detail = error_details_pb2.BadRequest()
    if status is None or not status.details[0].Unpack(detail):
        raise AssertionError(f"no rich details: {error}")
    return detail.field_violations[0].field, status.message
