"""Thousands of requests made up from the OpenAPI document: none gets a 5xx, or an answer that is not in it."""

import hashlib
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.acceptance import toy
from tests.acceptance.scene import Scene, open_scene, wait_for

CHECKS = ("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance",
          "response_schema_conformance", "unsupported_method")
EXAMPLES, LEAST = 100, 5000
ROW = b'{"prompt": "1=", "answer": "1"}\n'


@pytest.fixture(scope="module")
def scene(shared_directory: Path, bases: Callable[..., Path]) -> Iterator[Scene]:
    opened = open_scene(shared_directory / "contract", {"sweep_s": 0.5}, {})
    opened.client.upload_model("digits-base", bases())
    yield opened
    opened.stack.stop()


def known(http: httpx.Client, scene: Scene) -> dict[str, str]:
    """Make one of each thing, and return the parameters of paths that name them."""
    run = scene.client.create_run(toy.spec("small", "digits-base", 2))
    scene.finished(run.id)
    export = http.post(f"/v1/runs/{run.id}/exports").json()["id"]
    wait_for("the export", lambda: http.get(f"/v1/exports/{export}").json()["state"] == "done", 60)
    assert http.post("/v1/datasets", data={"name": "rows"}, files={"file": ("rows.jsonl", ROW)}).status_code == 201
    upload = http.post("/v1/uploads", json={"kind": "dataset", "name": "later", "files": [
        {"name": "rows.jsonl", "bytes": len(ROW), "sha256": hashlib.sha256(ROW).hexdigest()}]}).json()["id"]
    group = http.get(f"/v1/runs/{run.id}/trajectories").json()["data"][0]["group_id"]
    return {"run_id": run.id, "export_id": export, "upload_id": upload, "group_id": str(group)}


def made_up(url: str, api_key: str, folder: Path, *which: str) -> int:
    """Send requests made up from the document, and return their number. Raises AssertionError for a wrong answer."""
    ended = subprocess.run(
        [Path(sys.executable).with_name("schemathesis"), "run", f"{url}/openapi.json", *which,
         "-H", f"Authorization: Bearer {api_key}", "--checks", ",".join(CHECKS), "-n", str(EXAMPLES),
         "--phases", "examples,coverage,fuzzing", "--generation-with-security-parameters", "false",
         "--exclude-path-regex", "^/v1/keys/",  # a made-up request would revoke the key that it came with
         "--request-timeout", "60", "--continue-on-failure", "--no-shrink", "--no-color", "--seed", "1"],
        cwd=folder, check=False, timeout=900, capture_output=True, text=True)
    counted = re.search(r"(\d+) generated, (\d+) passed", ended.stdout)
    assert ended.returncode == 0, ended.stdout[-20_000:]
    assert counted is not None
    return int(counted[1])


@pytest.mark.soak
def test_no_request_gets_an_answer_that_the_document_does_not_have(scene: Scene, tmp_path: Path) -> None:
    record = scene.stack.record()
    url, api_key = record.gateway_url, record.api_key
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {api_key}"}) as http:
        names = known(http, scene)
    lines = [f'"path.{name}" = "{value}"' for name, value in names.items()]
    (tmp_path / "schemathesis.toml").write_text("\n".join(["[parameters]", *lines]))
    assert made_up(url, api_key, tmp_path, "--exclude-method", "DELETE") >= LEAST
    assert scene.client.run(names["run_id"]).state == "succeeded"
    assert made_up(url, api_key, tmp_path, "--include-method", "DELETE")
    assert scene.client.health().ok
