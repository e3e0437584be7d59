"""The metadata that every call takes along: the stack's token and the subject."""

from typing import Any, Self

from hone.rpc.credential import Metadata
from hone.rpc.subjects import call_metadata


class CallChannel:
    """A channel, asynchronous or blocking, that adds metadata to its calls: what is given, and their subject.

    An interceptor would cost each call a task of its own.
    """

    def __init__(self, channel: Any, added: Metadata = ()) -> None:
        self._channel, self._added = channel, added

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
        return Method(self._channel.unary_unary(*method, **codec), self._added)

    def unary_stream(self, *method: Any, **codec: Any) -> "Method":
        return Method(self._channel.unary_stream(*method, **codec), self._added)


class Method:
    """One method of a channel, called in any of grpc's ways."""

    def __init__(self, method: Any, added: Metadata) -> None:
        self._method, self._added = method, added

    def __call__(self, request: Any, *, metadata: Any = None, **others: Any) -> Any:
        return self._method(request, metadata=self._with(metadata), **others)

    def future(self, request: Any, *, metadata: Any = None, **others: Any) -> Any:
        return self._method.future(request, metadata=self._with(metadata), **others)

    def with_call(self, request: Any, *, metadata: Any = None, **others: Any) -> Any:
        return self._method.with_call(request, metadata=self._with(metadata), **others)

    def _with(self, metadata: Any) -> Metadata:
        return (*(metadata or ()), *self._added, *call_metadata())
