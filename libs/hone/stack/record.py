"""The record of a stack, kept between its starts: passwords, ports and addresses."""

import json
import os
import secrets
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import BaseModel, Field

from hone.stack import ports

FILE = "stack.json"


class StackMissing(Exception):
    """There is no stack in this state directory."""


class Record(BaseModel):
    """The content of `<state>/stack.json`, which only its owner may read."""

    identity: str = Field(description="Random name of this stack.")
    password: str = Field(description="Password of the embedded PostgreSQL's superuser.")
    gateway_password: str = Field(description="Password of this stack's login in the gateway's role.")
    worker_password: str = Field(description="Password of this stack's login in the workers' role.")
    stack_token: str = Field(default="", description="What calls between this stack's services show each other.")
    ports: dict[str, int] = Field(default_factory=dict, description="Port by process, kept while it is free.")
    addresses: dict[str, str] = Field(default_factory=dict, description="host:port by process.")
    gateway_url: str = Field(default="", description="URL of the REST API.")
    console_url: str = Field(default="", description="URL of the console.")
    door_address: str = Field(default="", description="host:port at which gRPC clients of other systems call.")
    door_certificate: str = Field(default="", description="PEM file that such clients trust.")
    api_key: str = Field(default="", description="First API key, of the default tenant.")
    database_url: str = Field(default="", description="PostgreSQL URL of the workers' role.")
    gateway_database_url: str = Field(default="", description="PostgreSQL URL of the gateway's role.")
    objects_url: str = Field(default="", description="URL of the object store.")
    broker_url: str = Field(default="", description="URL of the broker.")

    def port(self, name: str) -> int:
        """Return the port of a process: its last one if that is free, otherwise another one."""
        if not ports.is_free(self.ports.get(name, 0)) or name not in self.ports:
            taken = set(self.ports.values())
            self.ports[name] = next(port for port in ports.pick(len(taken) + 1) if port not in taken)
        return self.ports[name]

    def save(self, state: Path) -> None:
        """Write the file as a whole."""
        handle, name = tempfile.mkstemp(prefix=".stack-", dir=state)
        with os.fdopen(handle, "w") as file:
            file.write(self.model_dump_json(indent=2) + "\n")
        os.replace(name, state / FILE)


def load(state: Path) -> Record:
    """Return the record of the stack in `state`. Raises StackMissing."""
    path = state / FILE
    if not path.exists():
        raise StackMissing(f"there is no stack in {state} (hone up creates a stack)")
    return Record.model_validate(json.loads(path.read_text()))


def load_or_create(state: Path) -> Record:
    """Return the record of the stack in `state`, a new one with fresh passwords if there is none."""
    if (state / FILE).exists():
        return load(state)
    record = Record(
        identity=secrets.token_hex(8), password=secrets.token_urlsafe(24),
        gateway_password=secrets.token_urlsafe(24), worker_password=secrets.token_urlsafe(24),
        stack_token=secrets.token_urlsafe(32))
    record.save(state)
    return record


def reachable(address: str) -> str:
    """Return the host:port at which this machine reaches a server that listens on `address`."""
    parts = urlsplit(f"//{address}")
    loopback = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(parts.hostname or "")
    return f"{loopback}:{parts.port}" if loopback else address
