"""Models write packages over HTTP: REST, queue, simulation service, sandbox. Bad ones end with the reason."""

import json
import os
import time
from collections import Counter
from typing import Any

import pytest
from psycopg.types.json import Jsonb
from typer.testing import CliRunner

from hone import ids
from hone.cli.main import app
from hone.client.errors import Refused
from hone.client.package_resources import PackageJob
from hone.environments.tools import ToolCall
from tests.integration.reward.rows import connection
from tests.support.simulation.authors import Scene, ended, made, named, scene, simulation
from tests.support.simulation.worlds import started, stepped
from tests.unit.environments.synthesis import apiary

__all__ = ["scene", "simulation"]
REACHING = '''def close_hive(db, hive_id):
    import socket
    socket.create_connection(("127.0.0.1", %d), timeout=1).sendall(b"hone was here")
    return {}
'''


def last_try(scene: Scene, endpoint: str) -> PackageJob:
    """Return an ended job whose only attempt is the last one."""
    job_id = ids.new("pkg")
    connection(scene.owner_url).execute(
        b"INSERT INTO package_jobs (id, tenant_id, name, hint, seed, tasks, author, attempts)"
        b" VALUES (%s, %s, 'made', 'an apiary', 0, 1, %s, 2)",
        (job_id, scene.tenant_id, Jsonb({"endpoint": endpoint})))
    return ended(scene, job_id)


def test_a_killed_service_goes_on_from_known_answers(scene: Scene) -> None:
    held = {"for_s": 60.0}

    def patient(question: str) -> Any:
        return held["for_s"] if "Plan task 0" in question and held["for_s"] else apiary.answer(question)

    named(scene, "patient", patient)
    with scene.simulation("simulation-0") as service:  # no other runs yet that could take the job
        job = scene.hone.make_package("kept", apiary.HINT, tasks=1, author={"endpoint": "patient"})
        while scene.hone.package_job(job.id).stage != "tasks 0 of 1":
            time.sleep(0.1)
        os.kill(service.process.pid, 9)
    held["for_s"] = 0.0
    with scene.simulation("simulation-0"):
        found = ended(scene, job.id)
    assert found.state == "done"
    counts = Counter(scene.asked("patient"))
    assert [question[:60] for question, times in counts.items() if times > 1] == [
        next(question for question in counts if "Plan task 0" in question)[:60]]


def test_a_good_author_writes_a_package_that_is_played(scene: Scene, simulation: Any) -> None:
    job = made(scene, named(scene, "good", apiary.answer, prompt_price=2.0))
    assert (job.state, job.reason, job.stage) == ("done", None, "tasks 2 of 2")
    report = job.report
    assert (report["tools_kept"], report["tasks_accepted"], report["solvable"], report["dead_ends"]) == (4, 2, 1.0, 0)
    assert [task["reason"] for task in report["tasks"]] == [
        "", "another order of independent steps leads elsewhere", ""]
    assert (report["author"]["name"], report["author"]["models"]) == ("good", ["good"])
    questions = len(scene.asked("good"))
    assert (report["author"]["asked"], job.used["good"]["answers"]) == (questions, questions)
    assert job.used["good"]["tokens"] == 1100 * questions
    assert job.used["good"]["cost"] == pytest.approx(0.002 * questions)
    assert scene.hone.package("by-good").made_by == f"model good, hint {apiary.HINT!r}, seed 0"
    assert played(simulation, str(job.digest)) == 1.0
    again = made(scene, "good")
    assert (again.digest, again.used) == (job.digest, {}), "equal questions have known answers"


def played(simulation: Any, digest: str) -> float:
    """Play the first task as its chain has it, after a look at nothing."""
    session = started(simulation, digest)
    for index, call in enumerate((
            ToolCall("find_hive", {"place": "moon"}), ToolCall("find_hive", {"place": "orchard"}),
            ToolCall("record_inspection", {"hive_id": "h1", "mites": 3}))):
        taken = stepped(simulation, session, index, call.action())
    inspection = json.loads(taken.observation.messages[0].content)
    stepped(simulation, session, 3, ToolCall("start_treatment", {**inspection, "agent": "oxalic"}).action())
    done = stepped(simulation, session, 4, "It is treated.")
    return float(json.loads(done.observation.item_json)["verified"])


