"""Bad input is refused with field, found and expected, and changes nothing."""

import json
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from psycopg import Connection

from hone.client import Client, every
from hone.client import errors as client_errors
from hone.store.database import Database
from tests.integration.gateway import seed
from tests.integration.gateway.conftest import MAX_BODY_MB, Gateway
from tests.servers.postgres import TestDatabase

pytestmark = pytest.mark.alone

TABLES = ("artifacts", "uploads", "runs", "models", "operations", "events", "idempotency_keys")


@pytest.fixture
def nothing_happens(postgres: TestDatabase, gateway: Gateway, base: str) -> Iterator[None]:
    """Compare all rows and objects before and after the test; the base is there before."""
    assert base
    before = _everything(postgres, gateway)
    yield
    assert _everything(postgres, gateway) == before


def _everything(postgres: TestDatabase, gateway: Gateway) -> tuple[dict[str, int], list[str]]:
    with Connection.connect(postgres.owner_url) as connection:
        rows = {table: connection.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0] for table in TABLES}
    return rows, list(gateway.objects.list(""))


def _problem(answer: httpx.Response, status: int) -> dict[str, Any]:
    assert answer.headers["content-type"] == "application/problem+json"
    document: dict[str, Any] = answer.json()
    assert (answer.status_code, document["status"]) == (status, status)
    assert {"type", "title", "detail", "instance", "request_id", "errors"} <= document.keys()
    assert document["request_id"] == answer.headers["x-request-id"]
    return document


SPECS: list[tuple[dict[str, Any], list[tuple[str, str, str]]]] = [
    ({"stepz": 4}, [("stepz", "unknown key with value 4", "did you mean steps?")]),
    ({"steps": -1, "seed": -1}, [("seed", "-1", "greater than or equal to 0"), ("steps", "-1", "greater than")]),
    ({"algorithm": "grpoo"}, [("algorithm.preset", '"grpoo"', "did you mean grpo?")]),
    ({"algorithm": "sft"}, [
        ("task.dataset", "nothing", "a dataset with completions"), ("batch.samples", "4", "1, because")]),
    ({"task": {"environment": "sort_digitz"}}, [("task.environment", '"sort_digitz"', "did you mean sort_digits?")]),
    ({"task": {"dataset": "absent"}}, [("task.dataset", '"absent"', "an uploaded dataset")]),
    ({"model": {"base": "absent"}}, [("model.base", '"absent"', "a registered model, a version or a run")]),
    ({"model": {"base": "run_absent"}}, [("model.base", '"run_absent"', "a run")]),
    ({"sampling": {"max_tokens": 512}}, [("sampling.max_tokens", "512", "less than the 512 positions of an engine")]),
    ({"seed": "x", "model": {"base": "absent"}, "task": {"dataset": "gone"}, "batch": {"samples": 1}}, [
        ("seed", '"x"', "a valid integer"), ("batch.samples", "1", "at least 2"),
        ("model.base", '"absent"', "a registered model"), ("task.dataset", '"gone"', "an uploaded dataset")]),
    ({"sampling": {"stop": ["", "x"]}}, [("sampling.stop[0]", '""', "at least 1 character")]),
    ({"name": "a\0b"}, [("name", '"a\\u0000b"', "text without NUL")]),
]


@pytest.mark.parametrize(("change", "expected"), SPECS, ids=[next(iter(change)) for change, _ in SPECS])
@pytest.mark.usefixtures("nothing_happens")
def test_specs(hone: Client, base: str, change: dict[str, Any], expected: list[tuple[str, str, str]]) -> None:
    with pytest.raises(client_errors.Refused) as refused:
        hone.create_run(seed.spec(base, **change))
    problems = refused.value.problems
    assert [(problem.field, problem.found) for problem in problems] == [(field, found) for field, found, _ in expected]
    for problem, (_, _, words) in zip(problems, expected, strict=True):
        assert words in problem.expected


