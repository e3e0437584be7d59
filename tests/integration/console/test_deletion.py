"""Runs, models, datasets, versions and exports are deleted: each is asked about by its name."""

import pytest

from hone.client import Client
from hone.client.errors import NotFound
from tests.integration.console import rows
from tests.integration.console.conftest import kept_picture
from tests.integration.console.rows import World
from tests.integration.console.test_pages import check
from tests.servers.chromium import Browser


@pytest.mark.parametrize("width", [1280, 390])
def test_an_open_run_is_deleted(signed_in: Browser, hone: Client, width: int) -> None:
    run = hone.create_run(rows.spec("toy-text", f"to be deleted, {width}", width))
    signed_in.look(width)
    signed_in.open(f"/runs/{run.id}", "Delete")
    signed_in.button("Delete").click()
    signed_in.wait_for(f"Delete the run {run.name}?")
    signed_in.wait_for("It is open, and is cancelled first.")
    kept_picture(signed_in, f"delete-run-{width}")
    signed_in.button("Keep it").click()
    signed_in.wait(lambda: "Delete it" not in signed_in.text())
    assert hone.run(run.id).state == "queued"
    signed_in.button("Delete").click()
    signed_in.press_twice("Delete it")
    signed_in.wait(lambda: signed_in.path() == "/runs")
    signed_in.wait_for("sort six digits")
    assert run.name not in signed_in.text()
    assert hone.deletion(run.id).kind == "run"
    check(signed_in, "/runs")


def test_what_is_in_use_stays_and_the_gateway_says_why(signed_in: Browser, world: World) -> None:
    signed_in.open("/models/toy-text", "Delete")
    signed_in.button("Delete").click()
    signed_in.wait_for("Delete the model toy-text?")
    signed_in.button("Delete it").click()
    signed_in.wait_for("The model toy-text is in use by")
    assert world.fresh.id in signed_in.find(".notice").text
    assert signed_in.path() == "/models/toy-text"
    assert signed_in.complaints() == []


def test_a_dataset_is_deleted(signed_in: Browser, hone: Client) -> None:
    hone.upload_dataset("old-rows", b'{"prompt": "1", "answer": "1"}\n')
    signed_in.open("/datasets/old-rows", "Delete")
    signed_in.button("Delete").click()
    signed_in.wait_for("Delete the dataset old-rows?")
    signed_in.button("Delete it").click()
    signed_in.wait(lambda: signed_in.path() == "/datasets")
    with pytest.raises(NotFound):
        hone.dataset("old-rows")


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
