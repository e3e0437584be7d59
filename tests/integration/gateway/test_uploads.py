"""Uploads in parts, through a gateway on a real S3 server: clients and gateways are killed, parts come in any order."""

import hashlib
import json
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from hone.client import Client, uploads
from hone.client.errors import Conflict, Refused
from hone.models import toy
from hone.stack import ports
from tests.integration.gateway.conftest import Gateway, serve
from tests.servers.children import Children
from tests.servers.postgres import TestDatabase
from tests.servers.s3 import Server

pytestmark = pytest.mark.alone

MIB = 2**20
PART = 5 * MIB

KILLED = """
import sys
from hone.client import Client
url, key, name, directory = sys.argv[1:]
Client(url, key).upload_model(name, directory, progress=lambda *at: print(*at, flush=True))
"""


class Counted(httpx.HTTPTransport):
    """A transport that counts the parts that are sent, by file and number."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.method == "PUT":
            self.parts.append(request.url.path.partition("/files/")[2])
        return super().handle_request(request)


@pytest.fixture(scope="module")
def children(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Children]:
    with Children(tmp_path_factory.mktemp("uploads")) as children:
        yield children


@pytest.fixture(scope="module")
def gateway(children: Children, postgres: TestDatabase, s3: Server) -> Gateway:
    return serve(children, postgres, s3.url(f"uploads-{secrets.token_hex(4)}"), {"HONE_PART_MB": "5"})


@pytest.fixture(scope="module")
def http(gateway: Gateway, tenant: str) -> Iterator[httpx.Client]:
    with gateway.http(tenant) as http:
        yield http


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the SDK send small files in parts too."""
    monkeypatch.setattr(uploads, "LARGE", 0)


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def rows(size: int) -> bytes:
    """Return `size` bytes of JSON lines, with other rows each time."""
    made, line = bytearray(), 200_000
    while len(made) + line <= size:
        text = secrets.token_hex(line // 2)[:line - 30]
        made += json.dumps({"prompt": "p", "answer": text}).encode().ljust(line - 1) + b"\n"
    return bytes(made) + b"\n" * (size - len(made))


def announce(http: httpx.Client, name: str, data: bytes, **changed: Any) -> httpx.Response:
    file = {"name": "rows.jsonl", "bytes": len(data), "sha256": sha(data), **changed}
    return http.post("/v1/uploads", json={"kind": "dataset", "name": name, "files": [file]})


def put(http: httpx.Client, upload: str, number: int, data: bytes, digest: str = "") -> httpx.Response:
    return http.put(
        f"/v1/uploads/{upload}/files/rows.jsonl/parts/{number}", params={"sha256": digest or sha(data)}, content=data,
        headers={"Content-Type": "application/octet-stream"})


def part(data: bytes, number: int) -> bytes:
    return data[(number - 1) * PART:number * PART]


class _Restarting:
    """Progress that kills the gateway, which is started again, when the second part was sent."""

    def __init__(self, children: Children) -> None:
        self._children, self._reports = children, 0

    def __call__(self, phase: str, _done: int, _total: int) -> None:
        self._reports += phase == "sending"
        if phase == "sending" and self._reports == 3:
            self._children.restart("gateway")


def test_a_large_model_arrives_though_client_and_gateway_are_killed(
    gateway: Gateway, tenant: str, children: Children, tmp_path: Path,
) -> None:
    model = toy.write(tmp_path, hidden=512, layers=4, head_dim=128, ffn=2048)
    (model / "pytorch_model.bin").write_bytes(b"a pickle, which nobody reads")
    weights = (model / "model.safetensors").stat().st_size
    assert weights > 64 * MIB
    client = subprocess.Popen([sys.executable, "-c", KILLED, gateway.url, tenant, "large", str(model)],
                              stdout=subprocess.PIPE, text=True)
    assert client.stdout is not None
    for line in client.stdout:
        phase, done, _ = line.split()
        if phase == "sending" and int(done) > 4 * PART:
            client.kill()
            break
    client.wait()
    children.restart("gateway")
    children.wait("gateway", lambda: ports.answers(urlsplit(gateway.url).netloc), timeout_s=120)
    transport = Counted()
    with Client(gateway.url, tenant, transport=transport) as hone:
        (left,) = [one for one in hone.uploads(state="open").data if one.name == "large"]
        stored = {(file.name, number) for file in left.files for number in file.received}
        registered = hone.upload_model("large", model, progress=_Restarting(children))
        sent = {(path.split("/")[0], int(path.split("/")[2])) for path in transport.parts}
        assert len(stored) > 4
        assert sent & stored == set()
        assert len(sent) + len(stored) == sum(file.parts for file in left.files)
        assert len(transport.parts) > len(sent), "the gateway was away, so some were repeated"
        assert {name: file.sha256 for name, file in registered.files.items()} == {
            path.name: sha(path.read_bytes()) for path in model.iterdir() if path.suffix != ".bin"}
        assert registered.ignored == ["pytorch_model.bin"]
        transport.parts.clear()
        assert hone.upload_model("large", model).id == registered.id
        assert transport.parts == [], "what is registered is not sent again"
    keys = list(gateway.objects.list(f"artifacts/{registered.id}/"))
    assert len(keys) == len(registered.files)
    (key,) = [key for key in keys if key.endswith("safetensors")]
    assert sha(b"".join(gateway.objects.read(key))) == registered.files["model.safetensors"].sha256
    assert gateway.objects.discard_unfinished(-60) == 0


def test_parts_in_any_order_and_twice(http: httpx.Client, hone: Client) -> None:
    data = rows(2 * PART + 1000)
    answer = announce(http, "any-order", data)
    upload = answer.json()
    assert (answer.status_code, upload["state"], upload["files"][0]["parts"]) == (201, "open", 3)
    for number in (3, 1, 3):
        assert put(http, upload["id"], number, part(data, number)).status_code == 204
    again = announce(http, "any-order", data)
    assert (again.status_code, again.json()["id"], again.json()["files"][0]["received"]) == (200, upload["id"], [1, 3])
    early = http.post(f"/v1/uploads/{upload['id']}/complete")
    assert (early.status_code, early.json()["errors"]) == (409, [
        {"field": "rows.jsonl", "found": "2 of 3 parts; missing: 2", "expected": "3 parts"}])
    assert put(http, upload["id"], 2, part(data, 2)).status_code == 204
    done = http.post(f"/v1/uploads/{upload['id']}/complete").json()
    assert done["state"] == "done"
    assert hone.dataset(done["artifact_id"]).rows == data.count(b"answer")
    assert http.post(f"/v1/uploads/{upload['id']}/complete").json() == done
    assert put(http, upload["id"], 1, part(data, 1)).status_code == 409
    assert http.delete(f"/v1/uploads/{upload['id']}").status_code == 409


@pytest.mark.parametrize(("number", "content", "digest", "field", "found", "expected"), [
    (1, b"x" * PART, "0" * 64, "body", f"bytes with sha256 {sha(b'x' * PART)}", f"{'0' * 64}, as the query says"),
    (1, b"x" * (PART - 1), "", "body", f"{PART - 1} bytes", f"the {PART} bytes of this part"),
    (2, b"x" * 11, "", "body", "more than 10 bytes", "the 10 bytes of this part"),
    (3, b"x", "", "number", "3", "1 to 2, the parts of rows.jsonl"),
    (0, b"x", "", "number", "0", "1 to 2, the parts of rows.jsonl"),
    (1, b"x", "0" * 63, "query.sha256", f'"{"0" * 63}"', "a text that matches ^[0-9a-f]{64}$"),
])
def test_a_wrong_part_is_refused_by_name(
    http: httpx.Client, number: int, content: bytes, digest: str, field: str, found: str, expected: str,
) -> None:
    upload = announce(http, "wrong-parts", bytes(PART + 10)).json()
    answer = put(http, upload["id"], number, content, digest)
    assert answer.status_code == 422
    (problem,) = answer.json()["errors"]
    assert (problem["field"], problem["found"]) == (field, found)
    if field != "query.sha256":
        assert problem["expected"] == expected
    assert http.get(f"/v1/uploads/{upload['id']}").json()["files"][0]["received"] == []


def test_a_file_with_another_digest_than_announced_begins_anew(http: httpx.Client) -> None:
    data = rows(PART + 1000)
    upload = announce(http, "other-digest", data).json()
    other = b"x" * 1000
    for number, content in ((1, part(data, 1)), (2, other)):
        assert put(http, upload["id"], number, content).status_code == 204
    answer = http.post(f"/v1/uploads/{upload['id']}/complete")
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["expected"] == f"{sha(data)}, as announced: send its parts again"
    again = http.get(f"/v1/uploads/{upload['id']}").json()
    assert (again["state"], again["files"][0]["received"]) == ("open", [])
    for number in (1, 2):
        put(http, upload["id"], number, part(data, number))
    assert http.post(f"/v1/uploads/{upload['id']}/complete").json()["state"] == "done"


def test_other_tenants_see_nothing(gateway: Gateway, http: httpx.Client, other_tenant: str) -> None:
    data = rows(1000)
    upload = announce(http, "private", data).json()["id"]
    with gateway.http(other_tenant) as stranger:
        answers = [
            stranger.get(f"/v1/uploads/{upload}"), put(stranger, upload, 1, data),
            stranger.post(f"/v1/uploads/{upload}/complete"), stranger.delete(f"/v1/uploads/{upload}")]
        assert [answer.status_code for answer in answers] == [404] * 4
        assert {answer.json()["detail"] for answer in answers} == {f"There is no upload {upload}."}
        assert stranger.get("/v1/uploads").json()["data"] == []
        assert announce(stranger, "private", data).json()["id"] != upload


def test_an_aborted_upload_leaves_nothing(gateway: Gateway, http: httpx.Client) -> None:
    data, before = rows(PART + 10), set(gateway.objects.list(""))
    upload = announce(http, "aborted", data).json()["id"]
    put(http, upload, 1, part(data, 1))
    assert http.delete(f"/v1/uploads/{upload}").json()["state"] == "aborted"
    assert set(gateway.objects.list("")) == before
    assert put(http, upload, 2, part(data, 2)).status_code == 409
    assert http.post(f"/v1/uploads/{upload}/complete").status_code == 409
    assert announce(http, "aborted", data).json()["id"] != upload, "the same files begin anew"


def test_who_announced_an_upload_or_an_admin_ends_it(gateway: Gateway, http: httpx.Client, tenant: str) -> None:
    with gateway.client(tenant) as hone:
        secrets = [hone.create_key(name).secret for name in ("one", "other")]
    with gateway.http(secrets[0]) as one, gateway.http(secrets[1]) as other:
        data = rows(PART + 10)
        first, second = (announce(one, name, data).json()["id"] for name in ("ours", "ours-too"))
        assert put(other, first, 1, part(data, 1)).status_code == 204, "any key of the tenant may go on with it"
        refused = other.delete(f"/v1/uploads/{first}")
        assert (refused.status_code, refused.json()["scope"]) == (403, "admin")
        assert one.delete(f"/v1/uploads/{first}").json()["state"] == "aborted"
        assert http.delete(f"/v1/uploads/{second}").json()["state"] == "aborted", "an admin's key"


@pytest.mark.usefixtures("in_parts")
def test_of_two_uploads_of_a_name_the_first_to_end_has_it(gateway: Gateway, tenant: str, tmp_path: Path) -> None:
    files = []
    for number in range(2):
        files.append(tmp_path / f"{number}.jsonl")
        files[-1].write_bytes(rows(PART + 1000))
    with gateway.client(tenant) as hone, ThreadPoolExecutor(3) as threads:
        tries = [threads.submit(hone.upload_dataset, "raced", file) for file in (*files, files[0])]
        errors = [one.exception() for one in tries]
        assert [type(error) for error in errors if error].count(Conflict) == len([error for error in errors if error])
        assert len([one for one in tries if not one.exception()]) in (1, 2)
        assert len({one.result().id for one in tries if not one.exception()}) == 1
        assert hone.dataset("raced").rows > 0


@pytest.mark.usefixtures("in_parts")
def test_after_a_refusal_only_changed_files_are_sent_again(gateway: Gateway, tenant: str, tmp_path: Path) -> None:
    model = toy.write(tmp_path)
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 5}))
    transport = Counted()
    with Client(gateway.url, tenant, transport=transport) as hone:
        for _ in range(2):
            with pytest.raises(Refused, match="layers"):
                hone.upload_model("mended", model)
        (refused,) = [one for one in hone.uploads(state="refused").data if one.name == "mended"]
        assert "layers" in str(refused.reason)
        (model / "config.json").write_text(json.dumps(config))
        transport.parts.clear()
        mended = hone.upload_model("mended", model)
        assert transport.parts == ["config.json/parts/1"]
        assert mended.files["config.json"].sha256 == sha((model / "config.json").read_bytes())
    assert len(list(gateway.objects.list(f"artifacts/{mended.id}/"))) == len(mended.files)


