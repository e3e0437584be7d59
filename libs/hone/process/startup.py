"""The start of a process: its name, logs, tables, traces, metrics, memory and temporary files."""

import os
import socket
from typing import Protocol

from hone import garbage
from hone.process import disks, memory, scratch
from hone.process.memory import MemoryLimit
from hone.telemetry import logs, metrics, tracing


class Telemetry(Protocol):
    """The settings of traces and metrics that are read here."""

    @property
    def otlp_endpoint(self) -> str: ...
    @property
    def metrics_address(self) -> str: ...


class Chosen(disks.Written, Protocol):
    """The settings that are read here."""

    @property
    def telemetry(self) -> Telemetry: ...
    @property
    def process_name(self) -> str: ...
    @property
    def database_url(self) -> str: ...
    @property
    def gateway_database_url(self) -> str: ...
    def most_memory_mb(self, kind: str) -> int | None: ...


def begin(service: str, chosen: Chosen) -> MemoryLimit | None:
    """Set up logs, traces, metrics, memory and temporary files of a process, after its modules are loaded.

    Return the limit of its memory, if there is one. The process ends if its settings name a database whose tables have
    another version than this release's. Raises OSError if the address for metrics is taken.
    """
    logs.configure()
    if url := chosen.database_url or chosen.gateway_database_url:
        from hone.process import tables  # processes without a database load no client of it

        tables.expect_current(url)
    tracing.configure(chosen.telemetry.otlp_endpoint, service, chosen.process_name or service)
    scratch.begin(chosen.state)
    if chosen.telemetry.metrics_address:
        disks.measure(disks.written(chosen))
        metrics.serve(chosen.telemetry.metrics_address)
    garbage.spare()
    limit = memory.limit(service, chosen.most_memory_mb(service), memory.container_mb())
    if limit is not None:
        limit.watch()
    return limit


def name(chosen: Chosen) -> str:
    """Return the name that the supervisor gave this process, else host:pid."""
    return chosen.process_name or f"{socket.gethostname()}:{os.getpid()}"
