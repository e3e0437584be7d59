"""Results of a run: trajectories and exports."""

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hone.cli.main import app
from hone.client import Client, every
from hone.client import errors as client_errors
from hone.store.notifications import Listener
from tests.integration.gateway import seed
from tests.integration.gateway.conftest import Gateway
from tests.integration.gateway.seed import SAMPLES, Seeded
from tests.servers.postgres import TestDatabase

pytestmark = pytest.mark.alone


class TestTrajectories:
    def test_pages_hold_every_sample_once_in_order(self, hone: Client, seeded: Seeded) -> None:
        listed = [(row.group_id, row.index) for row in every(hone.trajectories, run_id=seeded.run.id, limit=3)]
        assert listed == [(group, index) for group in seeded.groups for index in range(SAMPLES)]

    @pytest.mark.parametrize(("filters", "indices"), [
        ({"purpose": "eval"}, [0, 1, 2, 3]), ({"step": 1}, [0, 1, 2, 3]), ({"step": 3}, []),
        ({"purpose": "eval", "status": "infra_error"}, [0]), ({"purpose": "eval", "min_score": 0.5}, [2, 3]),
        ({"purpose": "eval", "max_score": 0.5}, [1, 2]), ({"purpose": "train", "text": "ANSWER 3_%"}, [3]),
        ({"text": "_%x"}, []),
    ])
    def test_filters(self, hone: Client, seeded: Seeded, filters: dict[str, Any], indices: list[int]) -> None:
        assert [row.index for row in hone.trajectories(seeded.run.id, **filters).data] == indices

    def test_one_whole(self, hone: Client, seeded: Seeded) -> None:
        wanted = seeded.trajectories[SAMPLES + 2]
        whole = hone.trajectory(seeded.run.id, wanted.group_id, wanted.index)
        assert (whole.purpose, whole.score, whole.item) == ("eval", 0.5, wanted.item)
        assert whole.last_index == SAMPLES - 1
        assert whole.calls[0]["completion_ids"] == [5, 2]
        assert whole.calls[0]["text"] == "answer 2_%"
        assert [(grade.status, grade.value) for grade in whole.grades] == [("ok", 0.5)]

    def test_a_place_that_is_none_is_refused(self, hone: Client, seeded: Seeded) -> None:
        with pytest.raises(client_errors.Refused, match=r"query\.after"):
            hone.trajectories(seeded.run.id, after="x")
        with pytest.raises(client_errors.NotFound):
            hone.trajectory(seeded.run.id, seeded.groups[0], SAMPLES)


class TestExports:
    def test_asked_for_done_and_downloaded(
        self, hone: Client, seeded: Seeded, postgres: TestDatabase, gateway: Gateway,
    ) -> None:
        listener = Listener(postgres.worker_url, "operations")
        listener.wait(0)
        export = hone.create_export(seeded.run.id)
        assert (export.state, export.version_id, export.run_id) == ("queued", seeded.versions[2], seeded.run.id)
        assert listener.wait(60) == {"operations"}
        with pytest.raises(client_errors.Conflict, match="is queued"):
            hone.export_archive(export.id)
        files = {"config.json": b"{}", "model.safetensors": bytes(range(256)) * 3}
        seed.finish_export(postgres.owner_url, gateway.objects, export.id, files)
        done = hone.export(export.id)
        assert (done.state, done.max_abs_diff, done.files["config.json"].bytes) == ("done", 1e-6, 2)
        assert done.compared_with == "probe"
        assert (export.sampling_note, done.sampling_defaults) == ("", {"temperature": 0.6, "do_sample": True})
        assert done.sampling_note == (
            "By generation_config.json, stock engines (vLLM, transformers) will sample with temperature 0.6. "
            "The run trained with temperature 1.")
        assert hone.exports(seeded.run.id).data[0].sampling_note == done.sampling_note
        assert hone.export_file(export.id, "model.safetensors") == files["model.safetensors"]
        assert _unpacked(hone.export_archive(export.id)) == {
            f"{export.id}/{name}": data for name, data in files.items()}
        with pytest.raises(client_errors.NotFound, match=r"it has config\.json, model\.safetensors"):
            hone.export_file(export.id, "pickle.bin")

    def test_a_version_is_exported_once_unless_it_failed(
        self, hone: Client, seeded: Seeded, postgres: TestDatabase,
    ) -> None:
        first = hone.create_export(seeded.run.id, seeded.versions[0])
        assert hone.create_export(seeded.run.id, seeded.versions[0]).id == first.id
        seed.fail_export(postgres.owner_url, first.id, "logits differ")
        assert hone.export(first.id).reason == "logits differ"
        second = hone.create_export(seeded.run.id, seeded.versions[0])
        assert second.id != first.id
        assert {first.id, second.id} <= {one.id for one in every(hone.exports, run_id=seeded.run.id, limit=1)}
        assert seed.operation_log(postgres.owner_url, seeded.run.model_id) == list(
            range(1, len(seed.operation_log(postgres.owner_url, seeded.run.model_id)) + 1))

    def test_only_versions_of_the_run_itself(self, hone: Client, seeded: Seeded, base: str) -> None:
        with pytest.raises(client_errors.Refused) as refused:
            hone.create_export(seeded.run.id, "ver_other")
        assert refused.value.problems[0].field == "version_id"
        with pytest.raises(client_errors.Conflict, match="no stored version yet"):
            hone.create_export(hone.create_run(seed.spec(base)).id)


