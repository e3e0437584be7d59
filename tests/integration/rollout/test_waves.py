"""A claimed wave becomes a part, index rows and ready groups, once."""

import psycopg

from hone.api import reward_pb2
from hone.models import toy
from hone.spec.settings import Settings
from hone.store import objects
from hone.trajectory import parts
from hone.trajectory.records import VersionSpan
from tests.integration.rollout.conftest import Open
from tests.integration.rollout.peers import Peers
from tests.integration.rollout.rows import Run, every, one


async def test_a_claimed_wave_is_ready_with_a_part_that_decodes(
        run: Run, open_worker: Open, settings: Settings) -> None:
    ids = run.request(6, n=4)
    await (await open_worker(sweep_s=30)).work()  # one wave, however slow
    groups = run.groups()
    assert [group["state"] for group in groups] == ["ready"] * 6
    assert len({part for group in groups for part in group["parts"]}) == 1
    stored = parts.decode(objects.connect(settings.objects_url).get(groups[0]["parts"][0]))
    assert [(one.group_id, one.index) for one in stored] == [(id_, index) for id_ in ids for index in range(4)]
    assert [one.score for one in stored[:4]] == [1.0, 0.0, 0.0, 0.0]
    first = stored[0]
    answer = groups[0]["order"]["task"]["params"]["answer"]
    assert (first.status, first.item, first.task_hash) == ("ok", {"answer": answer}, "00000000")
    call = first.calls[0]
    assert call.text == answer
    assert call.completion_ids[-1] == toy.EOS
    assert call.versions == [VersionSpan(run.version_id, 7)]
    assert call.train_mask == [True] * 7
    assert call.logp_sample == [-0.125 * (1 + place + 5) for place in range(7)]
    assert (call.finish_reason, call.engine) == ("stop", 'fake {"torch": "none"}')
    assert first.grade_id == 1000 * ids[0]


async def test_rows_of_the_index_point_into_the_part(run: Run, open_worker: Open, settings: Settings) -> None:
    run.request(2, n=3)
    await (await open_worker(sweep_s=30)).work()  # one wave, however slow
    rows = every(run.url, "SELECT * FROM trajectories WHERE run_id = %(id)s ORDER BY group_id, index", id=run.run_id)
    stored = parts.decode(objects.connect(settings.objects_url).get(rows[0]["part"]))
    assert [(stored[row["row"]].group_id, stored[row["row"]].index) for row in rows] == [
        (row["group_id"], row["index"]) for row in rows]
    assert {(row["prompt_tokens"], row["completion_tokens"], row["finish_reason"]) for row in rows} == {(8, 7, "stop")}
    assert rows[0]["preview"] == stored[0].calls[0].text
    asked = every(run.url, "SELECT * FROM prompts WHERE run_id = %(id)s ORDER BY task_hash", id=run.run_id)
    assert [(row["task_hash"], row["tenant_id"], row["features_by"]) for row in asked] == [
        ("00000000", run.tenant_id, None), ("00000001", run.tenant_id, None)]
    assert [row["text"] for row in asked] == [
        group["order"]["task"]["params"]["prompt"] for group in run.groups()]
    assert one(run.url, "SELECT count(*) AS n FROM journal")["n"] == 0
    usage = every(run.url, "SELECT kind, amount FROM usage WHERE run_id = %(id)s ORDER BY kind", id=run.run_id)
    assert [(row["kind"], row["amount"]) for row in usage] == [("completion_tokens", 42), ("prompt_tokens", 48)]


async def test_a_task_brings_its_text_once_from_a_worker(run: Run, open_worker: Open) -> None:
    def texts() -> list[str]:
        found = every(run.url, "SELECT text FROM prompts WHERE run_id = %(id)s ORDER BY task_hash", id=run.run_id)
        return [row["text"] for row in found]

    run.request(2, n=1, task_hash="same")
    worker = await open_worker(sweep_s=30)
    await worker.work()
    [first] = texts()
    one(run.url, "DELETE FROM prompts WHERE run_id = %(id)s RETURNING 1", id=run.run_id)
    run.request(1, n=1, first=2, task_hash="same")
    run.request(1, n=1, first=3)
    await worker.work()
    [fourth] = texts()
    assert fourth == run.groups()[3]["order"]["task"]["params"]["prompt"] != first


async def test_requests_hold_the_whole_sampling_of_the_order(run: Run, peers: Peers, open_worker: Open) -> None:
    run.request(1, n=4, first=17, sampling={"max_tokens": 9, "temperature": 0, "top_k": 3, "stop": ["\n"]})
    run.request(1, n=2, first=3, purpose="eval", version_id=None)
    await (await open_worker()).work()
    first, second = sorted(peers.inference.requests, key=lambda request: -request.n)
    assert (first.model_id, first.version_id, first.n) == (run.model_id, run.version_id, 4)
    assert (first.noise.seed, first.noise.request, first.noise.call) == (5, "train/17", 0)
    sampling = first.sampling
    assert (sampling.max_tokens, sampling.temperature, sampling.top_p, sampling.top_k) == (9, 0, 1, 3)
    assert (list(sampling.stop), list(sampling.stop_ids)) == (["\n"], [toy.EOS])
    assert (second.version_id, second.noise.request, second.sampling.temperature) == ("", "eval/3", 1)


async def test_a_group_of_any_version_says_which_were_possible_and_which_it_got(
        run: Run, peers: Peers, open_worker: Open) -> None:
    worker = await open_worker()
    peers.inference.version_id = run.version_id
    run.request(1, n=2, version_id=None)
    await worker.work()
    run.publish(1)
    run.request(1, n=2, first=1, version_id=None)
    await worker.work()
    assert [(group["begun"], group["oldest"]) for group in run.groups()] == [(0, 0), (1, 0)]  # it samples from 0
    assert [request.min_version for request in peers.inference.requests] == [0, 1]


async def test_a_wave_takes_one_call_to_each_service(run: Run, peers: Peers, open_worker: Open) -> None:
    worker = await open_worker()
    run.request(1)
    await worker.work()  # finds the engine
    before = peers.inference.batches, peers.simulation.resets
    run.request(8, first=1)
    await worker.work()
    assert (peers.inference.batches - before[0], peers.simulation.resets - before[1]) == (1, 1)
    assert sum(len(request.items) for request in peers.reward.requests) == 9 * 4


async def test_ready_groups_are_announced(run: Run, open_worker: Open) -> None:
    run.request(1)
    with psycopg.connect(run.url, autocommit=True) as listener:
        listener.execute("LISTEN groups")
        await (await open_worker()).work()
        heard = [note.payload for note in listener.notifies(timeout=60, stop_after=1)]
    assert heard == [run.run_id]


async def test_work_goes_on_until_nothing_is_claimable(run: Run, open_worker: Open) -> None:
    run.request(20, n=1)
    await (await open_worker()).work()
    assert run.states() == ["ready"] * 20


async def test_a_graders_own_trouble_masks_the_sample(run: Run, peers: Peers, open_worker: Open) -> None:
    peers.reward.status = reward_pb2.GRADE_STATUS_INFRA_ERROR
    run.request(1, n=2)
    await (await open_worker()).work()
    rows = every(run.url, "SELECT status, score FROM trajectories WHERE run_id = %(id)s", id=run.run_id)
    assert [(row["status"], row["score"]) for row in rows] == [("infra_error", None)] * 2
    assert run.states() == ["ready"]
