"""Reads of the console: runs with other seeds, the newest events, tokens as text, graders, engines."""

import json

import numpy as np
import pytest
from psycopg import Connection

from hone.client import Client, every
from hone.client import errors as client_errors
from hone.client.resources import Run
from hone.models import toy
from hone.store import manifests
from hone.store.objects import Objects
from hone.trajectory import parts
from hone.trajectory.plan import GroupPlan, StepPlan
from tests.integration.gateway import seed
from tests.integration.gateway.conftest import Gateway
from tests.integration.gateway.seed import SAMPLES, Seeded
from tests.servers.postgres import TestDatabase
from tests.support.gateway import memories as lives


def test_runs_like_another_differ_in_seed_and_name_alone(hone: Client, other: Client, base: str) -> None:
    first = hone.create_run(seed.spec(base, name="a", steps=7))
    second = hone.create_run(seed.spec(base, name="b", steps=7, seed=3))
    hone.create_run(seed.spec(base, name="a", steps=8))
    found = hone.runs(like=first.id).data
    assert [(one.id, one.seed) for one in found] == [(second.id, 3), (first.id, 0)]
    assert {(one.base, one.algorithm, one.reward) for one in found} == {(base, "grpo", None)}
    assert other.runs(like=first.id).data == []


def test_the_newest_events(hone: Client, seeded: Seeded) -> None:
    messages = [event.message for event in hone.events(seeded.run.id).data]
    newest = hone.events(seeded.run.id, limit=2, newest=True)
    assert [event.message for event in newest.data] == messages[-2:]
    assert newest.next is None


def test_what_is_remembered_is_of_the_newest_evaluation_of_that_source_and_series(
    hone: Client, other: Client, base: str, seeded: Seeded, gateway: Gateway, postgres: TestDatabase,
) -> None:
    made = hone.create_run({"name": "who", "model": {"base": base}, "steps": 2, "task": lives.LIFE})
    run = made.id
    with Connection.connect(postgres.owner_url) as connection:
        for place, (step, series, state) in enumerate([
                (0, "sampled", "used"), (1, "sampled", "used"), (2, "sampled", "requested"), (1, "greedy", "used")]):
            _live(connection, gateway.objects, made, place, step, series, state)
    [newest] = hone.memory(run).sources
    [first] = hone.memory(run, step=0).sources
    assert newest.whole is not None
    assert (newest.memory, newest.masked, newest.cut, len(newest.periods)) == ("awi", 1, 0, 2)
    assert (newest.whole.accuracy.value, newest.whole.failures["write"]) == (0.75, 1)
    assert (first.cut, len(first.periods)) == (1, 1)
    assert (hone.memory(run).step, hone.memory(run, series="greedy").step) == (1, 1)
    assert (hone.memory(run, step=7).step, hone.memory(seeded.run.id).sources) == (None, [])
    with pytest.raises(client_errors.Refused, match="series"):
        hone.memory(run, series="loud")
    with pytest.raises(client_errors.NotFound):
        other.memory(run)
    talks = hone.talks(run, step=0)
    assert (talks.step, talks.rows, talks.left_out) == (0, [], {"cut": 1, "not_stored": 1})
    assert (hone.talks(run, step=7).step, hone.talks(seeded.run.id).left_out) == (None, {})
    with pytest.raises(client_errors.NotFound):
        other.talks(run)


def _live(
    connection: Connection, store: Objects, run: Run, place: int, step: int, series: str, state: str,
) -> None:
    """Write an evaluation of one held-out life with a masked sample, and one of as many periods as the step is and one.
    """
    row = connection.execute(
        "INSERT INTO groups (tenant_id, run_id, purpose, request_no, step, series, state, task_hash, \"order\","
        " model_id, deadline) SELECT tenant_id, id, 'eval', %s, %s, %s, %s, 'life', '{}', %s, now() FROM"
        " runs WHERE id = %s RETURNING id", [place, step, series, state, run.model_id, run.id]).fetchone()
    assert row is not None
    part = f"runs/{run.id}/{row[0]}"
    store.put(part, parts.encode([lives.sample(row[0], *lives.LIVED[:1 + step])]))
    connection.execute(
        "INSERT INTO trajectories (group_id, index, tenant_id, run_id, part, row, prompt_tokens, completion_tokens,"
        " finish_reason, status, score, preview) SELECT %s, place, tenant_id, id, %s, 0, 1, 1, 'stop', 'ok', score, ''"
        " FROM runs, (VALUES (0, 0.5), (1, NULL)) AS made (place, score) WHERE id = %s", [row[0], part, run.id])


