"""Models for the roles that an environment asks: resolved like a base, refused if no engine can serve them."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import psycopg
import pytest
import uvicorn
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from hone import ids
from hone.client import Client
from hone.client import errors as client_errors
from hone.client.resources import Run
from hone.environments.catalogue import ENVIRONMENTS
from hone.environments.sort_digits import SortDigits
from hone.models import toy
from hone.spec.settings import Settings
from hone.stack import ports
from hone.store import manifests
from hone.store.database import AsyncDatabase
from hone.trajectory import parts
from services.gateway import app
from tests.integration.gateway import seed
from tests.integration.gateway.conftest import Gateway
from tests.integration.gateway.seed import Seeded
from tests.servers.postgres import TestDatabase
from tests.support.gateway.roles import SMALL, STRANGE, refusal


class Shop(SortDigits):
    """Tasks whose episodes may ask a user."""

    asked_roles = frozenset({"user"})


@contextmanager
def serving(server: uvicorn.Server) -> Iterator[None]:
    """Serve in a thread from the first answered request until the end, also after an error."""
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "it ended before it served"
            time.sleep(0.01)
        yield
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def shops(gateway: Gateway, postgres: TestDatabase, tenant: str) -> Iterator[Client]:
    """A client of a gateway in this process, which has an environment that asks a role."""
    [port] = ports.pick(1)
    served = app.create(Settings(gateway_database_url=postgres.gateway_url), AsyncDatabase(postgres.gateway_url),
                        gateway.objects)
    server = uvicorn.Server(uvicorn.Config(served, port=port, log_config=None))
    with pytest.MonkeyPatch.context() as patch, Client(f"http://127.0.0.1:{port}", tenant) as client:
        patch.setitem(ENVIRONMENTS, "shop", Shop())
        with serving(server):
            yield client


@pytest.fixture(scope="module")
def others(gateway: Gateway, tenant: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Register a model with another tokenizer."""
    where = tmp_path_factory.mktemp("others")
    with gateway.client(tenant) as client:
        client.register_model("strange", toy.write(where / "strange", seed=1, **{**SMALL, "symbols": STRANGE}))


def asking(base: str, model: str, **changes: Any) -> dict[str, Any]:
    return seed.spec(base, task={"environment": "shop"}, roles={"asked": {"user": {"model": model}}}, **changes)


def rows(postgres: TestDatabase, query: Any, *values: Any) -> list[dict[str, Any]]:
    with psycopg.connect(postgres.owner_url, row_factory=dict_row) as connection:
        cursor = connection.execute(query, values)
        return cursor.fetchall() if cursor.description else []


@pytest.mark.usefixtures("others")
def test_another_model_with_another_tokenizer_becomes_a_model_that_nothing_trains(
    shops: Client, base: str, postgres: TestDatabase
) -> None:
    run = shops.create_run(asking(base, "strange"))
    assert run.spec["roles"] == {"teacher": None, "asked": {"user": {"model": "strange"}}}
    [user] = rows(postgres, "SELECT m.kind, m.config, a.name AS artifact FROM models m "
                            "JOIN artifacts a ON a.id = m.base_artifact_id WHERE m.id = %s", run.roles["user"])
    assert (list(run.roles), user["kind"], user["artifact"]) == (["user"], "full", "strange")
    assert (user["config"]["frozen"], user["config"]["base"]) == (True, "strange")


def test_a_teacher_and_whom_the_environment_asks_are_models_of_their_own(shops: Client, base: str) -> None:
    both = {"teacher": {"model": base}, "asked": {"user": {"model": base}}}
    roles = shops.create_run({**asking(base, base, algorithm="opd"), "roles": both}).roles
    assert roles.keys() == {"teacher", "user"}
    assert len({*roles.values()}) == 2


@pytest.mark.parametrize("model", ["absent", "ver_absent", "run_absent"])
def test_what_is_not_there_is_refused_by_name(shops: Client, base: str, model: str) -> None:
    [problem] = refusal(shops, asking(base, model))
    assert problem.startswith(f'roles.asked.user.model: found "{model}", expected a ')


def test_an_endpoint_speaks_by_its_name(shops: Client, base: str) -> None:
    asks = {"task": {"environment": "shop"}, "roles": {"asked": {"user": {"endpoint": "customers", "max_tokens": 64}}}}
    assert refusal(shops, seed.spec(base, **asks)) == [
        'roles.asked.user.endpoint: found "customers", expected the name of a judge (`hone judges list`) or of a model '
        "of yours"]
    shops.put_judge("customers", url="http://127.0.0.1:9/v1", model="customer-1")
    run = shops.create_run(seed.spec(base, **asks))
    assert (run.spec["roles"]["asked"], run.roles) == (asks["roles"]["asked"], {})  # type: ignore[index]


@pytest.mark.parametrize(("named", "expected"), [
    ({}, "expected either model or endpoint"), ({"model": "a", "endpoint": "b"}, "expected either model or endpoint"),
    ({"model": "a", "temperature": 1.0}, "only with an endpoint")])
