"""A domain in tau2-bench's format is run before it is kept: its tasks are proven, and a run keeps its digest."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from hone.client import Client
from hone.client import errors as client_errors
from hone.environments.tau2 import archive
from hone.stack import ports
from tests.integration.gateway.conftest import Gateway, serve
from tests.servers.children import Children
from tests.servers.postgres import TestDatabase
from tests.servers.service import running
from tests.unit.environments.tau2.kiosk import FOLDER, files

pytestmark = pytest.mark.alone


@pytest.fixture(scope="module")
def gateway(postgres: TestDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway with a sandbox."""
    home, address = tmp_path_factory.mktemp("gateway"), f"127.0.0.1:{ports.pick(1)[0]}"
    with running("sandbox", HONE_SANDBOX_ADDRESS=address, HONE_SANDBOX_PLACES="2"), Children(home) as children:
        yield serve(children, postgres, f"file://{home / 'objects'}", {"HONE_SANDBOX_ADDRESS": address})


def test_a_directory_is_added_and_each_task_whose_gold_actions_fail_is_named(
    hone: Client, other: Client, tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for path in FOLDER.iterdir():
        if path.suffix in (".json", ".md", ".toml"):
            shutil.copy(path, data)
    added = hone.add_package("desk", data, code=FOLDER)
    assert added == hone.add_package("desk", FOLDER).model_copy(update={"created_at": added.created_at})
    assert (added.format, added.domain, added.summary, added.tasks) == ("tau2", "kiosk", "Coffee machines", 7)
    assert (added.splits, added.tables) == ({"train": 3, "test": 2}, ["machines", "price"])
    assert added.unproven == {"broken": "evaluation_criteria.actions.1 (renew): ValueError: the machine was opened"}
    assert list(added.remarks) == ["broken"]
    assert archive.unpacked(hone.package_archive("desk")).files == files()
    for environment, field in (("tau2", "domain"), ("package", "package")):
        task = {"environment": environment, "params": {field: "desk"}}
        with pytest.raises(client_errors.Refused) as refused:
            (other if field == "domain" else hone).create_run(
                {"name": "p", "model": {"base": "toy"}, "steps": 1, "task": task})
        assert f'task.params.{field}: found "desk", expected the name or the digest of' in str(refused.value)
    task = {"environment": "tau2", "params": {"domain": "desk", "judge": {"type": "strange"}}}
    with pytest.raises(client_errors.Refused) as refused:
        hone.create_run({"name": "p", "model": {"base": "toy"}, "steps": 1, "task": task})
    assert [problem.field for problem in refused.value.problems] == ["task.params.judge.type", "model.base"]
    assert hone.delete_package("desk").format == "tau2"


@pytest.mark.parametrize(("name", "old", "new", "field"), [
    ("tasks.json", '"id": "refused"', '"id": 3', "file.tasks.json.2.id"),
    ("db.json", '"price": 49.5', '"price": "dear"', "file.db.json.price"),
    ("tools.py", "import time", "import nothing_there", "file.src/tau2/domains/kiosk")])
def test_what_is_no_domain_is_refused_by_its_field(
    hone: Client, tmp_path: Path, name: str, old: str, new: str, field: str,
) -> None:
    bad = tmp_path / "kiosk"
    shutil.copytree(FOLDER, bad)
    (bad / name).write_text((bad / name).read_text().replace(old, new, 1))
    with pytest.raises(client_errors.Refused) as refused:
        hone.add_package("bad", bad)
    assert [problem.field for problem in refused.value.problems] == [field]


def test_without_a_sandbox_a_domain_may_be_added_later(
    postgres: TestDatabase, tenant: str, tmp_path: Path,
) -> None:
    with Children(tmp_path) as children:
        alone = serve(children, postgres, f"file://{tmp_path / 'objects'}", {})
        answer = alone.http(tenant).put("/v1/packages/desk", files={"file": archive.packed(files())})
    assert (answer.status_code, "cannot be run now" in answer.text) == (503, True)