@pytest.mark.usefixtures("nothing_happens")
class TestModels:
    def test_directory_without_weights(self, hone: Client, toy_directory: Path, tmp_path: Path) -> None:
        shutil.copytree(toy_directory, tmp_path / "model")
        (tmp_path / "model" / "model.safetensors").unlink()
        problem = _refused_model(hone, tmp_path / "model")
        assert problem == ("model.safetensors", "no such file among config.json, generation_config.json, "
                           "tokenizer.json, tokenizer_config.json", "safetensors weights")

    def test_pickled_weights(self, hone: Client, toy_directory: Path, tmp_path: Path) -> None:
        shutil.copytree(toy_directory, tmp_path / "model")
        (tmp_path / "model" / "model.safetensors").rename(tmp_path / "model" / "pytorch_model.bin")
        assert _refused_model(hone, tmp_path / "model") == (
            "model.safetensors", "pytorch_model.bin", "safetensors weights; pickles are never read")

    def test_unsupported_architecture(self, hone: Client, toy_directory: Path, tmp_path: Path) -> None:
        shutil.copytree(toy_directory, tmp_path / "model")
        config = json.loads((toy_directory / "config.json").read_text())
        (tmp_path / "model" / "config.json").write_text(json.dumps({**config, "architectures": ["GPT2LMHeadModel"]}))
        field, found, expected = _refused_model(hone, tmp_path / "model")
        assert (field, found) == ("config.json: architectures", '["GPT2LMHeadModel"]')
        assert "Qwen3ForCausalLM" in expected

    def test_cut_weights(self, hone: Client, toy_directory: Path, tmp_path: Path) -> None:
        shutil.copytree(toy_directory, tmp_path / "model")
        weights = tmp_path / "model" / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:-1])
        field, found, expected = _refused_model(hone, tmp_path / "model")
        assert field == "model.safetensors"
        assert found.endswith("bytes of data")
        assert expected.endswith("as its header claims")

    def test_no_such_directory(self, hone: Client, tmp_path: Path) -> None:
        assert _refused_model(hone, tmp_path / "absent")[0] == "directory"

    @pytest.mark.parametrize("outside", ["/etc", "/absent"])
    def test_a_directory_outside_the_model_root(self, hone: Client, tmp_path: Path, outside: str) -> None:
        (tmp_path / "link").symlink_to(outside)
        for named in (Path(outside), tmp_path / "link", tmp_path / ".." / ".." / ".." / outside[1:]):
            field, _, expected = _refused_model(hone, named)
            assert (field, expected.startswith("an absolute path on the gateway's machine, below ")) == (
                "directory", True)

    def test_uploaded_files_are_checked_alike(self, gateway: Gateway, tenant: str, toy_directory: Path) -> None:
        with gateway.http(tenant) as http:
            answer = http.post("/v1/models", data={"name": "up"},
                               files=[("files", ("config.json", (toy_directory / "config.json").read_bytes()))])
        assert _problem(answer, 422)["errors"][0]["field"] == "model.safetensors"

    @pytest.mark.parametrize(("body", "field"), [
        ({"name": "x y", "directory": "/tmp"}, "name"), ({"name": "run_1", "directory": "/tmp"}, "name"),
        *(({"name": name, "directory": "/tmp"}, "name") for name in ("a/../b", "a/./b", "a//b", "a/", "a/..")),
        ({"name": "x"}, "directory"), ({"name": "x", "directory": "/tmp", "more": 1}, "more"), ([], "body")])
    def test_fields(self, gateway: Gateway, tenant: str, body: Any, field: str) -> None:
        with gateway.http(tenant) as http:
            assert _problem(http.post("/v1/models", json=body), 422)["errors"][0]["field"] == field


def _refused_model(hone: Client, directory: Path) -> tuple[str, str, str]:
    with pytest.raises(client_errors.Refused) as refused:
        hone.register_model("refused", directory)
    (problem,) = refused.value.problems
    return problem.field, problem.found, problem.expected


