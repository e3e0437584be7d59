"""Play: a person takes the steps of one task, of each kind of world, before any run is started."""

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hone.cli.main import app
from hone.client import Client
from hone.client import errors as client_errors
from hone.client.play_resources import PlayStep
from hone.environments.catalogue import ENVIRONMENTS
from hone.environments.packages.archive import unpacked
from hone.rpc.session_ids import Place, SessionIds
from hone.stack import ports
from tests.integration.gateway.conftest import Gateway, serve
from tests.servers.children import Children
from tests.servers.judge import KEY, listening
from tests.servers.postgres import TestDatabase
from tests.servers.service import running
from tests.support.environments.openenv import Fake, serving
from tests.unit.environments.tau2.kiosk import FOLDER

pytestmark = pytest.mark.alone

USER = {"prompt": "Hello, it is about my order.", "goal": {"text": "Cancel it.", "hears": ["cancelled"]}, "knowledge": [
    {"name": "order", "value": "W1234", "asked": ["order number"]}]}
SESSIONS = 6
SHELF = Path(__file__).parents[2] / "servers" / "mcp_shelf.py"


@pytest.fixture(scope="module")
def addresses() -> dict[str, str]:
    return {f"HONE_{name}_ADDRESS": f"127.0.0.1:{port}" for name, port in zip(
        ("SIMULATION", "SANDBOX"), ports.pick(2), strict=True)}


@pytest.fixture(scope="module")
def gateway(
    postgres: TestDatabase, addresses: dict[str, str], tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Gateway]:
    home = tmp_path_factory.mktemp("gateway")
    objects = f"file://{home / 'objects'}"
    with (running("sandbox", **addresses, HONE_SANDBOX_PLACES="2"), Children(home) as children,
          running("simulation", **addresses, HONE_DATABASE_URL=postgres.worker_url, HONE_OBJECTS_URL=objects,
                  HONE_TENANT_SESSIONS=str(SESSIONS))):
        yield serve(children, postgres, objects, addresses)


def refused(work: Any) -> dict[str, tuple[str, str]]:
    with pytest.raises(client_errors.Refused) as raised:
        work()
    return {one.field: (one.found, one.expected) for one in raised.value.problems}


def test_a_scripted_user_of_a_row_is_talked_to_and_a_step_with_an_index_is_taken_once(
    hone: Client, other: Client,
) -> None:
    hone.upload_dataset("users", f"{json.dumps({**USER, 'goal': 5})}\n{json.dumps(USER)}\n".encode())
    task: dict[str, Any] = {"environment": "dialogue", "params": {"domain": "talk"}, "dataset": "users"}
    play = hone.start_play(**task, row=2)
    assert (play.task.row, play.task.seed, play.next_index) == (2, None, 0)
    assert play.messages[-1] == {"role": "user", "content": "Hello, it is about my order.\n"}
    asked = hone.say(play.id, 0, "What is your order number?")
    assert ("W1234" in asked.messages[0]["content"], asked.next_index, asked.done) == (True, 1, False)
    assert hone.say(play.id, 0, "another text, the same index") == asked
    state = hone.play_state(play.id)
    assert (state.score, state.turns_left, state.done) == (0.0, play.turns_left - 1, False)
    assert state.state is not None
    assert state.state["texts"] == ["What is your order number?"]
    ended = hone.say(play.id, 1, "It is cancelled.")
    assert (ended.done, ended.ended) == (True, "goal")
    state = hone.play_state(play.id)
    assert (state.score, state.done, state.ended, state.components["goal"]) == (1.0, True, "goal", 1.0)
    with pytest.raises(client_errors.Conflict, match="the user has left"):
        hone.say(play.id, 2, "Are you there?")
    assert refused(lambda: hone.say(play.id, 7, "too early")) == {"index": ("7", "0 to 2, the index of the next step")}
    for stranger in (lambda: other.play_state(play.id), lambda: other.say(play.id, 2, "x"),
                     lambda: other.end_play(play.id), lambda: hone.play_state("ses_1.AAAA")):
        with pytest.raises(client_errors.NotFound, match="This session does not exist"):
            stranger()
    assert hone.end_play(play.id).id == play.id
    with pytest.raises(client_errors.NotFound, match="This session does not exist"):
        hone.play_state(play.id)
    assert "row 1, where goal is " in refused(lambda: hone.start_play(**task, row=1))["row"][0]
    assert refused(lambda: hone.start_play(**task, row=3)) == {"row": ("3", "1 to 2, the rows of users")}
    assert refused(lambda: hone.start_play(**task, seed=3)).keys() == {"seed"}


