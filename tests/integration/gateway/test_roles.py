"""A run's teacher: resolved like a base, refused if it cannot read the policy's tokens, stored as its own model."""

from pathlib import Path
from typing import Any

import pytest
from psycopg import Connection
from psycopg.rows import dict_row

from hone.client import Client
from hone.models import toy
from tests.integration.gateway import seed
from tests.integration.gateway.seed import Seeded
from tests.servers.postgres import TestDatabase
from tests.support.gateway.roles import SMALL, STRANGE, refusal

ROWS = b'{"prompt": "s1=", "answer": "1", "hint": "one"}\n{"prompt": "s2=", "answer": "2"}\n'


def taught(base: str, teacher: str, top_k: int = 0, **changes: Any) -> dict[str, Any]:
    """Return a spec of plain distillation, or of AOPD with the teacher's likeliest tokens."""
    return seed.spec(base, algorithm="aopd" if top_k else "opd",
                     roles={"teacher": {"model": teacher, "top_k": top_k}}, **changes)


@pytest.fixture(scope="module")
def teachers(hone: Client, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Register models: one that fits, and others that do not."""
    where = tmp_path_factory.mktemp("teachers")
    models: dict[str, dict[str, Any]] = {
        "large": {"layers": 2}, "wide": {"vocab_size": 40}, "strange": {"symbols": STRANGE}}
    for name, sizes in models.items():
        hone.register_model(name, toy.write(where / name, seed=1, **{**SMALL, **sizes}))


@pytest.fixture(scope="module")
def readable(seeded: Seeded, postgres: TestDatabase) -> Seeded:
    """Give the versions of the seeded run the tokenizer of their base."""
    with Connection.connect(postgres.owner_url) as connection:
        connection.execute(
            "UPDATE versions v SET manifest = jsonb_set(v.manifest, '{files,tokenizer.json}', "
            "a.manifest #> '{files,tokenizer.json}') FROM models m JOIN artifacts a ON a.id = m.base_artifact_id "
            "WHERE m.id = v.model_id AND v.id = ANY (%s)", [seeded.versions])
    return seeded


def models(postgres: TestDatabase, run_id: str) -> list[dict[str, Any]]:
    """Return the models of a run by role, the policy's first."""
    with Connection.connect(postgres.owner_url, row_factory=dict_row) as connection:
        return connection.execute(
            "SELECT m.*, a.name AS artifact, m.tenant_id = r.tenant_id AS own FROM runs r JOIN models m ON "
            "m.id = r.policy_model_id OR m.id = r.roles ->> 'teacher' LEFT JOIN artifacts a ON "
            "a.id = m.base_artifact_id WHERE r.id = %s ORDER BY m.id = r.roles ->> 'teacher'", [run_id]).fetchall()


@pytest.mark.usefixtures("teachers")
class TestFound:
    def test_a_registered_model_becomes_a_model_that_nothing_trains(
        self, hone: Client, base: str, postgres: TestDatabase
    ) -> None:
        run = hone.create_run(taught(base, "large", top_k=4))
        policy, teacher = models(postgres, run.id)
        assert run.roles == {"teacher": teacher["id"]}
        assert hone.run(run.id).roles == run.roles
        assert (teacher["kind"], teacher["artifact"], teacher["base_version_id"], teacher["own"]) == (
            "full", "large", None, True)
        assert teacher["config"] == {**policy["config"], "base": "large", "critic": None, "lora": None, "frozen": True}
        assert "frozen" not in policy["config"]

    def test_a_run_without_one_has_no_roles(self, hone: Client, base: str) -> None:
        assert hone.create_run(seed.spec(base)).roles == {}

    def test_a_version_and_a_finished_run_can_teach(
        self, hone: Client, base: str, readable: Seeded, postgres: TestDatabase
    ) -> None:
        _, teacher = models(postgres, hone.create_run(taught(base, readable.versions[1], top_k=4)).id)
        assert (teacher["base_version_id"], teacher["base_artifact_id"]) == (readable.versions[1], None)
        seed.set_state(postgres.owner_url, readable.run.id, "succeeded")
        _, teacher = models(postgres, hone.create_run(taught(base, readable.run.id)).id)
        seed.set_state(postgres.owner_url, readable.run.id, "queued")
        assert teacher["base_version_id"] == readable.versions[2]

    def test_one_with_more_ids_can_say_how_likely_the_policys_are(self, hone: Client, base: str) -> None:
        assert hone.resolve(taught(base, "wide"))["roles"]["teacher"] == {"model": "wide", "top_k": 0}

    def test_its_engine_tells_which_run_it_is_of(
        self, hone: Client, other: Client, base: str, postgres: TestDatabase
    ) -> None:
        run = hone.create_run(taught(base, "large"))
        with Connection.connect(postgres.owner_url) as connection:
            connection.execute("INSERT INTO engines (id, address, kind) VALUES ('engine-t', '127.0.0.1:1', 'native')")
            connection.execute("INSERT INTO engine_models (engine_id, model_id) VALUES ('engine-t', %s)",
                               [run.roles["teacher"]])
        assert [(one.model_id, one.run_id) for engine in hone.engines() for one in engine.models] == [
            (run.roles["teacher"], run.id)]
        assert [engine.models for engine in other.engines() if engine.id == "engine-t"] == [[]]


@pytest.mark.usefixtures("teachers")
class TestRefused:
    @pytest.mark.parametrize(("teacher", "top_k", "words"), [
        ("absent", 0, 'found "absent", expected a registered model, a version or a run'),
        ("ver_absent", 0, 'found "ver_absent", expected a live version'),
        ("run_absent", 0, 'found "run_absent", expected a run'),
        ("strange", 0, "found strange with the tokenizer.json sha256 "),
        ("wide", 4, "found wide with a vocabulary of 40 tokens, expected exactly the policy's, because the "
         "teacher's likeliest tokens are stored: 32"),
    ])
    def test_what_is_not_there_or_reads_other_ids(
        self, hone: Client, base: str, teacher: str, top_k: int, words: str
    ) -> None:
        [problem] = refusal(hone, taught(base, teacher, top_k))
        assert problem.startswith(f"roles.teacher.model: {words}")

    def test_one_with_fewer_ids(self, hone: Client, base: str) -> None:
        assert refusal(hone, taught("wide", base)) == [
            f"roles.teacher.model: found {base} with a vocabulary of 32 tokens, expected at least "
            "the policy's: 40"]

    def test_more_likeliest_ids_than_there_are(self, hone: Client, base: str) -> None:
        assert refusal(hone, taught(base, "large", top_k=33)) == [
            "roles.teacher.top_k: found 33, expected at most the 32 tokens of the vocabulary"]
        hint = {"privileged": [{"text": "a"}], "top_k": 33}
        assert refusal(hone, seed.spec(base, algorithm="aopd", contexts=hint)) == [
            "contexts.top_k: found 33, expected at most the 32 tokens of the vocabulary"]

    def test_an_adapter_and_weights_that_were_removed(
        self, hone: Client, base: str, readable: Seeded, postgres: TestDatabase
    ) -> None:
        adapter, gone = readable.versions[1], readable.versions[2]
        with Connection.connect(postgres.owner_url) as connection:
            connection.execute(
                "UPDATE versions SET manifest = jsonb_set(manifest, '{files,adapter_model.safetensors}', '{}') "
                "WHERE id = %s", [adapter])
            connection.execute("UPDATE versions SET weights_deleted_at = now() WHERE id = %s", [gone])
        problems = [refusal(hone, taught(base, name)) for name in (adapter, gone)]
        with Connection.connect(postgres.owner_url) as connection:
            connection.execute("UPDATE versions SET weights_deleted_at = NULL, manifest = manifest #- "
                               "'{files,adapter_model.safetensors}' WHERE id = ANY (%s)", [readable.versions])
        assert problems == [
            [f"roles.teacher.model: found {adapter}, an adapter (LoRA), expected a model of whole "
             "weights"],
            [f"roles.teacher.model: found {gone}, a version with removed weights, expected a version with stored "
             "weights"]]

    def test_a_run_that_goes_on(self, hone: Client, base: str, readable: Seeded) -> None:
        assert refusal(hone, taught(base, readable.run.id)) == [
            f"roles.teacher.model: found {readable.run.id}, which is queued, expected a run that succeeded"]

    def test_another_tenants_are_as_unknown_as_any(
        self, other: Client, readable: Seeded, toy_directory: Path, base: str
    ) -> None:
        other.register_model(base, toy_directory)
        for name in ("large", readable.versions[1], readable.run.id):
            [problem] = refusal(other, taught(base, name))
            assert problem.startswith(f'roles.teacher.model: found "{name}", expected a ')


def test_rows_have_what_privileged_texts_read(hone: Client, base: str) -> None:
    hone.upload_dataset("hinted", ROWS)
    hint = {"privileged": [{"text": "{{ item.hint }} {{ item.prompt }}"}]}
    assert refusal(hone, seed.spec(base, algorithm="sdar", task={"dataset": "hinted"}, contexts=hint, eval=None)) == [
        "task.dataset: found hinted, where 1 of 2 rows have hint; without it: row 2, expected hint in every row"]
