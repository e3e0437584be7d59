"""The subject of a call, sent in its metadata: the run, group and step for the log lines of both sides."""

import json
from itertools import islice
from typing import Any, Self

from hone.telemetry import logs

HEADER = "hone-about"
NAMES = ("run_id", "run_ids", "group_id", "group_ids", "model_id", "model_ids", "step", "steps")
MOST = 32
"""Most values that are sent of each name. gRPC refuses calls with more than 8 KiB of metadata."""


def call_metadata() -> tuple[tuple[str, str], ...]:
    """Return the metadata of a call that is made now: the subject of log lines here, or nothing if there is none."""
    fields = {name: _bounded(value) for name, value in logs.subject().items() if name in NAMES}
    return ((HEADER, json.dumps(fields)),) if fields else ()


def read(received: dict[str, Any]) -> dict[str, Any]:
    """Return the subject in the metadata of a received call, empty if the metadata has none."""
    try:
        fields = json.loads(received.get(HEADER, "{}"))
    except ValueError:
        return {}
    return {name: fields[name] for name in NAMES if name in fields} if isinstance(fields, dict) else {}


def _bounded(value: Any) -> Any:
    return list(islice(value, MOST)) if isinstance(value, list) else value


class Channel:
    """A channel, asynchronous or blocking, that adds the subject to the metadata of its calls.

    Channels of traced calls have an interceptor for it. Here an interceptor would cost each call a task of its own.
    """

    def __init__(self, channel: Any) -> None:
        self._channel = channel

    def __getattr__(self, name: str) -> Any:
        return getattr(self._channel, name)

    def __enter__(self) -> Self:
        self._channel.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._channel.__exit__(*error)

    async def __aenter__(self) -> Self:
        await self._channel.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._channel.__aexit__(*error)

    def unary_unary(self, *method: Any, **codec: Any) -> "Method":
        return Method(self._channel.unary_unary(*method, **codec))

    def unary_stream(self, *method: Any, **codec: Any) -> "Method":
        return Method(self._channel.unary_stream(*method, **codec))


class Method:
    """One method of a channel, called in any of grpc's ways."""

    def __init__(self, method: Any) -> None:
        self._method = method

    def __call__(self, request: Any, *, metadata: Any = None, **others: Any) -> Any:
        return self._method(request, metadata=(*(metadata or ()), *call_metadata()), **others)

    def future(self, request: Any, *, metadata: Any = None, **others: Any) -> Any:
        return self._method.future(request, metadata=(*(metadata or ()), *call_metadata()), **others)

    def with_call(self, request: Any, *, metadata: Any = None, **others: Any) -> Any:
        return self._method.with_call(request, metadata=(*(metadata or ()), *call_metadata()), **others)
