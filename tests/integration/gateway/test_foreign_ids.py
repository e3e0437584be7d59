"""Another tenant calls every GET of the OpenAPI document, and learns nothing."""

import json
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest
from psycopg import Connection

from hone.client import Client
from hone.environments.packages.archive import packed
from hone.rpc.session_ids import Place, SessionIds
from tests.integration.gateway import seed
from tests.integration.gateway.conftest import Gateway
from tests.integration.gateway.seed import Seeded
from tests.servers.postgres import TestDatabase
from tests.unit.environments.packages.shop import shop

ADDRESS = "engine-host.internal:4711"
CATALOGS = {"/v1/environments", "/v1/algorithms", "/v1/algorithms/{name}", "/v1/algorithms/{name}/spec", "/v1/graders",
            "/v1/benchmarks", "/v1/benchmarks/{name}", "/v1/benchmarks/{name}/leaderboard",
            "/openapi.json", "/healthz", "/docs", "/", "/favicon.ico"}
"""Paths with the same answer for every tenant; test_benchmarks.py has the leaderboard of two."""
OPERATOR = "/v1/tenants"
"""Paths of the operator begin with this."""


@dataclass(frozen=True)
class Owned:
    """The ids of the first tenant by their path parameter, and the texts that no other tenant may read."""

    named: dict[str, str]
    telling: list[str]

    def path(self, template: str, named: dict[str, str] | None = None) -> str:
        """Return the path with this tenant's ids, or with `named` ones."""
        values = named or self.named
        kind = template.split("/")[2] if template.count("/") > 1 else ""
        return template.format(**{**values, "name": values.get(f"{kind}.name", "")})


@pytest.fixture(scope="module")
def owned(
    hone: Client, seeded: Seeded, gateway: Gateway, postgres: TestDatabase, tenant: str,
    tmp_path_factory: pytest.TempPathFactory, sandbox: None,  # noqa: ARG001
) -> Owned:
    packages = tmp_path_factory.mktemp("packages") / "private.zip"
    packages.write_bytes(packed(shop().files))
    export = hone.create_export(seeded.run.id)
    seed.finish_export(postgres.owner_url, gateway.objects, export.id, {"config.json": b"{}"})
    dataset = hone.upload_dataset("confidential-rows", b'{"prompt": "a", "completion": "b"}\n')
    deleted = hone.upload_dataset("deleted-rows", b'{"prompt": "a", "completion": "c"}\n')
    hone.delete_dataset(deleted.id)
    with gateway.http(tenant) as http:
        upload = http.post("/v1/uploads", json={"kind": "dataset", "name": "secret-rows", "files": [
            {"name": "rows.jsonl", "bytes": 1, "sha256": "0" * 64}]}).json()["id"]
    with Connection.connect(postgres.owner_url) as connection:
        _engine(connection, seeded)
        _collection(connection, seeded)
        keys = connection.execute("SELECT k.id, k.prefix FROM api_keys k JOIN runs r ON r.key_id = k.id "
                                  "WHERE r.id = %s", [seeded.run.id]).fetchone()
    assert keys is not None
    hone.upload_dataset("private-logs", json.dumps({
        "merchant_id": "m", "week": 1, "user": {"a": 1}, "merchant": {"b": 1}, "strategy": {"c": 1},
        "outcome": {"order": 1}}).encode())
    named = {"fit_id": hone.fit_audience("private-logs").id, "run_id": seeded.run.id,
             "group_id": str(seeded.groups[0]), "index": "1", "export_id": export.id,
             "upload_id": upload, "subject_id": deleted.id, "models.name": hone.model("toy").id,
             "datasets.name": dataset.name, "exports.name": "config.json", "runs.name": "private-skills",
             "routes.name": hone.put_route("private-route", ["toy"]).name,
             "job_id": hone.make_package("private-package", "private hint").id,
             "benchmarks.name": "desk",
             "knowledge.name": hone.save_knowledge("private-knowledge", seeded.run.id).name,
             "packages.name": hone.add_package("private-package", packages).name,
             "check_id": hone.check_grader({"type": "exact", "name": "private-check"}).id,
             "session_id": SessionIds(os.environ["HONE_STACK_TOKEN"]).sealed(
                 Place("127.0.0.1:9", "ses_1"), hone.account().tenant_id),
             "judges.name": hone.put_judge("private-judge", "http://judge/v1", "m", hone.put_secret(
                 "private-secret", "x").name).name}
    with gateway.http(tenant) as http:
        by_example = dict(_saved_by_example(http, named))
    telling = [seeded.run.id, seeded.run.model_id, *seeded.versions, export.id, dataset.name, dataset.id, upload,
               "secret-rows", deleted.id, named["models.name"], *keys, ADDRESS, "only for its owner", "answer 1_%",
               "private-route", named["check_id"], "private-check", "private-judge", "private-secret",
               named["fit_id"], "private-logs", "private-package", "private hint", "private-knowledge",
               "private rule", *by_example.values()]
    return Owned({**named, **by_example}, telling)


