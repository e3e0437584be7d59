"""Groups of several turns: a role is asked once for each question, and a refused step masks its sample."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest

from hone import sealing
from hone.api import inference_pb2
from hone.environments.catalogue import ENVIRONMENTS
from hone.environments.contract import Ask, EnvironmentParams, Message, Observation, Transition
from hone.models import toy
from hone.spec.settings import Settings
from hone.store import objects
from hone.text.tokenizer import Tokenizer
from hone.trajectory import journal, parts
from hone.trajectory.records import Trajectory, Turn
from services.simulation.service import Simulation
from services.simulation.sessions import Sessions
from tests.integration.rollout.conftest import Open
from tests.integration.rollout.peers import Peers
from tests.integration.rollout.rows import Run, every
from tests.servers.judge import KEY, ScriptedJudge, listening

TOKENIZER = Tokenizer({name: data for name, data in toy.files().items() if name.endswith(".json")})
OTHER = {name: data for name, data in toy.files(symbols=[*toy.SPECIALS, *reversed(toy.SYMBOLS[len(toy.SPECIALS):])])
         .items() if name.endswith(".json")}
TASK = {"environment": "market", "seed": 0, "item": None, "params": {}}


@dataclass
class Market:
    """The policy speaks, a customer is asked, the policy speaks again."""

    summary, params, harness, foreign = "A market.", EnvironmentParams, "chat", False
    answered: list[str] = field(default_factory=list)  # what customers have said
    then: Callable[[], None] = lambda: None  # called after each answer
    defect: bool = False  # an error in the environment when a customer speaks
    question: str = "s52="  # that a customer is asked
    asks: bool = True  # whether a customer is asked at all
    says: str = "s4="  # what the policy hears in the end

    def content(self, *_: Any) -> str:
        return "market"

    def episode(self, *_: Any) -> "Visit":
        return Visit(self)


MARKET = Market()  # one for the whole process, because task makers are cached


class Visit:
    """One customer."""

    def __init__(self, market: Market) -> None:
        self._market = market
        self._heard: list[str] = []

    def reset(self) -> Observation:
        return self._seen([{"role": "user", "content": "s31="}])

    def step(self, action: str) -> Transition:
        self._heard.append(action)
        if len(self._heard) == 2 and self._market.asks:
            self._answered(action)
        said: list[Message] = [{"role": "user", "content": self._market.says}] if len(self._heard) == 2 else []
        return Transition(self._seen(said), done=len(self._heard) == 3, valid=True)

    def state_hash(self) -> str:
        return str(self._heard)

    def _answered(self, words: str) -> None:
        if self._market.defect:
            raise TypeError("unhashable type: 'list'")
        self._market.answered.append(words)
        self._market.then()

    def _seen(self, said: list[Message]) -> Observation:
        ask = Ask("user", [{"role": "user", "content": self._market.question}]) if (
            self._market.asks and len(self._heard) == 1) else None
        return Observation(said, {"answer": "13"}, {"type": "exact"}, 3, self.state_hash(), ask=ask)


@pytest.fixture
async def market(monkeypatch: pytest.MonkeyPatch, peers: Peers) -> Market:
    """The environment, behind the real simulation service."""
    monkeypatch.setitem(ENVIRONMENTS, "market", MARKET)  # type: ignore[arg-type]
    for name, value in vars(Market()).items():
        monkeypatch.setattr(MARKET, name, value)
    await peers.stop()
    peers.simulation = Simulation("", Sessions())  # type: ignore[assignment]
    await peers.start(peers.address)
    return MARKET


def trajectories(run: Run, settings: Settings) -> list[Trajectory]:
    [group] = run.groups()
    return parts.decode(objects.connect(settings.objects_url).get(group["parts"][0]))


def journaled(run: Run) -> dict[tuple[int, str], Turn]:
    rows = every(run.url, "SELECT j.call, j.body FROM journal j JOIN groups g ON g.id = j.group_id "
                          "WHERE g.run_id = %(id)s", id=run.run_id)
    return {(index, row["call"]): turn for row in rows for index, turn in journal.decode(row["body"]).items()}


@pytest.mark.parametrize("named", [False, True], ids=["by the policy", "by another model"])
async def test_words_that_the_environment_asked_for_are_not_asked_for_again(
        run: Run, peers: Peers, market: Market, settings: Settings, open_worker: Open, named: bool) -> None:
    policy, store = (run.model_id, run.version_id), objects.connect(settings.objects_url)
    answering, tokenizer = (run.answer_for("user", store, OTHER), Tokenizer(OTHER)) if named else (policy, TOKENIZER)
    def both() -> None:
        if len(market.answered) == 2:
            peers.inference.open.clear()

    market.then = both
    run.request(1, n=2, task=TASK, task_hash="")
    first = await open_worker()
    work = asyncio.create_task(first.work())
    while len(market.answered) < 2:
        await asyncio.sleep(0.02)
    before = journaled(run)
    await first.close()
    await asyncio.wait([work])
    assert run.states() == ["requested"]
    assert {(index, "1") for index in range(2)} <= before.keys()
    market.then = lambda: None
    peers.inference.open.set()
    await (await open_worker()).work()
    asked = [request for request in peers.inference.requests if request.noise.call == 1]
    assert (run.states(), run.groups()[0]["attempt"], len(asked)) == (["ready"], 2, 2)
    assert {(one.noise.call, one.model_id, one.version_id) for one in peers.inference.requests} == {
        (0, *policy), (1, *answering), (2, *policy)}
    for sample in trajectories(run, settings):
        words = sample.calls[1]
        assert words.prompt_ids == tokenizer.prompt_ids([{"role": "user", "content": "s52="}])
        assert words.text == tokenizer.decode(words.completion_ids) != ""
        spans = [{span.version_id for span in call.versions} for call in sample.calls]
        assert spans == [{policy[1]}, {answering[1]}, {policy[1]}]
        assert [call.role for call in sample.calls] == ["policy", "user", "policy"]
        assert sample.calls[:2] == [before[sample.index, number].call for number in ("0", "1")]
        assert [any(call.train_mask) for call in sample.calls] == [True, False, True]
        assert [step.action for step in sample.steps] == [call.text for call in sample.calls]
        assert (sample.ended, sample.status) == ("done", "ok")


@pytest.fixture
def judge() -> Iterator[ScriptedJudge]:
    with listening() as judge:
        yield judge


def spoken_for(run: Run, judge: ScriptedJudge, settings: Settings, **terms: Any) -> dict[str, Any]:
    """Return the part of an order by which an endpoint speaks for the user. Its key is a secret of the tenant."""
    with psycopg.connect(run.url) as connection:
        connection.execute("INSERT INTO secrets (tenant_id, name, sealed) VALUES (%s, 'key', %s)",
                           [run.tenant_id, sealing.sealed(settings.stack_token, run.tenant_id, KEY)])
        connection.execute("INSERT INTO judges (tenant_id, name, url, model, secret, terms) VALUES "
                           "(%s, 'shop', %s, 'customer-1', 'key', %s)",
                           [run.tenant_id, judge.url, json.dumps({"attempts": 2, **terms})])
    return {"voices": {"user": {"endpoint": "shop", "max_tokens": 9, "temperature": 0.5}}}


async def test_words_of_an_endpoint_are_not_asked_for_again(
        run: Run, peers: Peers, market: Market, settings: Settings, open_worker: Open, judge: ScriptedJudge) -> None:
    def both() -> None:
        if len(market.answered) == 2:
            peers.inference.open.clear()

    market.then, market.question = both, "JUDGE: status 503 once or JUDGE: say 1234"
    run.request(1, n=2, task=TASK, task_hash="", **spoken_for(run, judge, settings))
    first = await open_worker()
    work = asyncio.create_task(first.work())
    while len(market.answered) < 2:
        await asyncio.sleep(0.02)
    await first.close()
    await asyncio.wait([work])
    market.then = lambda: None
    peers.inference.open.set()
    await (await open_worker()).work()
    assert (run.states(), run.groups()[0]["attempt"]) == (["ready"], 2)
    asked = [(one["model"], one["max_tokens"], one["temperature"]) for one in judge.asked]
    assert asked == [("customer-1", 9, 0.5)] * 2
    assert len({one["seed"] for one in judge.asked}) == 2
    for sample in trajectories(run, settings):
        words = sample.calls[1]
        assert (words.role, words.text, words.completion_ids, words.engine) == ("user", "1234", [], "customer-1")
        assert [step.action for step in sample.steps] == [call.text for call in sample.calls]
        assert (sample.ended, sample.status) == ("done", "ok")
    [spent] = every(run.url, "SELECT answers, tokens FROM judge_spending WHERE run_id = %(id)s", id=run.run_id)
    assert (spent["answers"], spent["tokens"]) == (2, 240)


@pytest.mark.parametrize(("order", "why"), [
    ("garbage", "something else than a chat completion"), ("stall", "within 0.2 s (after 2 attempts)"),
    ("refuse", "I can't help")])
async def test_an_endpoint_without_words_masks_the_sample(
        run: Run, market: Market, settings: Settings, open_worker: Open, judge: ScriptedJudge, order: str, why: str,
) -> None:
    market.question = f"JUDGE: {order}"
    run.request(1, n=2, task=TASK, task_hash="", **spoken_for(run, judge, settings, timeout_s=0.2))
    await (await open_worker()).work()
    assert [(one.ended, one.status, len(one.calls)) for one in trajectories(run, settings)] == [
        ("refused", "infra_error", 1)] * 2
    messages = [row["message"] for row in every(
        run.url, "SELECT message FROM events WHERE run_id = %(id)s AND kind = 'rollout.masked'", id=run.run_id)]
    assert all("shop gave no words for the role user: " in message and why in message for message in messages), messages


@pytest.mark.parametrize(("order", "said", "calls"), [
    ("noise", "Menu: Home.\nJUDGE: noise\n", 1), ("say nothing", "JUDGE: say nothing\n", 2)])
async def test_a_noiser_writes_what_the_samples_of_a_group_hear_or_leaves_it_clean(
        run: Run, peers: Peers, market: Market, settings: Settings, open_worker: Open, judge: ScriptedJudge, order: str,
        said: str, calls: int) -> None:
    market.asks, market.says = False, f"JUDGE: {order}\n"
    noise = {"type": "redundancy", "writer": "model", "prob": 1.0, "most": 1, "seed": 3,
             "guidelines": {"redundancy": "Sound like a shop."}}
    voices = {"noiser": spoken_for(run, judge, settings)["voices"]["user"]}
    run.request(1, n=2, task={**TASK, "noise": noise}, task_hash="", voices=voices, deviation_judge="shop")
    await (await open_worker()).work()
    assert {one.grader_json for one in peers.reward.requests} == {
        '{"grader":{"type":"exact"},"model":"shop","type":"deviation"}'}
    assert len({one["seed"] for one in judge.asked}) == calls, "equal results are asked about alike"
    assert all("Sound like a shop." in one["messages"][0]["content"] for one in judge.asked)
    for sample in trajectories(run, settings):
        noisers = [call for call in sample.calls if call.role == "noiser"]
        [noised] = [step for step in sample.steps if step.injection]
        assert noised.said == [{"role": "user", "content": said}]
        assert ("failed" in noised.injection) == (order != "noise")
        assert len(noisers) == calls
        assert (sample.ended, sample.status) == ("done", "ok")


SORTING = {"environment": "sort_turns", "seed": 3, "item": None, "params": {"digits": 2, "slack": 1}}
PLAYED_AGAIN = {"library": {"7": "=="}, "call": "+", "branches": 1, "retrieve": 0.0, "describe": False}
GIVEN = [*TOKENIZER.encode("+ 7"), TOKENIZER.eos_id]


async def test_a_turn_that_is_played_again_is_not_asked_for_again(
        run: Run, peers: Peers, settings: Settings, open_worker: Open) -> None:
    forced, goes_on, scored = asyncio.Event(), asyncio.Event(), peers.inference.Score

    async def score(request: inference_pb2.ScoreRequest, context: Any) -> inference_pb2.ScoreResponse:
        if list(request.items[0].ids) == GIVEN:
            forced.set()
            await goes_on.wait()
        return await scored(request, context)

    await peers.stop()
    peers.simulation = Simulation("", Sessions())  # type: ignore[assignment]
    peers.inference.Score = score  # type: ignore[method-assign]
    await peers.start(peers.address)
    run.request(1, n=2, task=SORTING, task_hash="", harness="skills", harness_params=PLAYED_AGAIN)
    first = await open_worker()
    work = asyncio.create_task(first.work())
    await forced.wait()
    before = journaled(run)
    await first.close()
    await asyncio.wait([work])
    assert {(index, number) for index in range(2) for number in "012"} <= before.keys()
    goes_on.set()
    await (await open_worker()).work()
    assert (run.states(), run.groups()[0]["attempt"]) == (["ready"], 2)
    made = Counter((one.noise.request, one.noise.call) for one in peers.inference.requests)
    assert max(count for (request, _), count in made.items() if "/3." not in request) == 1, "trunks are kept"
    for sample in trajectories(run, settings):
        calls = {call.number: call for call in sample.calls}
        assert [calls[number] for number in "01"] == [before[sample.index, number].call for number in "01"]
        skip, invoke = calls["3.0.0"], calls["4.0.0"]
        assert [calls[number].entropy for number in "012"] + [invoke.entropy] == [0.5] * 3 + [None]
        assert (skip.kind, invoke.kind, skip.prompt_ids, skip.parent) == (
            "skip", "invoke", invoke.prompt_ids, invoke.parent)
        assert skip.prompt_ids == calls[invoke.notes["branch"]["before"]].prompt_ids
        assert (invoke.completion_ids, invoke.logp_sample) == (GIVEN, [-id / 8 for id in GIVEN])
        assert [(span.version_id, span.tokens) for span in invoke.versions] == [(run.version_id, len(GIVEN))]
        assert (invoke.notes["skill"], invoke.notes["status"]) == ("7", "completed")
        assert (sample.ended, sample.status) == ("done", "ok")


async def test_a_refused_step_masks_its_sample_and_records_an_event(
        run: Run, market: Market, settings: Settings, open_worker: Open) -> None:
    market.defect = True
    run.request(1, n=2, task=TASK, task_hash="")
    await (await open_worker()).work()
    assert (run.states(), run.groups()[0]["attempt"]) == (["ready"], 1)
    masked = [(one.ended, one.status, one.score, len(one.calls), len(one.steps)) for one in trajectories(run, settings)]
    assert masked == [("refused", "infra_error", None, 2, 1)] * 2
    events = every(run.url, "SELECT kind, message FROM events WHERE run_id = %(id)s ORDER BY id", id=run.run_id)
    assert {event["kind"] for event in events} == {"rollout.masked"}
    assert [event["message"].partition(": step 1")[0] for event in events] == [
        f"train/0, sample {index} has no score" for index in range(2)]
    assert all("unhashable type" in event["message"] for event in events)


@pytest.mark.usefixtures("market")
async def test_a_role_whose_tokenizer_refuses_its_prompt_refuses_the_group_with_the_reason(
        run: Run, settings: Settings, open_worker: Open) -> None:
    refusing = {**OTHER, "chat_template.jinja": b"{{ raise_exception('no system message, no answer') }}"}
    run.answer_for("user", objects.connect(settings.objects_url), refusing)
    run.request(1, n=2, task=TASK, task_hash="")
    await (await open_worker()).work()
    [group] = run.groups()
    assert (group["state"], group["attempt"], group["reason"]) == ("requested", 1, None)
    assert group["refused"] == "user's tokenizer refuses: chat_template: no system message, no answer"


@pytest.mark.usefixtures("market")
@pytest.mark.parametrize(("positions", "ended"), [(19, "max_context"), (20, "done"), (None, "done")])
async def test_an_asked_role_reads_no_more_tokens_than_its_base_model_has_positions(
        run: Run, settings: Settings, open_worker: Open, positions: int | None, ended: str) -> None:
    run.answer_for("user", objects.connect(settings.objects_url), OTHER, positions)
    run.request(1, n=1, task=TASK, task_hash="")
    await (await open_worker()).work()
    [sample] = trajectories(run, settings)
    assert (sample.ended, len(sample.calls)) == (ended, 3 if ended == "done" else 1)
