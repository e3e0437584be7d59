"""What every process says of itself: logs always, traces and metrics where the settings name a place for them."""

import atexit
import os
import sys
from typing import Protocol

from hone import garbage
from hone.telemetry import logs, metrics, tracing


class Chosen(Protocol):
    """The settings that this reads."""

    @property
    def otlp_endpoint(self) -> str: ...
    @property
    def metrics_address(self) -> str: ...
    @property
    def process_name(self) -> str: ...


def begin(service: str, chosen: Chosen) -> None:
    """Set up logs, traces, metrics and memory of a process of this kind, once what it needs is loaded.

    Raises OSError where the metrics' address is taken.
    """
    logs.configure()
    tracing.configure(chosen.otlp_endpoint, service, chosen.process_name or service)
    if chosen.metrics_address:
        metrics.serve(chosen.metrics_address)
    garbage.spare()


def skip_tidying() -> None:
    """Let this process end without the interpreter's tidying, for which some libraries take seconds.

    What registers with atexit later, as `begin` does, is still done.
    """
    atexit.register(_leave)


def _leave() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(int(hasattr(sys, "last_value")))  # there is one where an error ended the program