def rows(bad: dict[int, bytes]) -> bytes:
    """Return 100 rows, with the rows in `bad` replaced. Rows are numbered from 1."""
    good = [json.dumps({"prompt": f"s{number}=", "answer": str(number)}).encode() for number in range(1, 101)]
    return b"\n".join(bad.get(number, row) for number, row in enumerate(good, 1))


THREE_BAD = {12: b'{"prompt": 7, "answer": "1"}', 40: b'{"prompt": "x"', 99: b'{"prompt": "x"}'}


class TestDatasets:
    @pytest.mark.usefixtures("nothing_happens")
    def test_three_bad_rows_of_a_hundred_are_named(self, hone: Client) -> None:
        with pytest.raises(client_errors.Refused, match="3 of 100 rows are bad") as refused:
            hone.upload_dataset("bad", rows(THREE_BAD))
        found = [(problem.field, problem.found, problem.expected) for problem in refused.value.problems]
        assert found[0] == ("row 12: prompt", "7", "a text that is not empty")
        assert found[1][0] == "row 40: row"
        assert found[1][2] == "one JSON object per line"
        assert found[2] == ("row 99: answer", "nothing",
                            "an answer, a completion, or another key that a grader reads")
        assert refused.value.document["report"]["bad"] == 3

    def test_the_good_rows_are_stored_when_asked_for(self, hone: Client, gateway: Gateway) -> None:
        dataset = hone.upload_dataset("mostly-good", rows(THREE_BAD), allow_bad_rows=True)
        assert (dataset.rows, dataset.report.good, dataset.report.bad) == (97, 97, 3)
        assert [problem.row for problem in dataset.report.problems] == [12, 40, 99]
        stored = gateway.objects.get(f"artifacts/{dataset.id}/rows.jsonl").splitlines()
        assert [json.loads(row)["answer"] for row in stored[:13]] == [str(n) for n in range(1, 15) if n != 12]

    @pytest.mark.usefixtures("nothing_happens")
    @pytest.mark.parametrize("data", [b"", b"\n\n", b"[1]", b"\xff\xfe", b'{"prompt": "a\\u0000", "answer": "1"}',
                                      b'{"prompt": "a\\ud800", "answer": "1"}', b'{"prompt": "a", "answer": NaN}'])
    def test_no_good_row_at_all(self, hone: Client, data: bytes) -> None:
        with pytest.raises(client_errors.Refused) as refused:
            hone.upload_dataset("none", data, allow_bad_rows=True)
        assert refused.value.problems

    @pytest.mark.usefixtures("nothing_happens")
    def test_the_form_itself(self, gateway: Gateway, tenant: str) -> None:
        with gateway.http(tenant) as http:
            problem = _problem(http.post("/v1/datasets", data={"name": "x", "allow_bad_rows": "perhaps"}), 422)
        assert {error["field"] for error in problem["errors"]} == {"file", "allow_bad_rows"}

    def test_supervised_runs_need_completions_and_graders_answers(self, hone: Client, base: str) -> None:
        hone.upload_dataset("answers", rows({}))
        hone.upload_dataset("completions", rows({}).replace(b'"answer"', b'"completion"'))
        for dataset, algorithm, wanted in (("answers", "sft", "completion"), ("completions", "grpo", "answer")):
            spec = seed.spec(base, algorithm=algorithm, task={"dataset": dataset}, batch={"prompts": 2})
            with pytest.raises(client_errors.Refused) as refused:
                hone.create_run(spec)
            (problem,) = refused.value.problems
            assert (problem.field, problem.expected) == ("task.dataset", f"{wanted} in every row")
        assert hone.create_run(seed.spec(
            base, algorithm="sft", task={"dataset": "completions"}, batch={"prompts": 2})).spec["eval"] is None

    def test_a_dataset_without_a_task_of_its_environment(self, hone: Client, base: str) -> None:
        hone.upload_dataset("numbers", questions(3, 4))
        before, spec = list(every(hone.runs)), seed.spec(base, task=TASK | {"dataset": "numbers"}, eval=None)
        for asked in (hone.create_run, hone.resolve):
            with pytest.raises(client_errors.Refused) as refused:
                asked(spec)
            assert [(problem.field, problem.found, problem.expected) for problem in refused.value.problems] == [
                ("task.dataset", "numbers, with 2 rows and no task of sqlite",
                 "a dataset with at least one such row"),
                ("task.dataset", "row 1, where answer is 3", "a text that is not empty"),
                ("task.dataset", "row 2, where answer is 4", "a text that is not empty")]
        assert list(every(hone.runs)) == before

    def test_a_split_is_reported_where_the_run_is_made(self, hone: Client, base: str) -> None:
        hone.upload_dataset("ten", b"\n".join(rows({}).splitlines()[:10]))
        hone.upload_dataset("twice", b"\n".join(rows({}).splitlines()[:1] * 2))
        ten, twice = (seed.spec(base, task={"dataset": name}, grader={"type": "exact"}) for name in ("ten", "twice"))
        notes = hone.dry_run(ten).notes
        assert notes[0] == "dataset 'ten': 9 of 10 rows train, 1 is held out for evaluation"
        assert [event.message for event in hone.events(hone.create_run(ten).id).data if event.kind == "split"] == notes
        with pytest.raises(client_errors.Refused, match=r"task\.dataset: .* whose 2 rows make 1 task"):
            hone.create_run(twice)

    def test_a_dataset_whose_rows_are_stored_no_more(self, gateway: Gateway, hone: Client, base: str) -> None:
        dataset = hone.upload_dataset("lost", questions("3"))
        gateway.objects.delete([f"artifacts/{dataset.id}/rows.jsonl"])
        with pytest.raises(client_errors.Refused) as refused:
            hone.create_run(seed.spec(base, task=TASK | {"dataset": "lost"}, eval=None))
        assert [(problem.field, problem.found, problem.expected) for problem in refused.value.problems] == [
            ("task.dataset", "lost, without stored rows",
             "a dataset that is uploaded again, under another name")]

    def test_bad_rows_beside_tasks_are_reported_once_in_an_event(
        self, hone: Client, base: str, database: Database, postgres: TestDatabase,
    ) -> None:
        hone.upload_dataset("mixed", questions("3", 4, "5"))
        run = hone.create_run(seed.spec(base, task=TASK | {"dataset": "mixed"}, eval=None))
        message = ("dataset 'mixed': 1 of 3 rows are left out: row 2: item.answer: found 4, expected a text that is "
                   "not empty")
        events = [(event.kind, event.message) for event in hone.events(run.id).data]
        assert hone.dry_run(seed.spec(base, task=TASK | {"dataset": "mixed"}, eval=None)).warnings[:1] == [message]
        assert events == [("created", "run sort was created"), ("bad_rows", message)]
        with Connection.connect(postgres.owner_url) as connection:
            [(tenant,)] = connection.execute("SELECT tenant_id FROM runs WHERE id = %s", [run.id]).fetchall()
        database.run("events.add_bad_rows", tenant_id=tenant, run_id=run.id, message=message)
        assert [(event.kind, event.message) for event in hone.events(run.id).data] == events


    def test_references_that_their_own_grader_refuses_are_warned_of(self, hone: Client, base: str) -> None:
        def made(*answers: str, grader: str = "numeric") -> dict[str, Any]:
            name = f"answers-{grader}-{len(answers)}"
            hone.upload_dataset(name, b"\n".join(
                json.dumps({"prompt": "?", "answer": answer}).encode() for answer in answers))
            return seed.spec(base, task={"dataset": name}, grader={"type": grader}, eval=None)

        run = hone.create_run(made("1", "none", "3"))
        [warning] = run.warnings
        assert warning.startswith("dataset 'answers-numeric-3': 1 of 3 references are not right by their own grader "
                                  "numeric: row 2: invalid_spec")
        assert [event.message for event in hone.events(run.id).data if event.kind == "bad_references"] == [warning]
        with pytest.raises(client_errors.Refused) as refused:
            hone.create_run(made("none", "nothing"))
        assert [problem.field for problem in refused.value.problems] == ["task"] * 3
        unchecked = hone.create_run(made("1", grader="math"))  # no reward service answers here
        assert "1 of 1 references were not checked: the reward service: UNAVAILABLE" in unchecked.warnings[0]