def _unpacked(archive: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as tar:
        return {member.name: (tar.extractfile(member) or io.BytesIO()).read() for member in tar.getmembers()}


@pytest.mark.parametrize("path", [
    "runs", "models", "datasets", "uploads", "deletions", "keys", "tenants", "usage", "audit", "runs/run_x/exports",
    "runs/run_x/checkpoints", "runs/run_x/trajectories", "runs/run_x/events"])
@pytest.mark.parametrize("cursor", ["zzz", "run-1", "req_01k9", "-1"])
def test_a_page_begins_after_an_id_of_its_list(gateway: Gateway, tenant: str, path: str, cursor: str) -> None:
    with gateway.http(tenant) as http:
        answer = http.get(f"/v1/{path}?after={cursor}")
    (error,) = answer.json()["errors"]
    assert (answer.status_code, error["field"], error["found"].strip('"')) == (422, "query.after", cursor)


def test_a_runs_rollouts_are_curated_over_rest_and_by_the_command(
    hone: Client, other: Client, seeded: Seeded, gateway: Gateway, tenant: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scored = [one for one in seeded.trajectories[:SAMPLES] if one.score is not None]
    best = max(one.score for one in scored if one.score is not None)
    [task] = hone.curation(seeded.run.id, success=best).tasks
    assert (task.task_hash, task.rollouts, task.pass_rate) == ("hash", len(scored), 1 / len(scored))
    assert [one.index for one in task.trajectories if one.selected] == [scored[-1].index]
    assert hone.curation(seeded.run.id, first_step=9).tasks == []
    with pytest.raises(client_errors.NotFound):
        other.curation(seeded.run.id)
    with pytest.raises(client_errors.Refused, match="groups"):
        hone.curation(seeded.run.id, groups=257)
    monkeypatch.setenv("HONE_URL", gateway.url)
    monkeypatch.setenv("HONE_API_KEY", tenant)
    out, rows = tmp_path / "manifest.jsonl", tmp_path / "rows.jsonl"
    shown = CliRunner().invoke(app, ["curate", seeded.run.id, "--success", str(best), "--out", str(out),
                                     "--rows", str(rows)]).stdout
    assert "1 tasks of steps 1 to 1; 1 trajectories selected" in shown
    assert json.loads(out.read_text())["task_hash"] == "hash"
    assert rows.read_text() == ""


def sampled_by(base: str, run: str, **changes: Any) -> dict[str, Any]:
    sampler = {"name": "topocurate", "params": {"run": run}}
    return seed.spec(base, algorithm={"preset": "grpo", "sampler": sampler}, **changes)


def test_a_saved_manifest_goes_with_the_run_that_draws_by_it(
    hone: Client, other: Client, base: str, seeded: Seeded, gateway: Gateway, tenant: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(spec: dict[str, Any], client: Client = hone) -> str:
        with pytest.raises(client_errors.Refused) as error:
            client.create_run(spec)
        return str(error.value)

    at, run = "algorithm.sampler.params.run", seeded.run.id
    assert f"{at}: found {run}, which has no manifest" in refused(sampled_by(base, run))
    assert f'{at}: found "run_nothing"' in refused(sampled_by(base, "run_nothing"))
    assert hone.save_curation(run, success=1.0).usable == 0
    assert "without a curated task that had both a success and a failure" in refused(sampled_by(base, run))
    monkeypatch.setenv("HONE_URL", gateway.url)
    monkeypatch.setenv("HONE_API_KEY", tenant)
    shown = CliRunner().invoke(app, ["curate", run, "--success", "0.75", "--save"]).stdout
    assert "saved as version 2: 1 of 1 tasks are drawn by it" in shown
    assert f'{at}: found "{run}"' in refused({**sampled_by(base, run), "model": {"base": "other"}}, other)
    assert f"{at}: found {run}, with the tasks sort_digits with" in refused(
        sampled_by(base, run, task={"environment": "sort_digits", "params": {"digits": 5}}))
    staged = [{"until": 1, "algorithm": sampled_by(base, "run_x")["algorithm"]}]
    assert f'stages[0].{at}: found "run_x"' in refused(seed.spec(base, stages=staged))
    made = hone.create_run(sampled_by(base, run))
    [kept] = hone.collections(made.id)
    assert (kept.name, kept.version, kept.items) == (f"manifest.{run}", 0, 1)
    assert [one.body["pass_rate"] for one in every(hone.collection_items, run_id=made.id, name=kept.name)] == [1 / 3]
    with pytest.raises(client_errors.NotFound):
        other.save_curation(run)
