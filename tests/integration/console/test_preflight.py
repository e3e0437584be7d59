"""The page Preflight: a spec is pasted, findings appear, and a button to start the run."""

import json

from hone.client import Client
from tests.integration.console.conftest import write
from tests.integration.console.rows import World
from tests.integration.gateway import seed
from tests.servers.chromium import Browser


def test_a_pasted_spec_is_looked_at_and_nothing_is_created(signed_in: Browser, world: World, hone: Client) -> None:
    signed_in.open("/preflight", "Preflight")
    signed_in.button("Look").click()
    signed_in.wait_for("expected the fields of a run spec")
    spec = json.dumps({**seed.spec("absent"), "name": "looked at here"})
    write(signed_in, spec)
    signed_in.wait_for("1 problem")
    signed_in.button("Look").click()
    signed_in.wait_for("Findings")
    signed_in.wait_for("model.base")

    before = hone.run_counts().queued
    signed_in.open(f"/preflight?run={world.running.id}", "Preflight")
    assert world.running.name in signed_in.find(".cm-content").text
    assert hone.run_counts().queued == before
    assert not signed_in.complaints()
