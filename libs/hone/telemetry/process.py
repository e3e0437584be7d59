"""What every process says of itself: logs always, traces and metrics where the settings name a place for them."""

from typing import Protocol

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
    """Set up logs, traces and metrics of a process of this kind. Raises OSError where the metrics' address is taken."""
    logs.configure()
    tracing.configure(chosen.otlp_endpoint, service, chosen.process_name or service)
    if chosen.metrics_address:
        metrics.serve(chosen.metrics_address)