@pytest.mark.usefixtures("in_parts")
def test_a_name_that_is_taken_is_refused_before_anything_is_sent(
    gateway: Gateway, tenant: str, tmp_path: Path,
) -> None:
    model = toy.write(tmp_path, seed=5)
    transport = Counted()
    with Client(gateway.url, tenant, transport=transport) as hone:
        hone.upload_model("taken", toy.write(tmp_path / "other"))
        transport.parts.clear()
        with pytest.raises(Conflict, match="other content"):
            hone.upload_model("taken", model)
    assert transport.parts == []


@pytest.mark.parametrize(("body", "field"), [
    ({"files": []}, "files"),
    ({"files": [{"name": "a/b", "bytes": 1, "sha256": "0" * 64}]}, "files[0].name"),
    ({"files": [{"name": "a", "bytes": -1, "sha256": "0" * 64}]}, "files[0].bytes"),
    ({"files": [{"name": "a", "bytes": 1, "sha256": "F" * 64}]}, "files[0].sha256"),
    ({"files": [{"name": "a", "bytes": 2**50, "sha256": "0" * 64}]}, "files: a"),
    ({"files": [{"name": name, "bytes": 1, "sha256": "0" * 64} for name in "aa"]}, "files"),
    ({"kind": "dataset", "files": [{"name": name, "bytes": 1, "sha256": "0" * 64} for name in "ab"]}, "files"),
    ({"kind": "grader"}, "kind"), ({"name": "run_a"}, "name"), ({"more": 1}, "more"),
])
def test_what_cannot_be_announced_is_named(http: httpx.Client, body: dict[str, Any], field: str) -> None:
    whole = {"kind": "model", "name": "bad", "files": [{"name": "config.json", "bytes": 2, "sha256": sha(b"{}")}]}
    answer = http.post("/v1/uploads", json={**whole, **body})
    assert answer.status_code == 422
    assert field in {problem["field"] for problem in answer.json()["errors"]}


