"""Runs through the SDK: creation, lists, desired states, events."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from psycopg import Connection

from hone.client import Client, every
from hone.client import errors as client_errors
from hone.store.database import Database
from hone.store.notifications import Listener
from tests.integration.gateway import seed
from tests.integration.gateway.conftest import Gateway
from tests.integration.gateway.seed import Seeded
from tests.servers.postgres import TestDatabase


def test_a_created_run_has_its_rows_and_wakes_drivers(hone: Client, base: str, postgres: TestDatabase) -> None:
    listener = Listener(postgres.worker_url, "runs")
    listener.wait(0)
    run = hone.create_run(seed.spec(base, seed=7))
    assert (run.state, run.desired, run.step, run.steps) == ("queued", "run", 0, 3)
    assert listener.wait(60) == {"runs"}
    with Connection.connect(postgres.owner_url) as connection:
        row = connection.execute(
            "SELECT r.spec, r.spec_sha, m.config, a.name, m.base_version_id, r.key_id, r.deadline - r.created_at"
            " FROM runs r JOIN models m ON m.id = r.policy_model_id JOIN artifacts a ON a.id = m.base_artifact_id"
            " WHERE r.id = %s", [run.id]).fetchone()
    assert row is not None
    spec, sha, config, artifact, version, key, allowed = row
    assert spec == run.spec
    assert spec["algorithm"]["advantage"]["name"] == "grpo"
    assert (artifact, version, len(sha)) == (base, None, 64)
    assert key.startswith("key_")
    assert allowed.total_seconds() == spec["deadline_s"]
    kept = ("seed", "optimizer", "critic", "snapshot_every", "keep_versions", "checkpoint_every")
    assert config == {**{name: spec[name] for name in kept}, "base": spec["model"]["base"], "lora": None}
    assert [event.kind for event in hone.events(run.id).data] == ["created"]


def test_dry_run_resolves_and_creates_nothing(hone: Client, base: str) -> None:
    before = [run.id for run in every(hone.runs)]
    resolved = hone.resolve(seed.spec(base))
    assert resolved["algorithm"]["loss"] == {"name": "ppo_clip", "params": {"low": 0.2, "high": 0.2}}
    assert resolved == hone.resolve(resolved)
    assert [run.id for run in every(hone.runs)] == before


class TestIdempotency:
    def test_same_key_and_body_give_the_same_answer_and_one_run(
        self, gateway: Gateway, tenant: str, base: str, hone: Client,
    ) -> None:
        with gateway.http(tenant) as http:
            def create(_: int) -> httpx.Response:
                return http.post("/v1/runs", json=seed.spec(base), headers={"Idempotency-Key": "once"})

            before = len(list(every(hone.runs)))
            with ThreadPoolExecutor(8) as pool:
                answers = list(pool.map(create, range(8)))
        assert {answer.status_code for answer in answers} == {201}
        assert len({answer.text for answer in answers}) == 1
        assert len(list(every(hone.runs))) == before + 1

    def test_same_key_with_another_body_is_refused(self, gateway: Gateway, tenant: str, base: str) -> None:
        with gateway.http(tenant) as http:
            headers = {"Idempotency-Key": "mine"}
            assert http.post("/v1/runs", json=seed.spec(base), headers=headers).status_code == 201
            answer = http.post("/v1/runs", json=seed.spec(base, seed=1), headers=headers)
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["field"] == "Idempotency-Key"

    def test_a_stored_answer_is_given_without_a_look_at_the_datasets(
        self, gateway: Gateway, tenant: str, base: str, hone: Client, postgres: TestDatabase,
    ) -> None:
        rows = b'{"prompt": "how many?", "database": "CREATE TABLE t (a);", "answer": "0"}'
        dataset = hone.upload_dataset("soon-gone", rows)
        spec = seed.spec(base, task={"environment": "sqlite", "dataset": dataset.name}, eval=None)
        with gateway.http(tenant) as http:
            def create(**changes: Any) -> httpx.Response:
                return http.post("/v1/runs", json={**spec, **changes}, headers={"Idempotency-Key": "rows"})

            made = create()
            with Connection.connect(postgres.owner_url) as connection:  # whoever looks for its rows stumbles
                connection.execute("UPDATE artifacts SET manifest = manifest - 'files' WHERE id = %s", [dataset.id])
            again, other = create(), create(seed=1)
        assert (made.status_code, again.status_code, again.text) == (201, 201, made.text)
        assert [problem["field"] for problem in other.json()["errors"]] == ["Idempotency-Key"]

    def test_a_refusal_is_not_stored(self, gateway: Gateway, tenant: str, base: str) -> None:
        with gateway.http(tenant) as http:
            headers = {"Idempotency-Key": "twice"}
            assert http.post("/v1/runs", json=seed.spec("nothing"), headers=headers).status_code == 422
            assert http.post("/v1/runs", json=seed.spec(base), headers=headers).status_code == 201

    def test_tenants_do_not_share_keys(self, gateway: Gateway, tenant: str, other_tenant: str, base: str) -> None:
        headers = {"Idempotency-Key": "shared"}
        with gateway.http(tenant) as mine, gateway.http(other_tenant) as theirs:
            assert mine.post("/v1/runs", json=seed.spec(base), headers=headers).status_code == 201
            answer = theirs.post("/v1/runs", json=seed.spec(base), headers=headers)
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["field"] == "model.base"


def test_lists_page_by_key_newest_first(hone: Client, base: str) -> None:
    made = [hone.create_run(seed.spec(base, name=f"run {number}")).id for number in range(5)]
    assert [run.id for run in every(hone.runs, limit=2)][:5] == made[::-1]
    first = hone.runs(limit=2)
    hone.create_run(seed.spec(base, name="newer"))
    assert [run.id for run in hone.runs(limit=2, after=first.next).data] == made[2:0:-1]
    assert {run.state for run in every(hone.runs, state="queued")} == {"queued"}
    assert hone.runs(state="failed").data == []


def test_a_search_looks_at_every_run_and_at_its_tenants_alone(hone: Client, other: Client, base: str) -> None:
    first = hone.create_run(seed.spec(base, name="Harvest 100%_a"))
    for number in range(3):
        hone.create_run(seed.spec(base, name=f"later {number}"))
    for search in ("harvest", "100%_", first.id, first.id.upper().removeprefix("RUN_")):
        assert [run.id for run in hone.runs(limit=1, search=search).data] == [first.id], search
    assert first.id in [run.id for run in every(hone.runs, search=base.upper())]
    assert hone.runs(search="100_").data == []
    assert hone.runs(search="harvest", state="failed").data == []
    assert other.runs(search="harvest").data == []


def test_runs_are_found_by_what_they_start_from(hone: Client, base: str) -> None:
    run = hone.create_run(seed.spec(base))
    assert run.id in [one.id for one in every(hone.runs, base=["nothing", base])]
    assert hone.runs(base=["nothing"]).data == []


def test_runs_are_counted_by_state(hone: Client, other: Client, base: str, postgres: TestDatabase) -> None:
    before = hone.run_counts()
    run = hone.create_run(seed.spec(base))
    seed.set_state(postgres.owner_url, run.id, "failed")
    hone.create_run(seed.spec(base))
    after = hone.run_counts()
    assert (after.failed, after.queued) == (before.failed + 1, before.queued + 1)
    assert sum(after.model_dump().values()) == len(list(every(hone.runs)))
    assert set(other.run_counts().model_dump().values()) == {0}


class TestDesired:
    def test_pause_resume_cancel(self, hone: Client, base: str) -> None:
        run = hone.create_run(seed.spec(base))
        assert hone.pause(run.id).desired == "pause"
        assert hone.pause(run.id).desired == "pause"
        assert hone.resume(run.id).desired == "run"
        assert hone.cancel(run.id).desired == "cancel"
        with pytest.raises(client_errors.Conflict, match="cannot be changed to run"):
            hone.resume(run.id)
        messages = [event.message for event in hone.events(run.id).data]
        assert messages[1:] == [f"the desired state is now {wish}" for wish in ("pause", "run", "cancel")]

    def test_verbs_are_posts_too(self, gateway: Gateway, tenant: str, hone: Client, base: str) -> None:
        run = hone.create_run(seed.spec(base))
        with gateway.http(tenant) as http:
            for verb, desired in (("pause", "pause"), ("resume", "run"), ("cancel", "cancel")):
                assert http.post(f"/v1/runs/{run.id}/{verb}").json()["desired"] == desired

    @pytest.mark.parametrize("state", ["succeeded", "failed", "cancelled"])
    def test_an_ended_run_cannot_be_changed(
        self, hone: Client, base: str, postgres: TestDatabase, state: str,
    ) -> None:
        run = hone.create_run(seed.spec(base))
        seed.set_state(postgres.owner_url, run.id, state)
        with pytest.raises(client_errors.Conflict, match=state):
            hone.pause(run.id)


class TestProgress:
    def test_a_run_tells_its_step_version_and_latest_metrics(self, hone: Client, seeded: Seeded) -> None:
        run = hone.run(seeded.run.id)
        assert (run.step, run.steps, run.version_id) == (2, 3, seeded.versions[2])
        assert run.metrics == {"reward": 0.5, "gap_nats": 0.002}

    def test_metrics_are_series(self, hone: Client, seeded: Seeded) -> None:
        assert hone.metrics(seeded.run.id, ["reward"]).series == {"reward": [(1, 0.25), (2, 0.5)]}
        assert hone.metrics(seeded.run.id, after_step=1).series == {"gap_nats": [(2, 0.002)], "reward": [(2, 0.5)]}

    def test_long_series_come_in_parts(self, seeded: Seeded, database: Database) -> None:
        def part(after_step: int, most: int) -> list[tuple[Any, ...]]:
            rows = database.all("metrics.series", run_id=seeded.run.id, names=None, after_step=after_step, most=most)
            return [(row["name"], row["points"], row["next"]) for row in rows]

        assert part(-1, 3) == [("gap_nats", [[1, 0.001]], 1), ("reward", [[1, 0.25]], 1)]
        assert part(1, 3) == [("gap_nats", [[2, 0.002]], None), ("reward", [[2, 0.5]], None)]
        assert part(-1, 4) == [("gap_nats", [[1, 0.001], [2, 0.002]], None), ("reward", [[1, 0.25], [2, 0.5]], None)]
        assert part(2, 4) == []

    def test_checkpoints_page_by_number(self, hone: Client, seeded: Seeded) -> None:
        listed = list(every(hone.checkpoints, run_id=seeded.run.id, limit=2))
        assert [(one.number, one.id, one.stored) for one in listed] == [
            (number, seeded.versions[number], True) for number in (2, 1, 0)]
        assert listed[0].weights_sha256 == f"{2:064x}"

    def test_versions_of_one_number_are_all_listed(
        self, hone: Client, seeded: Seeded, postgres: TestDatabase
    ) -> None:
        for place in range(2):
            seed.add_abandoned(postgres.owner_url, seeded.versions[1], f"{seeded.versions[1]}x{place}")
        listed = [one.id for one in every(hone.checkpoints, run_id=seeded.run.id, limit=1)]
        assert len(listed) == len(set(listed)) == 5

    def test_usage_is_summed_by_run_and_key(self, hone: Client, seeded: Seeded) -> None:
        by_run = {one.id: one for one in hone.usage("run").data}
        assert by_run[seeded.run.id].amounts == {"completion_tokens": 300.0}
        assert by_run[seeded.run.id].name == "sort"
        assert [(one.name, one.amounts) for one in hone.usage("key").data] == [
            ("first key", {"completion_tokens": 300.0})]
        assert hone.usage("run", since=seeded.run.created_at.replace(year=2200)).data == []


class TestEvents:
    def test_pages(self, hone: Client, seeded: Seeded) -> None:
        first = hone.events(seeded.run.id, limit=2)
        rest = hone.events(seeded.run.id, after=int(first.next or 0))
        assert [event.kind for event in [*first.data, *rest.data]] == ["created", "step", "step"]

    def test_followed_until_the_end(self, hone: Client, gateway: Gateway, tenant: str, base: str,
                                    postgres: TestDatabase) -> None:
        run, seen = hone.create_run(seed.spec(base)), list[str]()
        first = threading.Event()

        def follow() -> None:
            with gateway.client(tenant) as client:
                for event in client.follow(run.id):
                    seen.append(event.message)
                    first.set()

        thread = threading.Thread(target=follow)
        thread.start()
        assert first.wait(60)
        hone.pause(run.id)
        seed.set_state(postgres.owner_url, run.id, "succeeded")
        thread.join(60)
        assert seen == ["run sort was created", "the desired state is now pause"]

    def test_last_event_id_continues(self, gateway: Gateway, tenant: str, hone: Client, seeded: Seeded,
                                     postgres: TestDatabase) -> None:
        seed.set_state(postgres.owner_url, seeded.run.id, "succeeded")
        known = hone.events(seeded.run.id).data
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(known[1].id)}
        with gateway.http(tenant) as http:
            answer = http.get(f"/v1/runs/{seeded.run.id}/events", headers=headers)
        seed.set_state(postgres.owner_url, seeded.run.id, "queued")
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert [line for line in answer.text.splitlines() if line.startswith(("id:", "event:"))] == [
            f"id: {known[2].id}", "event: step", "event: end"]

    def test_an_unknown_run_is_refused_before_the_stream_begins(self, gateway: Gateway, tenant: str) -> None:
        with gateway.http(tenant) as http:
            answer = http.get("/v1/runs/run_nothing/events", headers={"Accept": "text/event-stream"})
        assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")


class TestBase:
    def test_a_version_and_a_finished_run_can_be_bases(
        self, hone: Client, seeded: Seeded, postgres: TestDatabase,
    ) -> None:
        assert _base_version(postgres, hone.create_run(seed.spec(seeded.versions[1])).id) == seeded.versions[1]
        seed.set_state(postgres.owner_url, seeded.run.id, "succeeded")
        made = hone.create_run(seed.spec(seeded.run.id)).id
        seed.set_state(postgres.owner_url, seeded.run.id, "queued")
        assert _base_version(postgres, made) == seeded.versions[2]

    def test_an_unfinished_run_is_none(self, hone: Client, seeded: Seeded) -> None:
        with pytest.raises(client_errors.Refused) as refused:
            hone.create_run(seed.spec(seeded.run.id))
        assert str(refused.value.problems[0]) == (
            f"model.base: found {seeded.run.id}, which is queued, expected a run that succeeded")


def _base_version(postgres: TestDatabase, run_id: str) -> Any:
    with Connection.connect(postgres.owner_url) as connection:
        row = connection.execute("SELECT m.base_version_id FROM runs r JOIN models m ON m.id = r.policy_model_id"
                                 " WHERE r.id = %s", [run_id]).fetchone()
    return row and row[0]


def test_a_value_that_is_not_a_finite_number_is_nan(hone: Client, base: str, postgres: TestDatabase) -> None:
    run = hone.create_run(seed.spec(base))
    with Connection.connect(postgres.owner_url) as connection:
        for step, value in enumerate(("0.5", "NaN", "Infinity"), 1):
            connection.execute("INSERT INTO metrics (run_id, tenant_id, name, step, value)"
                               " SELECT id, tenant_id, 'loss', %s, %s::float8 FROM runs WHERE id = %s",
                               [step, value, run.id])
    assert str(hone.metrics(run.id).series) == "{'loss': [(1, 0.5), (2, nan), (3, nan)]}"
    assert str(hone.run(run.id).metrics) == "{'loss': nan}"


def test_a_warning_of_cut_off_answers_ends_with_an_evaluation_whose_answers_are_whole(
    hone: Client, base: str, database: Database, postgres: TestDatabase,
) -> None:
    run = hone.create_run(seed.spec(base))
    with Connection.connect(postgres.owner_url) as connection:
        [(tenant,)] = connection.execute("SELECT tenant_id FROM runs WHERE id = %s", [run.id]).fetchall()
    cut = {"tenant_id": tenant, "run_id": run.id, "data": '{"of": "evaluation"}', "of": "evaluation"}
    end = {**cut, "warning": "truncated_samples", "kind": "whole_answers", "step": 2, "message": "whole"}
    database.run("events.add_end", **end)
    database.run("events.add_once", **cut, kind="truncated_samples", step=0, message="cut off")
    assert hone.run(run.id).warnings == ["cut off"], "nothing ends before it began"
    database.run("events.add_end", **end)
    database.run("events.add_end", **end)
    assert hone.run(run.id).warnings == []
    assert [event.kind for event in hone.events(run.id).data] == ["created", "truncated_samples", "whole_answers"]