def test_a_role_has_one_voice(shops: Client, base: str, named: dict[str, Any], expected: str) -> None:
    [problem] = refusal(shops, seed.spec(base, task={"environment": "shop"}, roles={"asked": {"user": named}}))
    assert problem.startswith("roles.asked.user: ")
    assert expected in problem


def test_a_role_that_nobody_asks_is_refused(shops: Client, base: str) -> None:
    assert refusal(shops, asking(base, base) | {"task": {"environment": "sort_digits"}}) == [
        f'roles.asked.user: found "{base}", expected none, because the run\'s environments ask nobody']


def test_a_model_that_cannot_be_served_or_reads_less_is_refused(
    shops: Client, base: str, postgres: TestDatabase, others: None  # noqa: ARG001 — its model is shortened
) -> None:
    own, mine = "WHERE name = 'strange' AND tenant_id = %s", shops.account().tenant_id
    change = f"UPDATE artifacts SET manifest = jsonb_set(manifest, '{{max_positions}}', %s) {own}"
    [before] = rows(postgres, f"SELECT manifest -> 'max_positions' AS most FROM artifacts {own}", mine)
    rows(postgres, change, "16", mine)
    problems = refusal(shops, asking(base, "strange"))
    rows(postgres, change, str(before["most"]), mine)
    [problem] = problems
    assert problem.startswith("roles.asked.user.model: found strange, which has 16 positions, expected at least ")


def test_environments_say_whom_they_ask(shops: Client) -> None:
    roles = {one.name: one.asked_roles for one in shops.environments()}
    assert (roles["shop"], roles["dialogue"], roles["sort_digits"]) == (["user"], ["user"], [])


def publish(postgres: TestDatabase, gateway: Gateway, model_id: str, symbols: list[str], **more: bytes) -> str:
    """Insert a version with the files of a tokenizer and `more`, and return its id."""
    files = {name: data for name, data in toy.files(**{**SMALL, "symbols": symbols}).items() if name.endswith(".json")}
    named = manifests.put_files(gateway.objects, f"tokenizers/{model_id}", {**files, **more})
    version_id = ids.new("ver")
    rows(postgres, "INSERT INTO versions (id, tenant_id, model_id, seq, number, manifest) SELECT %s, tenant_id, id, 9, "
                   "9, %s FROM models WHERE id = %s", version_id, Jsonb({"files": named}), model_id)
    return version_id


def test_an_adapter_is_refused(
    shops: Client, base: str, postgres: TestDatabase, gateway: Gateway
) -> None:
    model_id = shops.create_run(asking(base, base)).model_id
    version_id = publish(postgres, gateway, model_id, toy.SYMBOLS, **{"adapter_model.safetensors": b"adapter"})
    assert refusal(shops, asking(base, version_id)) == [
        f"roles.asked.user.model: found {version_id}, an adapter (LoRA), expected a model of whole weights"]


def spoken(shops: Client, base: str, postgres: TestDatabase, gateway: Gateway) -> tuple[Run, Seeded]:
    """Return a run whose samples each have a call of the policy, of a user with another model, and of an expert."""
    run, last = shops.create_run(asking(base, "strange")), len(toy.SYMBOLS) - 1
    seeded = seed.history(postgres.owner_url, gateway.objects, run)
    publish(postgres, gateway, run.model_id, toy.SYMBOLS)
    said = [replace(seeded.trajectories[0].calls[0], index=index, role=role, completion_ids=[last, 2])
            for index, role in enumerate(("policy", "user", "expert"))]
    samples = [replace(sample, calls=said) for sample in seeded.trajectories]
    gateway.objects.put(f"runs/{run.id}/parts/only.parquet", parts.encode(samples))
    return run, seeded


@pytest.mark.usefixtures("others")
def test_the_tokens_of_another_model_have_text_by_its_own_tokenizer_or_none(
    shops: Client, base: str, postgres: TestDatabase, gateway: Gateway
) -> None:
    run, seeded = spoken(shops, base, postgres, gateway)
    with pytest.raises(client_errors.NotFound, match="The run's user model has no stored version"):
        shops.trajectory_tokens(run.id, seeded.groups[0], 1)
    publish(postgres, gateway, run.roles["user"], STRANGE)
    calls = shops.trajectory_tokens(run.id, seeded.groups[0], 1).calls
    assert [call.completion[0] for call in calls] == [toy.SYMBOLS[-1], STRANGE[-1], toy.SYMBOLS[-1]]


def test_a_judge_of_deviations_is_known_before_a_run(shops: Client, base: str) -> None:
    noisy = {"task": {"environment": "sqlite", "params": {"turns": 4}}, "eval": {
        "noise": {"types": ["misleading"], "judge": "referee"}}}
    [problem] = refusal(shops, seed.spec(base, **noisy))
    assert problem.startswith('eval.noise.judge: found "referee", expected the name of a judge')
