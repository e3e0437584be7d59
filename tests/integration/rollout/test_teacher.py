"""A run with a teacher and privileged texts: the stored part holds scores and contexts."""

import asyncio
import hashlib

import psycopg

from hone.models import toy
from hone.rpc.errors import InvalidField
from hone.spec.settings import Settings
from hone.store import objects
from hone.text.tokenizer import Tokenizer
from hone.trajectory import parts
from hone.trajectory.records import Call, Context, Scored
from tests.integration.rollout.conftest import Open
from tests.integration.rollout.peers import AWAY, Peers
from tests.integration.rollout.rows import Run, register_engine
from tests.support.rollout.trouble import until_reason

TOKENIZER = Tokenizer({name: data for name, data in toy.files().items() if name.endswith(".json")})


def stored(run: Run, settings: Settings) -> dict[str, list[Call]]:
    """Return the first calls of every sample by the purpose of its group."""
    store, found = objects.connect(settings.objects_url), dict[str, list[Call]]()
    purposes = {group["id"]: group["purpose"] for group in run.groups()}
    for part in {part for group in run.groups() for part in group["parts"]}:
        for one in parts.decode(store.get(part)):
            found.setdefault(purposes[one.group_id], []).append(one.calls[0])
    return found


async def test_training_groups_have_the_teachers_scores_and_the_privileged_prompt(
        run: Run, peers: Peers, open_worker: Open, settings: Settings) -> None:
    model_id, version_id = run.teach(
        2, {"text": "+{{ item.answer }}+", "match": "S0"}, {"text": "-", "match": None}, {"text": "*", "match": "s9"})
    run.request(1, n=3)
    run.request(1, n=2, purpose="eval")
    await (await open_worker()).work()
    assert run.states() == ["ready", "ready"]
    found, answer = stored(run, settings), run.groups()[0]["order"]["task"]["params"]["answer"]
    for call in found["train"]:
        ids = call.completion_ids
        assert call.scored == [Scored("teacher", version_id, [-id / 8 for id in ids], [0, 1] * len(ids),
                                      [-1.0] * 2 * len(ids))]
        text = f"+{answer}+\n\n-"
        prefix, digest = TOKENIZER.encode(f"{text}\n"), hashlib.sha256(text.encode()).hexdigest()
        assert call.contexts == [Context("privileged", [*prefix, *call.prompt_ids], digest)]
    assert [(call.scored, call.contexts) for call in found["eval"]] == [([], [])] * 2
    [asked] = peers.inference.scored
    assert (asked.model_id, asked.version_id, asked.temperature, asked.top_k) == (model_id, version_id, 1.0, 2)
    assert [(list(item.context_ids), list(item.ids)) for item in asked.items] == [
        (call.prompt_ids, call.completion_ids) for call in found["train"]]


async def test_a_run_without_a_teacher_asks_nobody(
        run: Run, peers: Peers, open_worker: Open, settings: Settings) -> None:
    run.request(1)
    await (await open_worker()).work()
    assert peers.inference.scored == []
    assert [(call.scored, call.contexts) for call in stored(run, settings)["train"]] == [([], [])] * 4


async def test_a_teacher_that_is_away_is_named_and_the_grades_are_asked_meanwhile(
        run: Run, peers: Peers, open_worker: Open) -> None:
    run.teach(0)
    peers.inference.scoring_error = AWAY
    run.request(2)
    work = asyncio.create_task((await open_worker()).work())
    await until_reason(run, "waiting for the teacher: UNAVAILABLE: not here yet")
    assert sum(len(request.items) for request in peers.reward.requests) == 2 * 4
    peers.inference.scoring_error = None
    await work
    assert [(group["state"], group["reason"]) for group in run.groups()] == [("ready", None)] * 2
    assert len(peers.inference.requests) == 2


async def test_a_teacher_that_is_not_published_is_waited_for(run: Run, open_worker: Open) -> None:
    _, version_id = run.teach(0)
    with psycopg.connect(run.url) as connection:
        connection.execute("UPDATE versions SET state = 'abandoned' WHERE id = %s", [version_id])
    run.request(1)
    work = asyncio.create_task((await open_worker(sweep_s=0.05)).work())
    await until_reason(run, "waiting for the teacher: Unavailable: model")
    work.cancel()
    await asyncio.wait([work])


async def test_scores_asked_of_a_silent_engine_come_from_another(run: Run, peers: Peers, open_worker: Open) -> None:
    run.teach(1)
    peers.inference.scoring.clear()
    run.request(2)
    work = asyncio.create_task((await open_worker(sweep_s=0.1)).work())
    while len(peers.inference.scored) < 2:
        await asyncio.sleep(0.02)
    other = Peers()
    await other.start()
    register_engine(run.url, "engine-1", other.address, age_s=-3600)
    register_engine(run.url, "engine-0", peers.address, age_s=60)
    await asyncio.wait_for(work, 120)
    assert run.states() == ["ready"] * 2
    assert len(other.inference.scored) == 2
    assert other.inference.requests == []
    await other.stop()


async def test_a_teacher_that_refuses_gives_its_group_up_with_the_reason(
        run: Run, peers: Peers, open_worker: Open) -> None:
    run.teach(1)
    peers.inference.scoring_error = InvalidField("top_k", 1, "0 for this engine")
    run.request(1)
    await (await open_worker()).work()
    [group] = run.groups()
    assert group["refused"].startswith("the teacher refuses: INVALID_ARGUMENT: top_k")