def test_worlds_of_several_turns_are_played_to_their_score(hone: Client) -> None:
    shelf = hone.start_play("hidden_shelf", {}, seed=3)
    moved = hone.say(shelf.id, 0, (shelf.admissible or ["look"])[0])
    assert (moved.next_index, moved.reward is None or isinstance(moved.reward, float)) == (1, True)
    craft = hone.start_play("text_craft", {"depth": 1, "tags": 0}, seed=1, split="held_out")
    assert "get" in craft.messages[-1]["content"]
    assert hone.say(craft.id, 0, "dance").valid is False
    desk = hone.start_play("desk", seed=2)
    first = desk.tools[0]["function"]["name"]
    assert hone.call_tool(desk.id, 0, "no_such_tool", {}).valid is False
    assert hone.call_tool(desk.id, 1, first, {}).messages[0]["role"] == "tool"
    assert hone.play_state(desk.id).score == 0.0
    table = hone.start_play("sqlite", {"rows": 12}, seed=5)
    counted = hone.call_tool(table.id, 0, "query", {"sql": "SELECT count(*) FROM items"})
    assert counted.messages[0]["content"].strip() == "12"
    right = hone.say(table.id, 1, str(table.item["answer"]))
    assert (right.done, hone.play_state(table.id).score) == (True, 1.0)
    for play in (shelf, craft, desk, table):
        hone.end_play(play.id)


def test_a_single_question_is_answered_and_a_grader_would_decide(hone: Client) -> None:
    play = hone.start_play("sort_digits", {"digits": 4}, seed=9)
    assert (play.turns_left, play.grader, play.tools) == (1, {"type": "exact"}, [])
    answered = hone.say(play.id, 0, play.item["answer"])
    assert (answered.done, answered.ended, answered.reward, answered.turns_left) == (True, "done", None, 0)
    state = hone.play_state(play.id)
    assert (state.score, state.grader) == (None, {"type": "exact"})
    hone.end_play(play.id)
    hone.upload_dataset("questions", b'{"prompt": "x", "answer": "y"}')
    rows = hone.start_play(dataset="questions")
    assert (rows.task.environment, rows.messages[0]["content"]) == ("dataset", "x")
    hone.end_play(rows.id)


def test_noise_is_in_every_played_task_and_says_what_it_changed(hone: Client) -> None:
    noise = {"types": ["failure"], "share": 0.0, "prob": 1.0}
    play = hone.start_play("sqlite", seed=5, noise=noise)
    assert play.task.noise is not None
    assert play.task.noise["type"] == "failure"
    assert "repair" in [tool["function"]["name"] for tool in play.tools]
    failed = hone.call_tool(play.id, 0, "query", {"sql": "SELECT 1"})
    assert failed.injection is not None
    assert (failed.injection["type"], failed.injection["original"]) == ("failure", None)
    hone.end_play(play.id)
    assert list(refused(lambda: hone.start_play("sort_digits", noise=noise))) == ["noise"]


