"""What a call is about, told beside it: the run, group and step that each side's log lines name."""

import json
from itertools import islice
from typing import Any, Self

from hone.telemetry import logs

HEADER = "hone-about"
NAMES = ("run_id", "run_ids", "group_id", "group_ids", "model_id", "model_ids", "step", "steps")
MOST = 32
"""Of each name so many values go over the wire: gRPC refuses calls with more than 8 KiB beside them."""


def told() -> tuple[tuple[str, str], ...]:
    """Return what a call made now says of itself, as metadata; nothing where log lines name nothing either."""
    fields = {name: _bounded(value) for name, value in logs.subject().items() if name in NAMES}
    return ((HEADER, json.dumps(fields)),) if fields else ()


def heard(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return what a call's metadata says of it; nothing where that is none of ours."""
    try:
        fields = json.loads(metadata.get(HEADER, "{}"))
    except ValueError:
        return {}
    return {name: fields[name] for name in NAMES if name in fields} if isinstance(fields, dict) else {}


def _bounded(value: Any) -> Any:
    return list(islice(value, MOST)) if isinstance(value, list) else value


class Channel:
    """A channel, asynchronous or blocking, whose calls say what they are about.

    Where calls are traced an interceptor says it; where they are not one would cost each call a task of its own.
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
    """What a channel asks by, in each of the ways that grpc has."""

    def __init__(self, method: Any) -> None:
        self._method = method

    def __call__(self, request: Any, *, metadata: Any = None, **others: Any) -> Any:
        return self._method(request, metadata=(*(metadata or ()), *told()), **others)

    def future(self, request: Any, *, metadata: Any = None, **others: Any) -> Any:
        return self._method.future(request, metadata=(*(metadata or ()), *told()), **others)

    def with_call(self, request: Any, *, metadata: Any = None, **others: Any) -> Any:
        return self._method.with_call(request, metadata=(*(metadata or ()), *told()), **others)
