"""Embedders: which one the settings choose, and what comes from an endpoint."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import numpy as np
import pytest

from hone.algorithms.value.model import ValueModel, save
from hone.models import embedders
from hone.rpc.errors import NotReady
from hone.spec.problems import Invalid
from hone.spec.value_settings import ValueSettings
from hone.text import sentence_encoder
from services.value import models


class Server(BaseHTTPRequestHandler):
    """Answers with the number of characters and 1, last text first, or with what `answer` holds."""

    answer: Any = None
    asked: ClassVar[list[dict[str, Any]]] = []
    counts = True

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append({"path": self.path, "key": self.headers["Authorization"], **body})
        rows = [{"index": place, "embedding": [float(len(text)), 1.0]} for place, text in enumerate(body["input"])]
        used = {"usage": {"prompt_tokens": 2 * len(rows)}} if self.counts else {}
        data = json.dumps(self.answer or {"data": rows[::-1], **used}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def url() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Server)
    Thread(target=server.serve_forever, daemon=True).start()
    Server.answer, Server.asked, Server.counts = None, [], True
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


def test_an_endpoint_gives_vectors_of_length_one_in_the_order_of_the_texts(url: str) -> None:
    settings = ValueSettings(embedder="openai", embeddings_url=url, embeddings_model="m", embeddings_key="k")
    embedder = embedders.chosen(settings)
    vectors = embedder.encode(["a" * place for place in range(200)]).vectors
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(200))
    assert vectors[3] == pytest.approx(np.array([3.0, 1.0]) / 10**0.5)
    assert [(one["path"], one["key"], len(one["input"])) for one in Server.asked] == [
        ("/v1/embeddings", "Bearer k", 128), ("/v1/embeddings", "Bearer k", 72)]
    assert embedder.name == "openai:m"
    assert embedder.encode(["a"] * 200).used == 400, "as the endpoint counts"
    Server.counts = False
    assert embedder.encode(["a"]).used is None
    answers: list[dict[str, Any]] = [
        {"error": "no"}, {"data": [{"index": 0, "embedding": [float("nan")]}]}, {"data": []}]
    for Server.answer in answers:
        with pytest.raises(NotReady, match="the embeddings endpoint"):
            embedder.encode(["a"])


def test_the_sentence_encoder_is_chosen_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentence_encoder, "installed", lambda: None)
    assert embedders.chosen(ValueSettings()).name == "hashed-v1"
    with pytest.raises(Invalid, match="hone-rl\\[value\\]"):
        embedders.chosen(ValueSettings(embedder="minilm"))
    with pytest.raises(Invalid, match="HONE_VALUE_EMBEDDINGS_URL"):
        embedders.chosen(ValueSettings(embedder="openai"))


def test_a_model_is_for_one_embedder(tmp_path: Path) -> None:
    weights = {"down.weight": np.zeros((2, 512), np.float32), "down.bias": np.zeros(2, np.float32),
               "up.weight": np.zeros((3, 2), np.float32), "up.bias": np.zeros(3, np.float32)}
    save(ValueModel("hashed-v1", "mlp", weights), tmp_path / "v0.safetensors")
    settings = ValueSettings(model=tmp_path / "v0.safetensors")
    assert models.chosen(settings, "hashed-v1").version.startswith("hashed-v1+mlp-")
    with pytest.raises(Invalid, match="a model for hashed-v1, expected one for openai:m"):
        models.chosen(settings, "openai:m")
    (tmp_path / "v0.safetensors").write_bytes(b"nothing")
    with pytest.raises(Invalid, match="HONE_VALUE_MODEL"):
        models.chosen(settings, "hashed-v1")
    assert models.chosen(ValueSettings(), "openai:m").kind == "none"