def test_a_package_made_from_a_hint_is_played_by_its_name(hone: Client, other: Client) -> None:
    job = hone.make_package("library", "a public library", tasks=4)
    until = time.monotonic() + 120
    while (job := hone.package_job(job.id)).state not in ("done", "failed", "cancelled"):
        assert time.monotonic() < until, job
        time.sleep(0.2)
    assert job.state == "done", job
    package = unpacked(hone.package_archive("library"))
    play = hone.start_play("package", {"package": "library"}, seed=4)
    task = next(one for one in package.tasks if one.instruction in play.messages[-1]["content"])
    for index, use in enumerate(task.chain):
        assert hone.call_tool(play.id, index, use.tool, use.arguments).valid
    last = hone.say(play.id, len(task.chain), " ".join(["Done.", *task.communicate]))
    assert (last.done, hone.play_state(play.id).score) == (True, 1.0)
    hone.end_play(play.id)
    assert list(refused(lambda: other.start_play("package", {"package": "library"}))) == ["params.package"]


def test_a_model_speaks_for_a_user_and_nobody_does_without_a_voice(hone: Client) -> None:
    task: dict[str, Any] = {"environment": "dialogue", "params": {"domain": "sales", "words": "model"}}
    with listening() as judge:
        hone.put_judge("customers", judge.url, "judge-1", hone.put_secret("judge-key", KEY).name, attempts=1)
        judge.script, voice = lambda _: "Good day to you.", {"endpoint": "customers"}
        play = hone.start_play(**task, seed=3)
        assert refused(lambda: hone.say(play.id, 0, "Good day. Who is it?")).keys() == {"voice.endpoint"}
        said = hone.say(play.id, 0, "Good day. Who is it?", voice)
        assert isinstance(said, PlayStep)
        assert said.next_index > 1
        asked = len(judge.asked)
        assert hone.say(play.id, 0, "Good day.", voice) == said
        hone.change_tenant(hone.account().tenant, max_tokens_a_day=0)
        with pytest.raises(client_errors.HoneError, match=r"No model is asked: .*max_tokens_a_day"):
            hone.say(play.id, said.next_index, "Good day.", voice)
        hone.change_tenant(hone.account().tenant, max_tokens_a_day=None)
        assert len(judge.asked) == asked
    assert refused(lambda: hone.start_play(**task, voice={"model": "nobody"})).keys() == {"voice.model"}
    assert refused(lambda: hone.start_play(**task, voice={})).keys() == {"voice"}
    hone.end_play(play.id)


@pytest.mark.parametrize(("body", "field", "words"), [
    ({}, "environment", "environment, dataset, or both"),
    ({"environment": "sqlit"}, "environment", "did you mean sqlite?"),
    ({"environment": "sqlite", "params": {"rows": "x"}}, "params.rows", "valid integer"),
    ({"environment": "sqlite", "params": {"row": 3}}, "params.row", "one of"),
    ({"dataset": "absent"}, "dataset", "an uploaded dataset"),
    ({"environment": "openenv", "params": {"world": "nowhere"}}, "params.world", ""),
    ({"environment": "sqlite", "row": 2}, "row", "nothing, because without a dataset"),
    ({"environment": "sqlite", "seed": -1}, "seed", "greater than or equal to 0"),
    ({"environment": "sqlite", "noise": {"types": ["rain"]}}, "noise.types[0]", "failure"),
    ({"environment": "sqlite", "turns": 2}, "turns", ""),
    ({"environment": "mcp", "params": {"world": "w"}}, "dataset", "its rows are the tasks"),
    ({"environment": "verification"}, "dataset", "rows with prompt, label and rho")])
def test_what_no_run_would_take_is_refused_by_its_field(
    gateway: Gateway, tenant: str, body: dict[str, Any], field: str, words: str,
) -> None:
    with gateway.http(tenant) as http:
        answer = http.post("/v1/sessions", json=body)
    problems = {one["field"]: one["expected"] for one in answer.json()["errors"]}
    assert (answer.status_code, field in problems) == (422, True), answer.text
    assert words in problems[field]


