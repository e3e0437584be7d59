"""The `hone` command against a real gateway."""

import json
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory

import pytest
from psycopg import Connection
from typer.testing import CliRunner, Result

from hone.cli.main import app
from hone.client import Client, uploads
from tests.integration.gateway import seed
from tests.integration.gateway.conftest import Gateway
from tests.integration.gateway.seed import Seeded
from tests.servers.postgres import TestDatabase

pytestmark = pytest.mark.alone


@pytest.fixture(autouse=True)
def configured(monkeypatch: pytest.MonkeyPatch, gateway: Gateway, tenant: str, postgres: TestDatabase) -> None:
    monkeypatch.setenv("HONE_URL", gateway.url)
    monkeypatch.setenv("HONE_API_KEY", tenant)
    monkeypatch.setenv("HONE_DATABASE_URL", postgres.worker_url)
    monkeypatch.setenv("COLUMNS", "40")


def typed(*words: str, code: int = 0) -> Result:
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == code, result.output
    return result


def test_from_files_to_a_run(toy_directory: Path, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"prompt": "a", "completion": "b"}\n')
    (tmp_path / "spec.yaml").write_text(json.dumps({
        "name": "warm", "model": {"base": "typed"}, "task": {"dataset": "typed-rows"}, "algorithm": "sft", "steps": 2}))
    assert "Qwen3ForCausalLM" in typed("models", "add", "typed", str(toy_directory)).stdout
    typed("models", "add", "typed-upload", str(toy_directory), "--upload")
    added = typed("data", "add", "typed-rows", str(tmp_path / "rows.jsonl")).stdout
    assert added == typed("data", "get", "typed-rows").stdout
    assert "bad rows       0 of 1" in added
    assert "config.json" in typed("models", "get", "typed").stdout
    assert "{" not in added + typed("models", "get", "typed").stdout, "no line is JSON"
    run = typed("train", str(tmp_path / "spec.yaml")).stdout.split()[0]
    assert json.loads(typed("runs", "get", run, "--json").stdout)["name"] == "warm"
    assert run in typed("runs", "list").stdout
    assert run in typed("runs", "list", "--search", run).stdout
    assert run not in typed("runs", "list", "--search", "no such run").stdout
    assert "typed" in typed("models", "list").stdout
    assert "typed-rows" in typed("data", "list").stdout
    assert "desired: pause" in typed("runs", "pause", run).stdout
    assert "desired: run" in typed("runs", "resume", run).stdout
    assert "desired: cancel" in typed("runs", "cancel", run).stdout
    assert "the desired state is now cancel" in typed("runs", "events", run).stdout
    assert typed("runs", "collections", run).stdout.split() == ["name", "version", "versions", "items", "created_at"]


def test_a_directory_that_the_gateway_cannot_read_is_sent(
    toy_directory: Path, monkeypatch: pytest.MonkeyPatch, hone: Client,
) -> None:
    monkeypatch.setattr(uploads, "LARGE", 0)
    with TemporaryDirectory() as elsewhere:  # not below HONE_MODEL_ROOT
        copied = copytree(toy_directory, Path(elsewhere) / "model")
        assert "Qwen3ForCausalLM" in typed("models", "add", "elsewhere", str(copied)).stdout
        assert "an absolute path" in typed("models", "add", "absent", str(copied / "absent"), code=1).stderr
    (sent,) = [one for one in hone.uploads().data if one.name == "elsewhere"]
    assert (sent.state, sent.sent) == ("done", sent.bytes)
    assert sent.id in typed("uploads", "list").stdout
    assert "has become" in typed("uploads", "abort", sent.id, code=1).stderr


def test_a_first_small_model_is_made_and_registered() -> None:
    made = json.loads(typed("models", "make-toy", "small", "--json").stdout)
    assert (made["name"], made["architecture"], made["vocab_size"]) == ("small", "Qwen3ForCausalLM", 32)
    again = json.loads(typed("models", "make-toy", "again", "--json").stdout)
    assert again["files"] == made["files"], "equal seeds give equal weights"
    assert json.loads(typed("models", "make-toy", "words", "--text", "--json").stdout)["vocab_size"] >= 100