@pytest.mark.usefixtures("simulation")
def test_a_buggy_tool_is_repaired_and_one_that_is_never_mended_is_dropped(scene: Scene) -> None:
    buggy = {"Write the tool record_inspection": {"source": apiary.BUG}}
    job = made(scene, named(scene, "buggy", over(buggy)))
    tried = job.report["tools"]["record_inspection"]
    assert (job.state, tried["kept"], tried["rounds"]) == ("done", True, 2)
    assert tried["findings"][0][0].startswith("the state is not the expected one: Mismatch(table='inspections'")
    stubborn = {**buggy, "These cases did not come out": {"source": apiary.BUG}}
    job = made(scene, named(scene, "stubborn", over(stubborn)), tasks=1)
    assert job.state == "failed"
    assert "no task was accepted (tried: 3 times: the chain calls what cannot be called: call 1" in str(job.reason)
    tried = job.report["tools"]["record_inspection"]
    assert (tried["kept"], tried["rounds"]) == (False, 6)
    assert job.report["tools"]["start_treatment"]["reason"] == "no tool gives what it needs"
    assert job.report["tasks"][0]["reason"].startswith("the chain calls what cannot be called")
    assert job.used["stubborn"]["answers"] == job.report["author"]["asked"]


def over(answers: dict[str, Any]) -> Any:
    """Return what says other answers to some questions, and those of a good author to the rest."""
    return lambda question: next((said for words, said in answers.items() if words in question), None) or (
        apiary.answer(question))


@pytest.mark.usefixtures("simulation")
def test_code_that_reaches_out_does_not_get_there_and_is_dropped(scene: Scene) -> None:
    port = int(scene.author.url.rpartition(":")[2].partition("/")[0])
    job = made(scene, named(scene, "reaching", over({
        "Write the tool close_hive": {"source": REACHING % port}, "These cases did not": {"source": REACHING % port}})),
        tasks=1)
    tried = job.report["tools"]["close_hive"]
    assert (job.state, tried["kept"], job.report["tools_kept"]) == ("done", False, 3)
    assert all("it failed: " in findings[0] for findings in tried["findings"])


@pytest.mark.usefixtures("simulation")
@pytest.mark.parametrize(("model", "says", "reason"), [
    ("garbage", "I would rather talk about bees.", "no schema could be read (tried: expected a JSON object."),
    ("twice", '{"domain": "a", "domain": "b"}', "the key 'domain' twice"),
    ("other", {"domain": "apiary", "summary": "s"}, "tables: expected a value"),
    ("refusing", 413, "no schema could be read (tried: the model refused: "),
    ("wrong key", 401, "wrong-key gave no answer: the judge refuses the question with status 401"),
    ("busy", 429, "busy gave no answer: the judge answered with status 429 (after one attempt)"),
    ("stalling", 60.0, "stalling gave no answer: the judge did not answer within 0.3 s")])
def test_an_author_that_gives_no_answer_ends_the_job_with_the_reason(
    scene: Scene, model: str, says: Any, reason: str,
) -> None:
    job = last_try(scene, named(scene, model, lambda _: says, timeout_s=0.3))
    assert job.state == "failed"
    assert reason in str(job.reason)
    assert job.report["tools"] == {}


@pytest.mark.usefixtures("simulation")
def test_a_limit_of_the_judge_holds_for_a_job_and_a_busy_one_is_asked_again(scene: Scene) -> None:
    attempts = Counter[str]()

    def busy_at_first(question: str) -> Any:
        attempts[question] += 1
        return 429 if attempts[question] == 1 else apiary.answer(question)

    job = last_try(scene, named(scene, "busy once", busy_at_first, attempts=2, run_tokens=3000))
    assert job.state == "failed"
    assert "the run has used its 3000 tokens" in str(job.reason)
    assert (job.used["busy-once"]["answers"], job.progress["phase"]) == (3, "tools")