def test_lines_of_a_file_play_a_task_in_the_terminal(
    gateway: Gateway, tenant: str, hone: Client, monkeypatch: pytest.MonkeyPatch,
) -> None:
    hone.upload_dataset("lines", b'{"prompt": "x", "answer": "y"}')
    monkeypatch.setenv("HONE_URL", gateway.url)
    monkeypatch.setenv("HONE_API_KEY", tenant)

    def played(lines: str, *words: str, code: int = 0) -> str:
        result = CliRunner().invoke(app, ["play", *words], input=lines)
        assert result.exit_code == code, result.output
        return str(result.output)

    said = played("/call query {}\nquery sql='SELECT count(*) FROM items'\n/state\n/jump\nfour\n/score\n", "sqlite",
                  "--with", '{"rows": 12}', "--seed", "5")
    assert said.startswith("sqlite, ")
    for words in ("query(sql)", "the environment did not understand this", "[tool] 12", "turns left", '"turn',
                  "error: line", "ended: done", "score 0"):
        assert words in said, said
    said = played("Good day.\n", "dialogue", "--with", '{"domain": "sales"}', "--noise-type", "user_ambiguity")
    assert "noise user_ambiguity" in said
    assert "the input has ended" in said
    assert "the grader of a run decides" in played("1\n", "sort_digits")
    assert "1 turns left" in played("/quit\n", "--dataset", "lines")
    assert 'environment: found "sqlit"' in played("", "sqlit", code=1)
    assert "--with: found" in played("", "sqlite", "--with", "[]", code=1)


def test_a_tenant_has_so_many_sessions_and_a_step_is_a_text_or_a_call(
    gateway: Gateway, tenant: str, other: Client,
) -> None:
    with gateway.http(tenant) as http:
        plays = [http.post("/v1/sessions", json={"environment": "sort_digits"}).json() for _ in range(SESSIONS)]
        over = http.post("/v1/sessions", json={"environment": "sort_digits"})
        assert (over.status_code, "HONE_TENANT_SESSIONS" in over.json()["detail"]) == (429, True)
        other.end_play(other.start_play("sort_digits").id)
        for body in ({"index": 0}, {"index": 0, "text": "1", "call": {"tool": "x"}}, {"text": "1"},
                     {"index": 0, "call": {"tool": "x", "arguments": []}}):
            assert http.post(f"/v1/sessions/{plays[0]['id']}/steps", json=body).status_code == 422
        for play in plays:
            assert http.delete(f"/v1/sessions/{play['id']}").status_code == 200


def test_a_session_is_gone_with_its_process_and_away_while_that_cannot_be_reached(
    gateway: Gateway, tenant: str, hone: Client, addresses: dict[str, str],
) -> None:
    ids, owner = SessionIds(os.environ["HONE_STACK_TOKEN"]), hone.account().tenant_id
    lost, away = (ids.sealed(Place(address, "ses_1"), owner) for address in (
        addresses["HONE_SIMULATION_ADDRESS"], "127.0.0.1:1"))
    with gateway.http(tenant) as http:
        for answer in (http.get(f"/v1/sessions/{lost}"),
                       http.post(f"/v1/sessions/{lost}/steps", json={"index": 0, "text": "1"})):
            assert (answer.status_code, "the process that held it has ended" in answer.text) == (404, True)
        answer = http.get(f"/v1/sessions/{away}")
    assert (answer.status_code, "127.0.0.1:1" in answer.text, answer.headers["retry-after"]) == (503, False, "1")


OTHERS = {"dataset", "openenv", "mcp", "verifiers", "tau2", "package", "household"}
"""Environments that need something beside this test's processes, or that another test plays."""
NEEDED: dict[str, dict[str, Any]] = {
    "reasoning_gym": {"params": {"task": "leg_counting"}}, "verification": {"dataset": "verdicts"}}