@pytest.mark.parametrize(("method", "path", "limit"), [
    ("POST", "/v1/runs", MIB), ("POST", "/v1/uploads", MIB),
    ("PUT", f"/v1/uploads/upl_none/files/a/parts/1?sha256={'0' * 64}", 64 * MIB),
])
def test_only_a_part_may_be_many_bytes(http: httpx.Client, method: str, path: str, limit: int) -> None:
    answer = http.request(method, path, content=repeat(bytes(MIB), 1024), headers={
        "Content-Length": str(1024 * MIB), "Content-Type": "application/octet-stream"})
    assert answer.status_code == 413
    assert answer.json()["errors"][0]["expected"] == f"at most {limit} bytes"


def test_a_client_that_goes_away_in_a_part_leaves_none(http: httpx.Client, gateway: Gateway) -> None:
    data = rows(1000)
    upload = announce(http, "broken-off", data).json()["id"]
    before = len(gateway.log.read_text())

    def half() -> Iterator[bytes]:
        yield data[:500]
        raise ConnectionError("the client is gone")

    with pytest.raises(ConnectionError):
        http.put(f"/v1/uploads/{upload}/files/rows.jsonl/parts/1", params={"sha256": sha(data)}, content=half(),
                 headers={"Content-Type": "application/octet-stream", "Content-Length": "1000"})
    time.sleep(0.1)
    assert http.get(f"/v1/uploads/{upload}").json()["files"][0]["received"] == []
    assert "Traceback" not in gateway.log.read_text()[before:]