def _saved_by_example(http: httpx.Client, named: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Send the declared example of each route PUT …/{name} under a private name, for nouns that have no name yet.

    So a new noun is looked at without a word here, where its example needs nothing else that exists.
    """
    for path, methods in http.get("/openapi.json").json()["paths"].items():
        kind = path.split("/")[2] if path.endswith("/{name}") else ""
        body = methods.get("put", {}).get("requestBody", {}).get("content", {}).get("application/json")
        if kind and body is not None and f"{kind}.name" not in named:
            saved = http.put(path.format(name=f"private-{kind}"), json=body["example"])
            assert saved.is_success, saved.text
            yield f"{kind}.name", f"private-{kind}"


def _collection(connection: Connection, seeded: Seeded) -> None:
    connection.execute(
        "INSERT INTO collections (run_id, tenant_id, name, version)"
        " SELECT id, tenant_id, unnest('{private-skills,knowledge}'::text[]), 1 FROM runs WHERE id = %s",
        [seeded.run.id])
    connection.execute(
        "INSERT INTO collection_items (run_id, tenant_id, name, version, place, body) SELECT id, tenant_id,"
        " 'knowledge', 1, 0, %s FROM runs WHERE id = %s",
        [json.dumps({"kind": "rule", "text": "private rule", "task": "t"}), seeded.run.id])


def _engine(connection: Connection, seeded: Seeded) -> None:
    connection.execute(
        "INSERT INTO engines (id, address, kind, load) VALUES ('inference-7', %s, 'native', 0.25)", [ADDRESS])
    connection.execute(
        "INSERT INTO engine_models (engine_id, model_id, version_id, refused_version_id, refused_reason,"
        " generated_tokens) VALUES ('inference-7', %s, %s, %s, 'only for its owner', 12)",
        [seeded.run.model_id, seeded.versions[1], seeded.versions[2]])


@pytest.fixture(scope="module")
def templates(gateway: Gateway) -> list[str]:
    with gateway.http() as http:
        paths = http.get("/openapi.json").json()["paths"]
    return [path for path, methods in paths.items()
            if "get" in methods and path not in CATALOGS and not path.startswith(OPERATOR)]


@pytest.fixture(scope="module")
def own(gateway: Gateway, tenant: str) -> Iterator[httpx.Client]:
    with gateway.http(tenant) as http:
        yield http


@pytest.fixture(scope="module")
def foreign(gateway: Gateway, other_tenant: str) -> Iterator[httpx.Client]:
    with gateway.http(other_tenant) as http:
        yield http


def test_every_path_with_an_id_is_as_unknown_as_with_a_made_up_one(
    templates: list[str], owned: Owned, own: httpx.Client, foreign: httpx.Client,
) -> None:
    with_ids = [template for template in templates if "{" in template]
    assert {"/v1/runs/{run_id}/events", "/v1/exports/{export_id}/archive", "/v1/datasets/{name}"} <= set(with_ids)
    made_up = {**{name: f"x{secrets.token_hex(4)}" for name in owned.named}, "group_id": "987654", "index": "3",
               "benchmarks.name": "desk"}
    for template in with_ids:
        mine = own.get(owned.path(template))
        said, unknown = foreign.get(owned.path(template)), foreign.get(owned.path(template, made_up))
        assert (said.status_code, unknown.status_code) == (404, 404), template
        assert _words(said, owned.named) == _words(unknown, made_up), template
        assert mine.status_code == 200 or _words(mine, owned.named) != _words(said, owned.named), template


def _words(answer: httpx.Response, named: dict[str, str]) -> str:
    words = str(answer.json()["detail"])
    for value in sorted(named.values(), key=len, reverse=True):
        words = words.replace(value, "ID")
    return words


def test_what_the_operator_sees_is_forbidden(gateway: Gateway, foreign: httpx.Client) -> None:
    with gateway.http() as http:
        paths = [path for path, methods in http.get("/openapi.json").json()["paths"].items()
                 if "get" in methods and path.startswith(OPERATOR)]
    assert len(paths) > 2
    assert {foreign.get(path.format(tenant="default")).status_code for path in paths} == {403}


def test_a_stream_of_events_begins_for_its_tenant_alone(
    owned: Owned, own: httpx.Client, foreign: httpx.Client,
) -> None:
    streamed, path = {"Accept": "text/event-stream"}, f"/v1/runs/{owned.named['run_id']}/events"
    with own.stream("GET", path, headers=streamed) as answer:
        assert answer.status_code == 200
    assert foreign.get(path, headers=streamed).status_code == 404


def test_what_lists_without_an_id_tells_nothing_of_others(
    templates: list[str], owned: Owned, own: httpx.Client, foreign: httpx.Client,
) -> None:
    lists = [template for template in templates if "{" not in template]
    assert {"/v1/engines", "/v1/graders/activity", "/v1/usage", "/metrics", "/v1/health"} <= set(lists)
    run_id = owned.named["run_id"]
    for path in [*lists, "/v1/usage?by=key", f"/v1/usage?run_id={run_id}", f"/v1/runs?like={run_id}"]:
        answer = foreign.get(path)
        assert answer.status_code == 200, path
        assert [word for word in owned.telling if word in answer.text] == [], path
    texts = "".join(own.get(path).text for path in [*lists, "/v1/usage?by=key"])
    assert {owned.named["run_id"], "only for its owner"} <= {word for word in owned.telling if word in texts}
    assert ADDRESS not in texts


@pytest.mark.usefixtures("owned")
def test_an_engine_tells_everybody_that_it_lives_and_its_load(own: httpx.Client, foreign: httpx.Client) -> None:
    for http, held in ((own, 1), (foreign, 0)):
        [engine] = http.get("/v1/engines").json()["data"]
        assert (engine["id"], engine["load"], len(engine["models"])) == ("inference-7", 0.25, held)
        assert engine.keys() == {"id", "kind", "age_s", "load", "started_at", "models"}
