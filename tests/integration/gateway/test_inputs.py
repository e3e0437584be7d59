"""Models and datasets: registration, upload, lists, names that belong to one content."""

import hashlib
import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
import safetensors.numpy
from psycopg import Connection
from psycopg.types.json import Jsonb

from hone.client import Client, every
from hone.client import errors as client_errors
from hone.environments import row_json
from hone.environments.packages.archive import packed, unpacked
from hone.graders.templates import rendered
from hone.models import toy
from tests.integration.gateway import seed
from tests.integration.gateway.conftest import Gateway
from tests.servers.postgres import TestDatabase
from tests.unit.environments.packages.shop import shop

ROWS = b'{"prompt": "s10=", "answer": "01"}\n{"messages": [{"role": "user", "content": "x"}], "answer": 2}\n'


def test_a_registered_model_is_described_and_stored(hone: Client, gateway: Gateway, toy_directory: Path) -> None:
    model = hone.register_model("described", toy_directory)
    assert (model.architecture, model.dtype, model.vocab_size) == ("Qwen3ForCausalLM", "float32", 32)
    tensors = safetensors.numpy.load_file(toy_directory / "model.safetensors")
    assert model.parameters == sum(tensor.size for tensor in tensors.values())
    for name, entry in model.files.items():
        data = (toy_directory / name).read_bytes()
        assert (entry.bytes, entry.sha256) == (len(data), hashlib.sha256(data).hexdigest())
        assert gateway.objects.get(f"artifacts/{model.id}/{name}") == data
    assert hone.model("described") == hone.model(model.id) == model
    assert model in list(every(hone.models, limit=1))


def test_uploaded_and_registered_models_are_the_same(hone: Client, gateway: Gateway, toy_directory: Path) -> None:
    uploaded = hone.upload_model("uploaded", toy_directory)
    before = list(gateway.objects.list(""))
    assert hone.register_model("uploaded", toy_directory) == uploaded
    assert list(gateway.objects.list("")) == before


def test_a_name_is_given_once(hone: Client, gateway: Gateway, toy_directory: Path, tmp_path: Path) -> None:
    hone.register_model("taken", toy_directory)
    before = list(gateway.objects.list(""))
    with pytest.raises(client_errors.Conflict) as conflict:
        hone.register_model("taken", toy.write(tmp_path / "other", seed=1, hidden=16, layers=1, heads=2, head_dim=8))
    assert conflict.value.problems[0].field == "name"
    assert list(gateway.objects.list("")) == before


def test_other_files_are_left_out_and_named(hone: Client, toy_directory: Path, tmp_path: Path) -> None:
    shutil.copytree(toy_directory, tmp_path / "model")
    (tmp_path / "model" / "README.md").write_text("words")
    (tmp_path / "model" / "pytorch_model.bin").write_bytes(b"pickle")
    model = hone.register_model("with-others", tmp_path / "model")
    assert model.ignored == ["README.md", "pytorch_model.bin"]
    assert "README.md" not in model.files


def test_sharded_weights(hone: Client, toy_directory: Path, tmp_path: Path) -> None:
    shutil.copytree(toy_directory, tmp_path / "model")
    tensors = safetensors.numpy.load_file(tmp_path / "model" / "model.safetensors")
    (tmp_path / "model" / "model.safetensors").unlink()
    names = sorted(tensors)
    shards = {"a.safetensors": names[:3], "b.safetensors": names[3:]}
    for file, held in shards.items():
        safetensors.numpy.save_file({name: tensors[name] for name in held}, tmp_path / "model" / file)
    places = {name: file for file, held in shards.items() for name in held}
    (tmp_path / "model" / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))
    assert {"a.safetensors", "b.safetensors"} < hone.register_model("shards", tmp_path / "model").files.keys()
    (tmp_path / "model" / "b.safetensors").unlink()
    with pytest.raises(client_errors.Refused, match=r"b\.safetensors: found no such file"):
        hone.register_model("half", tmp_path / "model")


def test_a_dataset_counts_its_columns(hone: Client, gateway: Gateway) -> None:
    dataset = hone.upload_dataset("counted", ROWS)
    assert (dataset.rows, dataset.columns) == (2, {"answer": 2, "messages": 1, "prompt": 1})
    assert [json.loads(row) for row in gateway.objects.get(f"artifacts/{dataset.id}/rows.jsonl").splitlines()] == [
        json.loads(row) for row in ROWS.splitlines()]
    assert hone.upload_dataset("counted", ROWS.replace(b", ", b",")) == dataset
    assert hone.dataset("counted") == dataset
    assert dataset.id in {one.id for one in hone.datasets().data}


