"""The page New run: a spec is looked at before it starts, its findings appear below the editor."""

import json

from hone.client import Client
from tests.integration.console.conftest import write
from tests.integration.gateway import seed
from tests.servers.chromium import Browser

LOOK = "Look at it first"


def test_a_pasted_spec_is_looked_at_and_nothing_is_created(signed_in: Browser, hone: Client) -> None:
    signed_in.open("/runs/new", LOOK)
    signed_in.button(LOOK).click()
    signed_in.wait_for("expected the fields of a run spec")
    write(signed_in, json.dumps({**seed.spec("absent"), "name": "looked at here"}))
    signed_in.wait_for("1 problem")
    before = hone.run_counts().queued
    signed_in.button(LOOK).click()
    signed_in.wait_for("Findings")
    signed_in.wait_for("model.base")
    assert signed_in.path() == "/runs/new"
    assert "looked at here" in signed_in.find(".cm-content").text, "the draft stays in sight"
    assert hone.run_counts().queued == before
    assert not signed_in.complaints()