def test_problems_of_the_gateway_are_printed(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(json.dumps(seed.spec("absent")))
    (tmp_path / "rows.jsonl").write_text('{"prompt": "a", "completion": "b"}\n{"prompt": 1, "answer": "b"}\n')
    assert 'error: model.base: found "absent"' in typed("train", str(tmp_path / "spec.yaml"), code=1).stderr
    output = typed("data", "add", "bad", str(tmp_path / "rows.jsonl"), code=1).stderr
    assert "error: row 2: prompt: found 1, expected a text that is not empty" in output
    assert "There is no run run_nothing" in typed("runs", "get", "run_nothing", code=1).stderr


def test_following_ends_with_the_run(hone: Client, base: str, postgres: TestDatabase, tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(json.dumps(seed.spec(base, name="followed")))
    with Connection.connect(postgres.owner_url) as connection:
        connection.execute(
            "CREATE FUNCTION end_followed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            " IF NEW.name = 'followed' THEN NEW.state := 'failed'; NEW.reason := 'for the test'; END IF;"
            " RETURN NEW; END $$")
        connection.execute(
            "CREATE TRIGGER end_followed BEFORE INSERT ON runs FOR EACH ROW EXECUTE FUNCTION end_followed()")
    output = typed("train", str(tmp_path / "spec.yaml"), "--follow", code=1).stdout
    assert "run followed was created" in output
    assert "failed: for the test" in output
    assert hone.runs(state="failed").data[0].name == "followed"


def test_results(seeded: Seeded, postgres: TestDatabase, gateway: Gateway, hone: Client, tmp_path: Path) -> None:
    run = seeded.run.id
    shown = typed("runs", "get", run).stdout
    assert "reward" in shown
    assert '"model"' not in shown, "the spec has a command of its own"
    assert "1:0.25  2:0.5" in typed("runs", "metrics", run, "reward").stdout
    assert seeded.versions[2] in typed("runs", "checkpoints", run).stdout
    assert typed("runs", "trajectories", run, "--purpose", "eval", "--json").stdout.count("\n") == seed.SAMPLES
    whole = typed("runs", "trajectory", run, str(seeded.groups[0]), "1").stdout
    assert json.loads(whole)["calls"][0]["text"] == "answer 1_%"
    assert "completion_tokens=300" in typed("usage").stdout
    export = hone.create_export(run)
    seed.finish_export(postgres.owner_url, gateway.objects, export.id, {"config.json": b"{}"})
    assert seeded.versions[2] in typed("export", run, "--to", str(tmp_path / "out")).stdout
    assert (tmp_path / "out" / "config.json").read_bytes() == b"{}"


def test_keys(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = typed("keys", "create", "typed").stdout.strip()
    with gateway.client(secret) as client:
        assert client.account().scopes == ["read", "run"]
    assert "typed" in typed("keys", "list").stdout
    reader = json.loads(typed("keys", "create", "--scope=read", "reader", "--days", "1", "--json").stdout)
    assert (reader["scopes"], reader["expires_at"] is None) == (["read"], False)
    typed("keys", "revoke", secret[:10])
    monkeypatch.setenv("HONE_API_KEY", secret)
    assert "expected a key that is in use" in typed("runs", "list", code=1).stderr
    monkeypatch.setenv("HONE_API_KEY", reader["secret"])
    assert "needs a key with the scope admin" in typed("keys", "revoke", "key_unknown", code=1).stderr


def test_a_first_key_is_made_in_the_database(
    gateway: Gateway, hone: Client, base: str, postgres: TestDatabase, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:
    hone.create_run(seed.spec(base))
    secret = typed("keys", "first", "laptop", "--tenant", "research").stdout.strip()
    again = json.loads(typed("keys", "first", "--tenant=research", "desk", "--json").stdout)
    with gateway.client(secret) as client, gateway.client(again["secret"]) as second:
        assert client.runs().data == []
        client.upload_dataset("shared", b'{"prompt": "a", "completion": "b"}\n')
        assert [one.name for one in second.datasets().data] == ["shared"]
        assert {one.id for one in client.keys().data} >= {again["id"]}
        assert (client.account().tenant, client.account().operator) == ("research", False)
    with Connection.connect(postgres.owner_url) as connection:
        found = connection.execute("SELECT count(*) FROM tenants WHERE name = 'research'").fetchone()
    assert found == (1,)
    monkeypatch.delenv("HONE_DATABASE_URL")
    output = typed("keys", "first", "--state", str(tmp_path / "absent"), code=1).stderr
    assert f"there is no stack in {tmp_path / 'absent'}" in output.replace("\n", " ")


def test_tenants(gateway: Gateway) -> None:
    with gateway.client(typed("tenants", "create", "typed-lab").stdout.strip()) as client:
        assert client.account().scopes == ["admin"]
    assert "max_runs       2" in typed("tenants", "quota", "typed-lab", "--runs", "2", "--stored-bytes", "1e9").stdout
    assert "max_runs       -" in typed("tenants", "quota", "typed-lab", "--runs", "none").stdout
    assert "1000000000" in typed("tenants", "list").stdout
    assert "found many, expected a number" in typed("tenants", "quota", "typed-lab", "--runs", "many", code=1).stderr
    typed("tenants", "suspend", "typed-lab")
    assert "suspended_at   -" in typed("tenants", "resume", "typed-lab").stdout
    assert "typed-bench" in typed("tenants", "rename", "typed-lab", "typed-bench").stdout
    assert typed("tenants", "delete", "typed-bench").stdout == "the tenant typed-bench is deleted\n"
    assert "There is no tenant typed-bench" in typed("tenants", "delete", "typed-bench", code=1).stderr


def test_the_audit_log() -> None:
    key = json.loads(typed("keys", "create", "told", "--json").stdout)
    assert key["id"] in typed("audit", "--action", "keys.create", "--since", "2026-01-01").stdout
    assert key["id"] not in typed("audit", "--action", "keys.revoke", "--json").stdout


def test_quotas_prices_and_budgets(hone: Client, base: str) -> None:
    run = hone.create_run(seed.spec(base)).id
    assert "budget: 2.50 EUR" in typed("runs", "budget", run, "2.5").stdout
    assert "budget: none" in typed("runs", "budget", run, "none").stdout
    assert "found much, expected a number" in typed("runs", "budget", run, "much", code=1).stderr
    assert "trained_tokens 10" in typed("prices", "set", "--trained-tokens", "10").stdout
    assert json.loads(typed("prices", "--json").stdout)["trained_tokens"] == 10
    assert "max_runs" in typed("quotas").stdout
    assert json.loads(typed("quotas", "--tenant", "default", "--json").stdout)["currency"] == "EUR"


def test_health_fails_when_something_is_away() -> None:
    output = typed("health", code=1).stdout
    assert "postgres" in output
    assert "UNAVAILABLE" in output
