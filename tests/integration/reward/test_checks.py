"""Checks of graders by a real reward service: a judge whose errors are known, one that is away, and sets."""

import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hone import ids, sealing
from hone.algorithms.agreement import Agreement, pooled
from hone.graders import specs
from hone.graders.judge_messages import is_opener
from hone.graders.labelled_answers import pairs
from tests.integration.reward.rows import Run, make_run
from tests.servers.judge import KEY, ScriptedJudge, listening
from tests.servers.service import running

TOKEN = "the-token-of-this-stack"
GRADER: dict[str, Any] = {"type": "score_model", "name": "s", "model": "scripted", "least_characters": 0, "input": [
    {"role": "user", "content": "{{ item.question }} reference: {{ item.answer }}\n{{ sample.output_text }}"}]}


@pytest.fixture
def judge() -> Iterator[ScriptedJudge]:
    with listening() as judge:
        yield judge


@pytest.fixture(scope="module", autouse=True)
def reward(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Run a reward service, and return the folder of its object store."""
    folder = tmp_path_factory.mktemp("objects")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HONE_STACK_TOKEN", TOKEN)
        with running("reward", HONE_DATABASE_URL=postgres_url, HONE_OBJECTS_URL=f"file://{folder}"):
            yield folder


@pytest.fixture
def run(postgres_owner_url: str, judge: ScriptedJudge) -> Run:
    """Return a run whose tenant has the scripted judge."""
    made = make_run(postgres_owner_url)
    made.do("INSERT INTO secrets (tenant_id, name, sealed) VALUES (%s, 'judge-key', %s)",
             made.tenant_id, sealing.sealed(TOKEN, made.tenant_id, KEY))
    made.do("INSERT INTO judges (tenant_id, name, url, model, secret, terms) VALUES (%s, 'scripted', %s, 'judge-1', "
            "'judge-key', %s)", made.tenant_id, judge.url, json.dumps({"attempts": 1, "prompt_price": 1.0}))
    return made


def ask(run: Run, number: int | None = None, grader: dict[str, Any] = GRADER, on: str = "short_answers") -> str:
    """Ask for a check, of the run's with this number, and return its id."""
    made, spec = ids.new("check"), specs.checked(grader)
    run.do("INSERT INTO grader_checks (id, tenant_id, run_id, number, step, grader, grader_hash, set_name) "
           "VALUES (%s, %s, %s, %s, %s, %s, %s, %s)", made, run.tenant_id, None if number is None else run.id,
           number or 0, number, spec.json, spec.hash, on)
    return made


def ended(run: Run, check: str) -> dict[str, Any]:
    deadline = time.monotonic() + 60
    while (row := run.all("SELECT * FROM grader_checks WHERE id = %s", check)[0])["state"] not in ("done", "failed"):
        assert time.monotonic() < deadline, row
        time.sleep(0.05)
    return row


def counts(row: dict[str, Any]) -> dict[str, Agreement]:
    return {kind: Agreement(**one) for kind, one in row["counts"].items()}


def test_a_judge_s_errors_are_counted_by_kind(run: Run, judge: ScriptedJudge) -> None:
    """One that accepts what is right, keys, and every fourth other text; and that says nothing about copied questions.
    """
    made = pairs()
    others = [pair for pair in made if not pair.right and pair.kind not in ("master_key", "copied_question")]
    accepted = {pair.output.strip() for pair in made if pair.right or pair.kind == "master_key"}
    accepted |= {pair.output.strip() for pair in others[::4]}
    silent = {pair.output.strip() for pair in made if pair.kind == "copied_question"}
    judge.verdict = lambda answer: None if answer in silent else answer in accepted
    row = ended(run, ask(run))
    found = counts(row)
    assert set(found) == {pair.kind for pair in made}
    assert found["right"] == Agreement(tp=104)
    assert found["copied_question"] == Agreement(invalid=16)
    keys = found["master_key"]
    assert (keys.fp, keys.tn) == (sum(bool(pair.output.strip()) and not _opener(pair.output) for pair in made
                                      if pair.kind == "master_key"), 32 - keys.fp), "openers reach no judge"
    assert 0 < keys.fp < 32
    wrong = pooled(found[kind] for kind in ("wrong", "truncated", "injection", "sounds_right"))
    expected = sum(pair.output.strip() in accepted for pair in others)
    assert (wrong.fp, wrong.tn) == (expected, 80 - expected)
    assert row["tokens"] == {"judge-1": 120 * (len(judge.asked) - 16)}, "of verdicts"
    assert row["verdicts"].count("x") == 16
    assert row["seconds"] > 0
    assert row["judges"] == {"scripted": f"{judge.url} judge-1 json_schema"}


def _opener(text: str) -> bool:
    return is_opener(text, 0)


def test_a_check_asks_anew_and_a_run_s_first_one_takes_what_is_known(run: Run, judge: ScriptedJudge) -> None:
    judge.verdict = lambda _: False
    first = ended(run, ask(run))
    asked = len(judge.asked)
    assert asked > 150
    copied = ended(run, ask(run, 0))
    assert (copied["copied_from"], copied["counts"], len(judge.asked)) == (first["id"], first["counts"], asked)
    judge.verdict = lambda _: True
    later = ended(run, ask(run, 1))
    assert later["copied_from"] is None
    assert len(judge.asked) == 2 * asked, "what was answered before is asked again"
    assert pooled(counts(later).values()).tp == 104
    events = run.all("SELECT kind, step, message FROM events WHERE run_id = %s ORDER BY id", run.id)
    assert [(event["kind"], event["step"]) for event in events] == [("judge.checked", 0), ("judge.checked", 1)]
    assert "gap 0.000, false accepts 0.000, false refusals 1.000" in events[0]["message"]
    named = run.all("SELECT name FROM metrics WHERE run_id = %s AND step = 1", run.id)
    assert {row["name"] for row in named} == {
        "judge/gap", "judge/false_accepts", "judge/false_refusals", "judge/key_accepts"}
    [spent] = run.all("SELECT answers, pinned FROM judge_spending WHERE run_id = %s", run.id)
    assert (spent["answers"], spent["pinned"]) == (asked, f"{judge.url} judge-1 json_schema")


def test_a_judge_that_is_away_ends_no_check_and_no_verdict_is_lost(run: Run, judge: ScriptedJudge) -> None:
    answers = iter(range(10_000))
    judge.verdict = lambda _: "away" if next(answers) == 40 else True
    check = ask(run, 0)
    deadline = time.monotonic() + 120
    while not (row := run.all("SELECT * FROM grader_checks WHERE id = %s", check)[0])["reason"]:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert "status 503" in row["reason"]
    assert row["verdicts"].count("?") > 0
    [event] = run.all("SELECT kind, message FROM events WHERE run_id = %s AND kind = 'judge.unchecked'", run.id)
    assert "the run waits" in event["message"]
    row = ended(run, check)
    assert (row["state"], pooled(counts(row).values()).tp) == ("done", 104)
    answered = 232 - sum(_opener(pair.output) for pair in pairs())
    assert len(judge.asked) == answered + 1, "each pair is asked about once, and the failed one again"


def test_a_killed_service_s_check_goes_on_where_it_was(run: Run, judge: ScriptedJudge) -> None:
    """Another one takes it when its lease is over, and asks about the pairs that have no verdict."""
    judge.verdict = lambda _: True
    whole = ended(run, ask(run))
    asked, left = len(judge.asked), ids.new("check")
    run.do("INSERT INTO grader_checks (id, tenant_id, grader, grader_hash, set_name, set_hash, judges, verdicts, "
           "state, owner, attempts, due_at) SELECT %s, tenant_id, grader, grader_hash, set_name, set_hash, judges, "
           "'??' || substr(verdicts, 3), 'taken', 'killed', 1, now() FROM grader_checks WHERE id = %s",
           left, whole["id"])
    again = ended(run, left)
    assert (again["verdicts"], again["counts"]) == (whole["verdicts"], whole["counts"])
    assert len(judge.asked) == asked + 2


def test_a_set_that_the_grader_cannot_read_ends_the_check(run: Run) -> None:
    other = {**GRADER, "input": [{"role": "user", "content": "{{ item.passage }} {{ sample.output_text }}"}]}
    row = ended(run, ask(run, grader=other))
    assert row["state"] == "failed"
    assert "passage" in row["reason"]
    missing = ended(run, ask(run, on="dataset:nobody-s"))
    assert (missing["state"], "an uploaded dataset" in missing["reason"]) == ("failed", True)


def test_a_dataset_is_a_set(run: Run, judge: ScriptedJudge, reward: Path) -> None:
    content = b"".join(json.dumps({"prompt": "2 + 2?", "question": "2 + 2?", "answer": "4", "output": output,
                                   "label": output == "four"}).encode() + b"\n" for output in ("four", "five"))
    (reward / "rows").write_bytes(content)
    entry = {"key": "rows", "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    run.do("INSERT INTO artifacts (id, tenant_id, kind, name, hash, manifest) "
           "VALUES (%s, %s, 'dataset', 'mine', 'h', %s)",
           ids.new("art"), run.tenant_id, json.dumps({"rows": 2, "files": {"rows.jsonl": entry}}))
    judge.verdict = lambda answer: answer == "four"
    row = ended(run, ask(run, on="dataset:mine"))
    assert counts(row) == {"pair": Agreement(tp=1, tn=1)}
    stranger = make_run(run.url)
    assert ended(stranger, ask(stranger, on="dataset:mine"))["state"] == "failed"