TASK = {"environment": "sqlite"}


def questions(*answers: object) -> bytes:
    """Return rows that ask about a database, with these answers."""
    row = {"prompt": "how many?", "database": "CREATE TABLE t (a);"}
    return b"\n".join(json.dumps({**row, "answer": answer}).encode() for answer in answers)


@pytest.mark.usefixtures("nothing_happens")
class TestBodies:
    def test_a_gigabyte_is_refused_by_its_announced_length(self, gateway: Gateway, tenant: str) -> None:
        before = psutil.Process(gateway.pid).memory_info().rss
        with gateway.http(tenant) as http:
            answer = http.post("/v1/runs", content=_zeros(2**30), headers={
                "Content-Length": str(2**30), "Content-Type": "application/json"})
        assert _problem(answer, 413)["errors"] == [
            {"field": "body", "found": f"{2**30} bytes", "expected": f"at most {2**20} bytes"}]
        assert psutil.Process(gateway.pid).memory_info().rss - before < 2**26

    def test_it_is_refused_before_a_byte_of_it_is_sent(self, gateway: Gateway, tenant: str) -> None:
        host, port = gateway.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=60) as connection:
            connection.sendall(f"POST /v1/runs HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {tenant}\r\n"
                               f"Content-Length: {2**30}\r\nExpect: 100-continue\r\n\r\n".encode())
            assert connection.recv(100).startswith(b"HTTP/1.1 413 ")

    @pytest.mark.parametrize("path", ["/v1/runs", "/v1/models", "/v1/datasets"])
    def test_an_unannounced_one_as_soon_as_too_much_came(self, gateway: Gateway, tenant: str, path: str) -> None:
        kind = "application/json" if path == "/v1/runs" else "multipart/form-data; boundary=b"
        head = b"" if path == "/v1/runs" else (
            b'--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n')
        with gateway.http(tenant) as http:
            answer = http.post(path, content=_zeros(4 * MAX_BODY_MB * 2**20, head), headers={"Content-Type": kind})
        limit = 2**20 if path == "/v1/runs" else MAX_BODY_MB * 2**20
        assert _problem(answer, 413)["errors"][0]["found"] == f"more than {limit} bytes"

    def test_a_wrong_key_is_refused_though_the_body_was_never_read(self, gateway: Gateway) -> None:
        with gateway.http("tml-wrong") as http:
            answer = http.post("/v1/runs", content=_zeros(2**20), headers={"Content-Length": str(2**20)})
        _problem(answer, 401)

    @pytest.mark.parametrize(("body", "found"), [
        (b"{", "text that is not JSON"), (b'"x"', '"x"'), (b"", "nothing"), (b'{"a": 1, "a": 1}', "the key 'a' twice"),
        (b'{"a":' * 100_000, "values nested too deep"), (b'{"steps": NaN}', "NaN")])
    def test_no_object(self, gateway: Gateway, tenant: str, body: bytes, found: str) -> None:
        with gateway.http(tenant) as http:
            answer = http.post("/v1/runs", content=body, headers={"Content-Type": "application/json"})
        (error,) = _problem(answer, 422)["errors"]
        assert (error["field"], error["found"][:len(found)]) == ("body", found)


