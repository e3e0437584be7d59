"""Clients in other environments call a real stack through the door, with nothing but the .proto files: Node, Python."""

import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2

from hone.client.resources import Run
from tests.acceptance.scene import Scene, wait_for
from tests.integration.foreign.conftest import STEPS, Npm
from tests.integration.learner.rows import add_run

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def modules(npm: Npm) -> Path:
    """The folder with the Node packages."""
    return npm("grpc-js", "@grpc/grpc-js@1.14.7", "@grpc/proto-loader@0.8.1")


@pytest.fixture(scope="module")
def place(scene: Scene, run: Run) -> dict[str, Any]:
    """The input of a foreign client: addresses, ids, and the folder of the .proto files.

    The model belongs to a finished run. One more step of it is planned, but no driver appends its operations.
    """
    versions = scene.rows(
        "SELECT tenant_id, model_id, id, number FROM versions WHERE model_id = %s ORDER BY number DESC", run.model_id)
    scene.rows("INSERT INTO steps (run_id, tenant_id, n, epoch, plan, group_ids) "
               "SELECT run_id, tenant_id, n + 1, epoch, jsonb_set(plan, '{n}', to_jsonb(n + 1)), '{}' FROM steps "
               "WHERE run_id = %s AND n = %s RETURNING n", run.id, STEPS)
    wait_for("the newest version in both engines", lambda: scene.one(
        "SELECT count(*) = 2 FROM engine_models WHERE model_id = %s AND version_id = %s", run.model_id,
        versions[0]["id"]), 60)
    record = scene.stack.record()
    stranger = scene.client.create_tenant_key(scene.client.create_tenant("foreign").id, "foreign", ["run"])
    return {
        "stranger_key": stranger.secret,
        "tenant_id": versions[0]["tenant_id"], "model_id": versions[0]["model_id"], "run_id": run.id,
        "planned_step": STEPS + 1, "stranger_run_id": add_run(scene.database_url, state="cancelled").run_id,
        "newest_version_id": versions[0]["id"], "numbers": [row["number"] for row in versions],
        "door_address": record.door_address, "certificate": record.door_certificate, "api_key": record.api_key,
        "protos": str(ROOT / "proto"),
        "google_protos": str(Path(error_details_pb2.__file__).parents[2]),
    }


def test_a_client_in_another_language_needs_the_contracts_alone(
    modules: Path, place: dict[str, Any], scene: Scene
) -> None:
    environment = {**os.environ, "NODE_PATH": str(modules), "HONE_FOREIGN": json.dumps(place)}
    script = Path(__file__).with_name("services.test.cjs")
    ended = subprocess.run(["node", "--test", "--test-reporter=tap", str(script)], env=environment, text=True,
                           capture_output=True, timeout=240, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert place["numbers"] == [2, 1, 0]
    assert "# pass 8\n" in ended.stdout, ended.stdout
    assert "# skipped 0\n" in ended.stdout, ended.stdout
    (step,) = scene.rows("SELECT s.state, v.number FROM steps s JOIN versions v ON v.id = s.version_id "
                         "WHERE s.run_id = %s AND s.n = %s", place["run_id"], STEPS + 1)
    assert step == {"state": "committed", "number": STEPS + 1}
    assert scene.one("SELECT value FROM metrics WHERE run_id = %s AND step = %s AND name = 'trained_tokens'",
                     place["run_id"], STEPS + 1) > 0
    wait_for("the usage of the client's key, which engines write now and then", lambda: scene.one(
        "SELECT count(DISTINCT kind) = 2 FROM usage WHERE run_id IS NULL AND amount > 0 "
        "AND kind IN ('prompt_tokens', 'completion_tokens')"), 30)


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python that has our libraries but not Hone: what is installed as editable is found in its own folder only."""
    home = tmp_path_factory.mktemp("python")
    venv.create(home, with_pip=False)
    [packages] = home.glob("lib/python*/site-packages")
    (packages / "libraries.pth").write_text(str(Path(grpc.__file__).parents[1]))
    return home / "bin" / "python"


def test_a_python_client_without_hone_sees_its_tenant_alone(
    python: Path, place: dict[str, Any], tmp_path: Path
) -> None:
    contracts = map(str, (ROOT / "proto" / "hone" / "v1").glob("*.proto"))
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", f"-I{ROOT / 'proto'}", f"--python_out={tmp_path}",
                    f"--grpc_python_out={tmp_path}", *contracts], check=True)
    ended = subprocess.run(
        [python, "-I", Path(__file__).with_name("python_client.py"), tmp_path], input=json.dumps(place), text=True,
        capture_output=True, timeout=240, check=False)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert set(found.pop("my versions")) >= {0, 1, 2}  # the other client may have added some
    assert set(found.pop("held by mine")) == {place["model_id"]}  # by each engine
    assert found == {
        "held by theirs": [], "no key": "UNAUTHENTICATED",
        "their generation": "NOT_FOUND", "samples": 2, "streamed": True, "their pause": "NOT_FOUND",
        "their step in my session": "NOT_FOUND", "my step": True, "their look at my versions": "NOT_FOUND"}