@pytest.mark.parametrize("name", [name for name in ENVIRONMENTS if name not in OTHERS])
def test_each_environment_is_begun_answers_a_step_and_has_a_state(hone: Client, name: str) -> None:
    if name == "verification":
        hone.upload_dataset("verdicts", b'{"prompt": "2+3=6?", "label": "No", "rho": 0.5}')
    play = hone.start_play(name, **NEEDED.get(name, {}))
    assert play.messages
    assert (play.next_index, play.turns_left > 0, "type" in play.grader) == (0, True, True)
    taken = hone.say(play.id, 0, (play.admissible or ["1"])[0])
    state = hone.play_state(play.id)
    assert (state.next_index, state.done, state.turns_left) == (taken.next_index, taken.done, taken.turns_left)
    assert state.score is not None or state.grader != {"type": "environment"}
    assert state.state is not None
    hone.end_play(play.id)


def test_a_world_elsewhere_is_played_until_it_goes_away(hone: Client) -> None:
    far = Fake()
    with serving(far) as url:
        hone.put_judge("far", url, protocol="openenv")
        play = hone.start_play("openenv", {"world": "far"}, seed=3)
        assert "begin" in play.messages[0]["content"]
        taken = hone.say(play.id, 0, "four")
        assert (taken.item["verified"], hone.play_state(play.id).score) == (0.5, 0.5)
        far.answers = lambda _: None
        with pytest.raises(client_errors.NotFound, match="The session is gone: the world of the session is gone"):
            hone.say(play.id, 1, "more")
        hone.end_play(play.id)


def test_tools_of_an_mcp_server_are_called_and_one_that_dies_ends_the_session(hone: Client, tmp_path: Path) -> None:
    [port] = ports.pick(1)
    hone.upload_dataset("shelves", b'{"prompt": "What is at a?", "answer": "7"}')
    hone.put_judge("shelf", f"http://127.0.0.1:{port}/mcp", protocol="mcp")
    task: dict[str, Any] = {"environment": "mcp", "params": {"world": "shelf"}, "dataset": "shelves"}
    with Children(tmp_path) as children:
        children.start("shelf", [sys.executable, str(SHELF), str(port), str(tmp_path)])
        children.wait("shelf", lambda: ports.answers(f"127.0.0.1:{port}"), timeout_s=60)
        play = hone.start_play(**task)
        assert [tool["function"]["name"] for tool in play.tools] == ["look"]
        assert hone.call_tool(play.id, 0, "look", {"at": "a"}).messages[0]["content"] == "7\n"
        wrong = hone.call_tool(play.id, 1, "look", {"up": 1})
        assert (wrong.valid, wrong.messages[0]["content"].startswith("error: ")) == (False, True)
        (tmp_path / "die").touch()
        with pytest.raises(client_errors.NotFound, match="the world of the session is gone"):
            hone.call_tool(play.id, 2, "look", {"at": "a"})
    hone.end_play(play.id)


def test_a_task_of_a_domain_is_played_with_its_tools_in_the_sandbox(hone: Client) -> None:
    hone.add_package("desk", FOLDER)
    play = hone.start_play("tau2", {"domain": "desk", "tasks": ["renew"]})
    assert [one["role"] for one in play.messages] == ["system", "user"]
    assert hone.call_tool(play.id, 0, "steal", {}).valid is False
    assert "49.5" in hone.call_tool(play.id, 1, "renew", {"serial": "M200"}).messages[0]["content"]
    ended = hone.say(play.id, 2, "It is renewed, for 49.50.")
    assert (ended.done, hone.play_state(play.id).score) == (True, 1.0)
    hone.end_play(play.id)
    assert list(refused(lambda: hone.start_play("tau2", {"domain": "desk", "tasks": ["gone"]}))) == ["params.tasks"]
    assert list(refused(lambda: hone.start_play("tau2", {"domain": "nowhere"}))) == ["params.domain"]