@pytest.mark.parametrize(("path", "field"), [
    ("/metrics?names=%00", "names"), ("/metrics?after_step=3000000000", "after_step")])
def test_what_no_row_holds_is_refused_by_name(gateway: Gateway, tenant: str, path: str, field: str) -> None:
    with gateway.http(tenant) as http:
        answer = http.get(f"/v1/runs/run_absent{path}")
    assert field in _problem(answer, 422)["errors"][0]["field"]


@pytest.mark.parametrize("version_id", ["\0", "ver one"])
def test_a_version_that_can_be_none_is_refused(gateway: Gateway, tenant: str, version_id: str) -> None:
    with gateway.http(tenant) as http:
        answer = http.post("/v1/runs/run_absent/exports", json={"version_id": version_id})
    assert _problem(answer, 422)["errors"][0]["field"] == "version_id"


def _zeros(length: int, head: bytes = b"") -> Iterator[bytes]:
    yield head
    for _ in range(length // 2**20):
        yield bytes(2**20)


KEYS = [{}, {"Authorization": "Bearer tml-wrong"}, {"X-API-Key": "wrong"}, {"Authorization": "Basic tml-x"}]


@pytest.mark.parametrize("headers", KEYS)
@pytest.mark.parametrize("path", ["/v1/runs", "/v1/nothing", "/v1/health"])
def test_without_a_valid_key_nothing_answers(gateway: Gateway, headers: dict[str, str], path: str) -> None:
    with gateway.http() as http:
        answer = http.get(path, headers=headers)
    problem = _problem(answer, 401)
    assert problem["errors"][0]["field"] == "Authorization"
    assert answer.headers["www-authenticate"] == "Bearer"


def test_both_headers_take_a_key(gateway: Gateway, tenant: str) -> None:
    with gateway.http() as http:
        for headers in ({"X-API-Key": tenant}, {"Authorization": f"bearer {tenant}"}):
            assert http.get("/v1/runs", headers=headers).status_code == 200


GETS = ["", "/events", "/metrics", "/checkpoints", "/exports", "/trajectories", "/trajectories/1/0"]


class TestUnknown:
    @pytest.mark.parametrize("path", GETS)
    @pytest.mark.parametrize("run_id", ["run_nothing", "%00", "..", "a" * 400])
    def test_run_ids(self, gateway: Gateway, tenant: str, path: str, run_id: str) -> None:
        with gateway.http(tenant) as http:
            _problem(http.get(f"/v1/runs/{run_id}{path}"), 404)

    @pytest.mark.parametrize("verb", ["pause", "resume", "cancel", "exports"])
    @pytest.mark.usefixtures("nothing_happens")
    def test_wishes(self, gateway: Gateway, tenant: str, verb: str) -> None:
        with gateway.http(tenant) as http:
            _problem(http.post(f"/v1/runs/run_nothing/{verb}"), 404)

    @pytest.mark.parametrize("path", [
        "/v1/nothing", "/v1/models/absent", "/v1/datasets/absent", "/v1/exports/absent", "/v1/algorithms/absent",
        "/v1/models/%00", "/v1/exports/%00"])
    def test_names(self, gateway: Gateway, tenant: str, path: str) -> None:
        with gateway.http(tenant) as http:
            _problem(http.get(path), 404)

    def test_methods(self, gateway: Gateway, tenant: str) -> None:
        with gateway.http(tenant) as http:
            answer = http.delete("/v1/runs")
        assert _problem(answer, 405)["title"] == "Method not allowed"
        assert "POST" in answer.headers["allow"] or "GET" in answer.headers["allow"]

    @pytest.mark.parametrize(("query", "field"), [
        ("limit=0", "query.limit"), ("limit=x", "query.limit"), ("state=asleep", "query.state"),
        ("after=%00", "query.after")])
    def test_queries(self, gateway: Gateway, tenant: str, query: str, field: str) -> None:
        with gateway.http(tenant) as http:
            assert _problem(http.get(f"/v1/runs?{query}"), 422)["errors"][0]["field"] == field

    def test_the_run_list_is_as_long_as_before(self, hone: Client) -> None:
        before = len(list(every(hone.runs)))
        with pytest.raises(client_errors.NotFound, match="There is no run run_nothing"):
            hone.cancel("run_nothing")
        assert len(list(every(hone.runs))) == before
