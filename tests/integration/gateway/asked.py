"""A gateway with an engine, and a model with a chat template that shows tools."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import openai

from hone.api.inference_pb2_grpc import InferenceServiceStub
from hone.client import Client
from hone.models import toy
from hone.rpc.client import blocking_channel
from hone.stack import interpreters, ports
from hone.store import objects
from tests.integration.gateway.conftest import Gateway, serve
from tests.servers.children import Children
from tests.servers.postgres import TestDatabase

POSITIONS = 640
TEMPLATE = (
    "{% if tools %}tools: {{ tools | tojson }}\n{% endif %}{% for message in messages %}{{ message.role }}: "
    "{{ message.content }}{% for call in message.tool_calls or [] %}<tool_call>\n{{ call.function | tojson }}\n"
    "</tool_call>{% endfor %}\n{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}")


def write_model(directory: Path, seed: int = 0) -> Path:
    """Write a toy model of plain English with a chat template. Returns its directory."""
    found = toy.write(directory, seed, hidden=32, layers=1, heads=2, head_dim=32, ffn=64, vocab_size=104,
                      symbols=toy.TEXT)
    (found / "chat_template.jinja").write_text(TEMPLATE)
    return found


@dataclass(frozen=True)
class AskedStack:
    """A running gateway with an engine."""

    gateway: Gateway
    children: Children
    database: TestDatabase
    engine_address: str

    def engine(self) -> Any:
        """Return a stub of the engine, as other services of the stack have one."""
        return InferenceServiceStub(blocking_channel(self.engine_address, os.environ["HONE_STACK_TOKEN"]))

    def openai(self, key: str) -> Any:
        """Return OpenAI's own client. Nothing is repeated, so that a test sees each refusal."""
        return openai.OpenAI(base_url=f"{self.gateway.url}/v1", api_key=key, max_retries=0, timeout=180)

    def hone(self, key: str) -> Client:
        return self.gateway.client(key)

    def http(self, key: str) -> httpx.Client:
        return self.gateway.http(key)


@contextmanager
def running(
    postgres: TestDatabase, home: Path, more: dict[str, str] | None = None, engine: str = "native",
    gateway_port: int | None = None,
) -> Iterator[AskedStack]:
    """Start the gateway, one engine and the value service. `more` are settings of all."""
    port, value_port = ports.pick(2)
    shared = {"HONE_VALUE_ADDRESS": f"127.0.0.1:{value_port}",
              "HONE_ENGINE_MAX_TOKENS": str(POSITIONS), "HONE_MODEL_ROOT": str(home.parent), "HONE_ENGINE": engine,
              **(more or {})}
    variables = {
        **os.environ, **shared, "HONE_DATABASE_URL": postgres.worker_url, "HONE_SWEEP_S": "0.1",
        "HONE_OBJECTS_URL": f"file://{home / 'objects'}", "HONE_INFERENCE_ADDRESS": f"127.0.0.1:{port}",
        "HONE_PROCESS_NAME": "inference-0", "HONE_ENGINE_SLOTS": "32", "OMP_NUM_THREADS": "1"}
    objects.connect(variables["HONE_OBJECTS_URL"])
    with Children(home) as children:
        python = sys.executable if engine == "native" else interpreters.python("inference", variables)
        children.start("inference", [python, "-m", "services.inference"], env=variables)
        children.start("value", [sys.executable, "-m", "services.value"], env=variables)
        gateway = serve(children, postgres, variables["HONE_OBJECTS_URL"], shared, gateway_port)
        children.wait("value", lambda: ports.answers(f"127.0.0.1:{value_port}"), timeout_s=60)
        children.wait("inference", lambda: ports.answers(f"127.0.0.1:{port}"), timeout_s=180)
        yield AskedStack(gateway, children, postgres, f"127.0.0.1:{port}")