def test_numbers_of_rows_are_stored_as_they_were_written(hone: Client, postgres: TestDatabase) -> None:
    numbers = ["1.0", "0.10", "1e400", "0.1234567890123456789", "123456789012345678901234567890"]
    rows = b"".join(b'{"prompt": "a", "answer": %s}\n' % number.encode() for number in numbers)
    report = hone.upload_dataset("numbers", rows).report
    assert (report.bad, report.numbers_as_text, [one.row for one in report.first_as_text]) == (0, 3, [2, 3, 4])
    with Connection.connect(postgres.owner_url) as connection:  # as a group's order holds them
        items = connection.execute("SELECT %s::jsonb", [Jsonb([row_json.read(row) for row in rows.splitlines()])])
        assert [rendered("{{ item.answer }}", item, "") for item in items.fetchall()[0][0]] == numbers


def test_an_upload_key_with_another_file_is_refused(gateway: Gateway, tenant: str) -> None:
    def upload(http: httpx.Client, data: bytes) -> httpx.Response:
        return http.post("/v1/datasets", data={"name": "keyed"}, files={"file": ("f", data)},
                         headers={"Idempotency-Key": "upload"})

    with gateway.http(tenant) as http:
        first, again, other = upload(http, ROWS), upload(http, ROWS), upload(http, ROWS[:35])
    assert (first.status_code, again.status_code, other.status_code) == (201, 201, 422)
    assert first.text == again.text
    assert other.json()["errors"][0]["field"] == "Idempotency-Key"


def test_models_and_datasets_do_not_share_names(hone: Client, toy_directory: Path) -> None:
    hone.upload_dataset("same-name", ROWS)
    hone.register_model("same-name", toy_directory)
    assert hone.dataset("same-name").id != hone.model("same-name").id


def test_supervised_rows_that_the_model_cannot_hold_are_named_first(hone: Client, toy_directory: Path) -> None:
    hone.register_model("small", toy_directory)
    rows = [{"prompt": "1", "completion": "2"}, {"prompt": "1", "completion": "2" * 9000}]
    for name, some in (("some", rows), ("all", rows[1:])):
        hone.upload_dataset(name, "\n".join(map(json.dumps, some)).encode())
    spec = {"name": "sft", "model": {"base": "small"}, "algorithm": "sft", "steps": 1, "batch": {"prompts": 1}}
    run = hone.create_run({**spec, "task": {"dataset": "some"}})
    [warning] = run.warnings
    assert warning.startswith("dataset 'some': 1 of 2 rows are left out of supervised training, longer than the ")
    assert [event.kind for event in hone.events(run.id).data] == ["created", "long_rows"]
    with pytest.raises(client_errors.Refused, match="1 of 1 rows are left out of supervised training, longer than"):
        hone.dry_run({**spec, "task": {"dataset": "all"}})


def test_a_dataset_with_a_row_beyond_todays_bound_is_refused_for_runs(
    hone: Client, base: str, postgres: TestDatabase,
) -> None:
    dataset = hone.upload_dataset("large-rows", b'{"prompt": "a", "answer": "b"}\n{"prompt": "c", "answer": "b"}\n')
    spec = seed.spec(base, task={"dataset": dataset.name})
    with Connection.connect(postgres.owner_url) as connection:
        found = connection.execute("SELECT manifest -> 'largest_row_bytes' FROM artifacts WHERE id = %s", [dataset.id])
        assert found.fetchone() == (len('{"prompt":"a","answer":"b"}'),)
        connection.execute("UPDATE artifacts SET manifest = manifest || %s WHERE id = %s",
                           [Jsonb({"largest_row_bytes": 52428800}), dataset.id])
    with pytest.raises(client_errors.Refused) as refused:
        hone.create_run(spec)
    (problem,) = refused.value.problems
    assert (problem.field, "52428800 bytes" in problem.found, "HONE_MAX_ROW_KB" in problem.expected) == (
        "task.dataset", True, True)


