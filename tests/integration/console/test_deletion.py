"""Runs, models, datasets, versions and exports are deleted: each is asked about by its name."""

from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from hone.client import Client
from hone.client.errors import NotFound
from hone.models import toy
from tests.integration.console import rows
from tests.integration.console.conftest import kept_picture
from tests.integration.console.rows import World
from tests.integration.gateway.conftest import Gateway
from tests.servers.chromium import Browser
from tests.support.console.screens import check, check_both


def test_an_open_run_is_deleted(signed_in: Browser, hone: Client) -> None:
    run = hone.create_run(rows.spec("toy-text", "to be deleted", 390))
    signed_in.look(390)
    signed_in.open(f"/runs/{run.id}", "Delete")
    signed_in.button("Delete").click()
    signed_in.wait_for(f"Delete the run {run.name}?")
    signed_in.wait_for("It is open, and is cancelled first.")
    kept_picture(signed_in, "delete-run-390")
    signed_in.button("Keep it").click()
    signed_in.wait(lambda: "Delete it" not in signed_in.text())
    assert hone.run(run.id).state == "queued"
    signed_in.button("Delete").click()
    signed_in.press_twice("Delete it")
    signed_in.wait(lambda: signed_in.path() == "/runs")
    signed_in.wait_for("sort six digits")
    assert run.name not in signed_in.text()
    assert hone.deletion(run.id).kind == "run"
    check_both(signed_in, "/runs")


def test_what_is_in_use_stays_and_the_gateway_says_why(signed_in: Browser, world: World) -> None:
    signed_in.open("/models/toy-text", "Delete")
    signed_in.button("Delete").click()
    signed_in.wait_for("Delete the model toy-text?")
    signed_in.button("Delete it").click()
    signed_in.wait_for("The model toy-text is in use by")
    assert world.fresh.id in signed_in.reads(".notice")
    assert signed_in.path() == "/models/toy-text"
    assert signed_in.complaints() == []


def test_a_dataset_is_sent_from_the_browser_and_deleted(signed_in: Browser, hone: Client, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('{"prompt": "1", "answer": "1"}\n{"prompt": 7}\n')
    signed_in.open("/datasets", "New dataset")
    signed_in.button("Upload").click()
    signed_in.wait_for("Give a name first.")
    signed_in.find("input[aria-label='Name']").send_keys("old-rows")
    _send(signed_in, file)
    signed_in.wait_for("row 2: prompt: found 7, expected a text that is not empty")
    signed_in.find(".q-checkbox").click()
    _send(signed_in, file)
    signed_in.wait(lambda: signed_in.path() == "/datasets/old-rows")
    assert hone.dataset("old-rows").report.bad == 1
    for header, status in (({"Content-Length": "99999999"}, 413), ({"Transfer-Encoding": "chunked"}, 411)):
        connection = HTTPConnection(urlsplit(signed_in.url).netloc, timeout=60)
        connection.request("POST", "/sign-out", headers=header)
        assert connection.getresponse().status == status, "refused before its body is read"
        connection.close()
    signed_in.button("Delete").click()
    signed_in.wait_for("Delete the dataset old-rows?")
    signed_in.button("Delete it").click()
    signed_in.wait(lambda: signed_in.path() == "/datasets")
    with pytest.raises(NotFound):
        hone.dataset("old-rows")


def test_a_model_is_sent_from_the_browser(signed_in: Browser, hone: Client, tmp_path: Path) -> None:
    toy.write(tmp_path / "small", hidden=16, layers=1, heads=2, head_dim=8, ffn=32)
    signed_in.open("/models", "New model")
    signed_in.find("input[aria-label='Name']").send_keys("by-hand")
    _send(signed_in, *(tmp_path / "small").iterdir())
    signed_in.wait(lambda: signed_in.path() == "/models/by-hand")
    assert hone.model("by-hand").architecture == "Qwen3ForCausalLM"
    assert signed_in.complaints() == []


def _send(browser: Browser, *files: Path) -> None:
    """Choose files as a person does in the system's dialog, and send them."""
    browser.find("input[type=file]").send_keys("\n".join(map(str, files)))
    for file in files:
        browser.wait_for(f"{file.name} (")
    browser.button("Upload").click()


def test_an_open_upload_is_the_next_to_go_and_is_ended(
    signed_in: Browser, hone: Client, gateway: Gateway, tenant: str,
) -> None:
    with gateway.http(tenant) as http:
        file = {"name": "rows.jsonl", "bytes": 10, "sha256": "0" * 64}
        upload = http.post("/v1/uploads", json={"kind": "dataset", "name": "left-open", "files": [file]}).json()["id"]
    signed_in.open("/admin/storage", "Goes next without a request")
    signed_in.wait_for("1 day after its last part")
    signed_in.find(f"button[aria-label='Delete uploads {upload}']").click()
    signed_in.wait_for("Delete left-open (uploads)?")
    kept_picture(signed_in, "retention")
    signed_in.button("Delete it").click()
    signed_in.wait(lambda: not signed_in.all(f"button[aria-label='Delete uploads {upload}']"))
    assert upload not in {one.id for one in hone.uploads(state="open").data}
    check(signed_in, "/admin/storage")


@pytest.mark.usefixtures("world")
def test_a_version_loses_its_weights_and_an_export_goes(signed_in: Browser, hone: Client) -> None:
    run = hone.runs(state="succeeded").data[0]
    export = hone.create_export(run.id)
    signed_in.open(f"/runs/{run.id}/versions", export.id)
    signed_in.find(f"button[aria-label='Delete {export.id}']").click()
    signed_in.wait_for(f"Delete the export {export.id}?")
    signed_in.button("Delete it").click()
    signed_in.wait_for("No exports")
    stored = [one for one in hone.checkpoints(run.id).data if one.stored and one.number][-1]
    signed_in.find(f"button[aria-label='Delete version {stored.number}']").click()
    signed_in.wait_for(f"Delete the weights of version {stored.number}?")
    signed_in.button("Delete it").click()
    signed_in.wait(lambda: not signed_in.all(f"button[aria-label='Delete version {stored.number}']"))
    kept_picture(signed_in, "versions-deleted")
    check(signed_in, "/versions")
