"""The RPCs that the door serves, and one call of them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from hone.api import inference_pb2, learner_pb2, reward_pb2, simulation_pb2, value_pb2
from hone.rpc.errors import InvalidField
from hone.rpc.tenancy import named

_FILES = {"inference": inference_pb2, "reward": reward_pb2, "value": value_pb2, "simulation": simulation_pb2,
          "learner": learner_pb2}
SERVICES: dict[str, ServiceDescriptor] = {
    name: service for name, file in _FILES.items() for service in file.DESCRIPTOR.services_by_name.values()}
"""The five services, by the field of their address in the settings."""
METHODS: dict[str, MethodDescriptor] = {
    f"/{service.full_name}/{method.name}": method for service in SERVICES.values() for method in service.methods}
"""Every RPC that the door serves, by its path."""

Metadata = tuple[tuple[str, str | bytes], ...]


@dataclass(frozen=True)
class Call:
    """A call that the door passes on."""

    method: str
    tenant_id: str
    raw: bytes
    metadata: Metadata
    timeout_s: float

    @cached_property
    def request(self) -> Any:
        """The request as a message. Few calls need it. Raises InvalidField if the bytes are none."""
        try:
            return GetMessageClass(METHODS[self.method].input_type).FromString(self.raw)
        except DecodeError as error:
            raise InvalidField(
                "request", f"{len(self.raw)} bytes", f"a message of the method's type ({error})") from error

    def named_by(self, path: str) -> list[str]:
        """Return the values of the field at a path, none for an empty path. Raises InvalidField."""
        return [found for _, found in named(self.request, path)] if path else []