@pytest.mark.usefixtures("sandbox")
def test_packages_are_versions_of_a_name_and_come_back_as_they_were(
    hone: Client, other: Client, tmp_path: Path,
) -> None:
    first, second = shop(), shop(source=shop().source + "\n")
    for file, data in first.files.items():
        (tmp_path / file).write_bytes(data)
    added = hone.add_package("shop", tmp_path)
    assert (added.version, added.digest, added.tasks) == (1, first.digest, 1)
    assert added.tools == ["find_order", "cancel_order"]
    again = hone.add_package("shop", tmp_path)
    assert again == added.model_copy(update={"created_at": again.created_at})
    (tmp_path / "shop.zip").write_bytes(packed(second.files))
    assert hone.add_package("shop", tmp_path / "shop.zip").version == 2
    assert [one.digest for one in hone.packages().data] == [second.digest]
    assert hone.package("shop", version=1).digest == first.digest
    assert unpacked(hone.package_archive("shop", version=1)) == first
    (tmp_path / "back.zip").write_bytes(hone.package_archive("shop", version=1))
    assert hone.add_package("back", tmp_path / "back.zip").digest == first.digest
    assert hone.delete_package("back").version == 1
    with pytest.raises(client_errors.NotFound):
        other.package("shop")
    task = {"environment": "package", "params": {"package": "shop"}}
    with pytest.raises(client_errors.Refused) as refused:
        other.create_run({"name": "p", "model": {"base": "toy"}, "steps": 1, "task": task})
    assert 'task.params.package: found "shop", expected the name or the digest of a package' in str(refused.value)
    assert hone.delete_package("shop").version == 2
    assert hone.packages().data == []


def test_what_is_no_package_is_refused_by_its_field(hone: Client, tmp_path: Path) -> None:
    bad = tmp_path / "bad.zip"
    whole = shop().files
    changes = {"file.tasks.jsonl.0": ("tasks.jsonl", b"{"), "file.tasks.jsonl": ("tasks.jsonl", b""),
               "file.tools.py": ("tools.py", b"#" * 2**18),
               "file.package.json.summary": ("package.json", whole["package.json"].replace(b"A shop.", b"\\u0000")),
               "file.tasks.jsonl.0.chain[0].arguments.email": ("tasks.jsonl", whole["tasks.jsonl"].replace(
                   b"ada@mail.org", b"\\ud800"))}
    for field, data in {"file.archive": b"no archive", **{
            field: packed({**whole, name: text}) for field, (name, text) in changes.items()}}.items():
        bad.write_bytes(data)
        with pytest.raises(client_errors.Refused) as refused:
            hone.add_package("bad", bad)
        assert [problem.field for problem in refused.value.problems] == [field]


@pytest.mark.usefixtures("sandbox")
def test_a_package_is_refused_with_the_tasks_that_their_chains_do_not_solve(hone: Client, tmp_path: Path) -> None:
    bad, task = tmp_path / "bad.zip", shop().tasks[0]
    bad.write_bytes(packed(shop(tasks=[task, task.model_copy(update={"id": "half", "chain": task.chain[:1]})]).files))
    with pytest.raises(client_errors.Refused) as refused:
        hone.add_package("bad", bad)
    assert str(refused.value.problems[0]) == (
        'file.tasks.jsonl.1.truth.orders.W1.status: found "cancelled", expected "paid", which the chain of task half '
        "leaves, and 1 more that differ")
    bad.write_bytes(packed(shop(source=shop().source.replace('order["total"]}', 'order["price"]}')).files))
    with pytest.raises(client_errors.Refused, match="of task cancel-1: cancel_order failed: KeyError: 'price'"):
        hone.add_package("bad", bad)


@pytest.mark.usefixtures("sandbox")
def test_contents_that_come_at_one_time_under_one_name_are_versions_of_their_own(hone: Client, tmp_path: Path) -> None:
    for number in range(8):
        (tmp_path / f"{number}.zip").write_bytes(packed(shop(source=shop().source + "\n" * number).files))
    with ThreadPoolExecutor(8) as pool:
        added = list(pool.map(lambda number: hone.add_package("at-once", tmp_path / f"{number}.zip"), range(8)))
    assert sorted(one.version for one in added) == list(range(1, 9))


@pytest.mark.parametrize(("field", "value"), [
    ("seed", 2**31), ("seed", -1), ("tasks", 0), ("tasks", -1), ("tasks", 1025), ("tasks", 1.5), ("within_s", 0),
    ("hint", ""), ("hint", "\0"), ("name", "../x"), ("name", "f" * 65)])
def test_a_package_that_cannot_be_made_is_refused_by_its_field(hone: Client, field: str, value: Any) -> None:
    with pytest.raises(client_errors.Refused) as refused:
        hone.make_package(**{"name": "none", "hint": "a hotel", field: value})
    assert [problem.field for problem in refused.value.problems] == [field]