@pytest.mark.usefixtures("simulation")
def test_a_deadline_and_a_cancellation_end_a_job_whose_author_stalls(scene: Scene) -> None:
    endpoint = named(scene, "sleeping", lambda _: 60.0)
    late = made(scene, endpoint, within_s=1)
    assert (late.state, late.reason) == ("failed", "its 1 s are over: schema, 0 of 1")
    job = scene.hone.make_package("never", "a hive", author={"endpoint": endpoint})
    while scene.hone.package_job(job.id).state == "waiting":
        time.sleep(0.1)
    assert scene.hone.cancel_package_job(job.id).state == "cancelled"
    assert made(scene, named(scene, "good", apiary.answer), tasks=1).state == "done"
    assert scene.hone.cancel_package_job(job.id).reason == "it was cancelled"


def keeper(body: dict[str, Any]) -> dict[str, Any]:
    """Solve a task of the apiary with the tools that are seen; without them, give up."""
    offered = {tool["function"]["name"] for tool in body.get("tools", ())}
    instruction = next(one["content"] for one in body["messages"] if one["role"] == "user")
    results = [json.loads(one["content"]) for one in body["messages"] if one["role"] == "tool"]
    plan = [("find_hive", {"place": "orchard"}),
            ("record_inspection", {"hive_id": "h1", "mites": int(instruction.split()[2])}),
            ("start_treatment", {"agent": "oxalic", **(results[1] if len(results) > 1 else {})}),
            *([("close_hive", {"hive_id": "h1"})] if "close it" in instruction else [])]
    if len(results) == len(plan) or plan[len(results)][0] not in offered:
        return {"content": "I have done what I could."}
    tool, arguments = plan[len(results)]
    return {"content": None, "tool_calls": [{"id": f"call_{len(results)}", "type": "function", "function": {
        "name": tool, "arguments": json.dumps(arguments)}}]}


@pytest.mark.usefixtures("simulation")
def test_tasks_are_kept_that_tell_a_policy_from_one_with_half_of_its_tools(scene: Scene) -> None:
    scene.author.policies.update(keeper=keeper, idler=lambda _: {"content": "Done."})
    named(scene, "good", apiary.answer)
    for policy in ("keeper", "idler"):
        named(scene, policy, None)
    job = made(scene, "good", trial={"endpoint": "keeper", "rollouts": 2})
    assert (job.state, job.stage) == ("done", "trials 2 of 2")
    assert job.report["trials"] == {
        "name": "keeper", "tried": 2, "admitted": 2, "strong": 1.0, "weak": 0.0,
        "tasks": {"apiary-0": [1.0, 0.0], "apiary-2": [1.0, 0.0]}}
    assert job.used["keeper"]["answers"] >= 2 * 2 * 4
    idle = made(scene, "good", trial={"endpoint": "idler", "rollouts": 2})
    assert idle.state == "failed"
    assert idle.reason == ("no task tells a policy with all tools from one with half of them (tried: "
                           "apiary-0: 0.00 and 0.00; apiary-2: 0.00 and 0.00)")


@pytest.mark.usefixtures("simulation")
def test_the_command_waits_for_a_job_and_says_how_far_it_is(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    named(scene, "good", apiary.answer)
    monkeypatch.setenv("HONE_URL", scene.url)
    monkeypatch.setenv("HONE_API_KEY", scene.key)
    run = CliRunner()
    found = run.invoke(app, ["environments", "make", "typed", apiary.HINT, "--author", "good", "--tasks", "1"])
    assert (found.exit_code, found.exception) == (0, None)
    job_id = found.stderr.partition("job ")[2].split()[0]
    assert json.loads(run.invoke(app, ["environments", "job", job_id]).stdout)["progress"]["phase"] == "tasks"
    assert job_id in run.invoke(app, ["environments", "jobs"]).stdout
    assert "done" in run.invoke(app, ["environments", "cancel", job_id]).stdout


def test_who_cannot_be_asked_is_refused_by_the_field(scene: Scene) -> None:
    named(scene, "good", apiary.answer)
    for author, field in (({"endpoint": "nobody"}, "author.endpoint"), ({"model": "good"}, "author.model"),
                          ({"model": "m", "endpoint": "good"}, "author"), ({"endpoint": "good", "n": 1}, "author.n")):
        with pytest.raises(Refused) as refused:
            scene.hone.make_package("none", "a hive", author=author)
        assert [problem.field for problem in refused.value.problems] == [field]
