"""Typed requests: what every part of the SDK's client sends and reads."""

import uuid
from typing import Any, TypeVar

from pydantic import ValidationError

from hone.client import errors
from hone.client.resources import Resource
from hone.client.transport import HttpTransport

Answer = TypeVar("Answer", bound=Resource)


class Requests:
    """Requests whose answers are resources."""

    _transport: HttpTransport

    def _get(self, kind: type[Answer], path: str, **query: Any) -> Answer:
        given = {name: value for name, value in query.items() if value is not None}
        return self._send(kind, "GET", path, params=given)

    def _post(self, kind: type[Answer], path: str, idempotency_key: str | None, **content: Any) -> Answer:
        headers = {"Idempotency-Key": idempotency_key or uuid.uuid4().hex}
        return self._send(kind, "POST", path, headers=headers, **content)

    def _send(self, kind: type[Answer], method: str, path: str, **content: Any) -> Answer:
        response = self._transport.request(method, path, **content)
        try:
            return kind.model_validate_json(response.content)
        except ValidationError as error:
            raise errors.unreadable(response, response.text, kind.__name__) from error