def test_what_a_run_gathered_is_listed_and_paged_in_the_order_in_which_it_came(
    hone: Client, other: Client, seeded: Seeded, postgres: TestDatabase,
) -> None:
    run = seeded.run.id
    assert hone.collections(run) == []
    with Connection.connect(postgres.owner_url) as connection:
        for version in (2, 10):
            connection.execute("INSERT INTO collections (run_id, tenant_id, name, version)"
                               " SELECT id, tenant_id, 'pairs', %s FROM runs WHERE id = %s", [version, run])
            for place in range(2):
                connection.execute("INSERT INTO collection_items (run_id, tenant_id, name, version, place, body) SELECT"
                                   " id, tenant_id, 'pairs', %s, %s, %s FROM runs WHERE id = %s",
                                   [version, place, json.dumps({"at": [version, place]}), run])
    [found] = hone.collections(run)
    assert (found.name, found.version, found.versions, found.items) == ("pairs", 10, 2, 4)
    paged = list(every(hone.collection_items, run_id=run, name="pairs", limit=3))
    assert [(one.id, one.body) for one in paged] == [
        (f"{version}.{place}", {"at": [version, place]}) for version in (2, 10) for place in range(2)]
    with pytest.raises(client_errors.NotFound, match="no collection 'skills'"):
        hone.collection_items(run, "skills")
    with pytest.raises(client_errors.NotFound):
        other.collections(run)
    with pytest.raises(client_errors.NotFound):
        other.collection_items(run, "pairs")


def test_stored_samples_are_graded_again_by_what_is_stored_of_them(
    gateway: Gateway, tenant: str, hone: Client, other: Client, seeded: Seeded,
) -> None:
    for grader, field in (({"type": "exakt"}, "grader.type"), ({"type": "exact", "strip": 1}, "grader.strip")):
        with pytest.raises(client_errors.Refused) as refused:
            hone.grade_again(seeded.run.id, grader)
        assert [problem.field for problem in refused.value.problems] == [field]
    with (gateway.client(tenant, attempts=1) as impatient,  # none answers here
          pytest.raises(client_errors.Away, match="The reward service")):
        impatient.grade_again(seeded.run.id, {"type": "exact"})
    with pytest.raises(client_errors.NotFound):
        other.grade_again(seeded.run.id, {"type": "exact"})


def test_tokens_as_text_with_the_advantage_of_their_step(
    hone: Client, seeded: Seeded, postgres: TestDatabase, gateway: Gateway,
) -> None:
    group = seeded.groups[0]
    with pytest.raises(client_errors.NotFound, match="tokenizer"):
        hone.trajectory_tokens(seeded.run.id, group, 1)
    _publish(postgres.owner_url, gateway, seeded)
    found = hone.trajectory_tokens(seeded.run.id, group, 1)
    assert (found.calls[0].prompt, found.calls[0].completion) == ([",", "0"], ["1", "<eos>"])
    assert (found.advantage, found.advantage_note) == (None, "no committed step trained on this sample")
    _plan(postgres.owner_url, seeded, "dr_grpo")
    found = hone.trajectory_tokens(seeded.run.id, group, 3)
    assert (found.advantage, found.calls[0].advantages, found.advantage_note) == (0.25, [0.25] * 2, "by dr_grpo")
    assert hone.trajectory_tokens(seeded.run.id, group, 0).advantage_note == "the sample was masked"
    _plan(postgres.owner_url, seeded, "reinforce_pp")
    advantages = [hone.trajectory_tokens(seeded.run.id, *place).calls[0].advantages
            for place in [(group, index) for index in (1, 2, 3)] + [(seeded.groups[1], index) for index in range(4)]]
    rewards = np.array([0.25, 0.5, 0.75, 1.0, 0.0, 0.0, 1.0])
    assert [one[-1] for one in advantages] == pytest.approx((rewards - rewards.mean()) / rewards.std())
    with pytest.raises(client_errors.NotFound, match="no trajectory"):
        hone.trajectory_tokens(seeded.run.id, group, SAMPLES)


def _publish(url: str, gateway: Gateway, seeded: Seeded) -> None:
    files = {name: data for name, data in toy.files(hidden=16, layers=1, heads=2, head_dim=8, ffn=32).items()
             if name.endswith(".json")}
    entries = manifests.put_files(gateway.objects, "tokenizer", files)
    with Connection.connect(url) as connection:
        connection.execute("UPDATE versions SET manifest = %s WHERE id = %s",
                           [json.dumps({"files": entries}), seeded.versions[-1]])


def _plan(url: str, seeded: Seeded, estimator: str) -> None:
    """Store a plan of the first step over both groups, with all samples in one part."""
    rewards = {seeded.groups[0]: [None, 0.25, 0.5, 0.75], seeded.groups[1]: [1.0, 0.0, 0.0, 1.0]}
    with Connection.connect(url) as connection:
        row = connection.execute("SELECT part FROM trajectories WHERE run_id = %s", [seeded.run.id]).fetchone()
        assert row is not None
        groups = [GroupPlan(group_id=group, request_no=number, task_hash="h", parts=[row[0]],
                            grade_ids=[None] * SAMPLES, rewards=rewards[group])
                  for number, group in enumerate(seeded.groups)]
        plan = StepPlan(
            n=1, builder="rollouts", parts=[row[0]], groups=groups, lr=1e-3, clip_norm=1.0, temperature=1.0,
            slots={"advantage": {"name": estimator, "params": {}}}, max_tokens=8)
        connection.execute("UPDATE steps SET plan = %s, group_ids = %s WHERE run_id = %s AND n = 1",
                           [plan.model_dump_json(), seeded.groups, seeded.run.id])


@pytest.mark.usefixtures("seeded")
def test_graders_and_what_they_decided(hone: Client, other: Client) -> None:
    kinds = {one.name: one for one in hone.graders()}
    assert "equals the reference" in kinds["exact"].summary
    assert "reference" in kinds["exact"].params_schema["properties"]
    counts = {(one.type, one.status): (one.grades, one.mean_value) for one in hone.grader_activity()}
    assert counts == {("environment", "infra_error"): (2, None), ("environment", "ok"): (6, 0.5)}
    assert other.grader_activity() == []


def test_engines_show_a_tenant_its_own_models(
    hone: Client, other: Client, seeded: Seeded, postgres: TestDatabase,
) -> None:
    with Connection.connect(postgres.owner_url) as connection:
        connection.execute("INSERT INTO engines (id, address, kind) VALUES ('engine', '127.0.0.1:1', 'native')")
        connection.execute("INSERT INTO engine_models (engine_id, model_id, version_id, generated_tokens)"
                           " VALUES ('engine', %s, %s, 12)", [seeded.run.model_id, seeded.versions[2]])
    engine = {one.id: one for one in hone.engines()}["engine"]
    assert [(one.run_id, one.number, one.generated_tokens) for one in engine.models] == [(seeded.run.id, 2, 12)]
    assert [one.models for one in other.engines() if one.id == "engine"] == [[]]


def test_outcomes_are_listed_group_by_group_with_their_prompts(
    hone: Client, other: Client, seeded: Seeded, postgres: TestDatabase,
) -> None:
    run = seeded.run.id
    before = list(every(hone.outcomes, run_id=run))
    with Connection.connect(postgres.owner_url) as connection:
        for number, scores in ((9001, [1.0, 0.0, None]), (9002, [None])):
            [(group,)] = connection.execute(
                "INSERT INTO groups (tenant_id, run_id, purpose, request_no, step, task_hash, \"order\", model_id,"
                " state, deadline) SELECT tenant_id, id, 'eval', %s, 3, 'ab', '{}', policy_model_id, 'used', now()"
                " FROM runs WHERE id = %s RETURNING id", [number, run]).fetchall()
            for index, score in enumerate(scores):
                connection.execute(
                    "INSERT INTO trajectories (group_id, index, tenant_id, run_id, part, row, prompt_tokens,"
                    " completion_tokens, finish_reason, status, score) SELECT %s, %s, tenant_id, id, '', 0, 1, 1,"
                    " 'stop', 'ok', %s FROM runs WHERE id = %s", [group, index, score, run])
        connection.execute("INSERT INTO prompts (run_id, task_hash, tenant_id, text)"
                           " SELECT id, 'ab', tenant_id, 'Sort.' FROM runs WHERE id = %s", [run])
    assert list(every(hone.outcomes, run_id=run, limit=1))[:-1] == before
    [found] = hone.outcomes(run, purpose="eval", step=3, prompt="ab").data
    assert (found.task_hash, found.samples, found.score, found.prompt) == ("ab", 2, 0.5, "Sort.")
    with pytest.raises(client_errors.NotFound):
        other.outcomes(run)
