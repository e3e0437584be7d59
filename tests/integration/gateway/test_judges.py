"""Judges and secrets over REST, OpenAI's calls that try a grader, and a model of one's own that judges."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import psycopg
import pytest
from typer.testing import CliRunner

from hone import keys
from hone.cli.main import app
from hone.client import Client
from hone.client.errors import HoneError, Refused
from hone.client.judge_resources import Judge
from hone.passes import Pass, issue
from hone.stack import ports
from hone.store.database import Database
from tests.integration.gateway import asked
from tests.integration.gateway.asked import AskedStack
from tests.integration.inference.models import rater_files
from tests.servers.judge import KEY, ScriptedJudge, listening
from tests.servers.postgres import TestDatabase

pytestmark = pytest.mark.alone

LABELS: dict[str, Any] = {
    "type": "label_model", "name": "l", "model": "own", "labels": ["good", "bad"], "passing_labels": ["good"],
    "input": [{"role": "user", "content": "{{ sample.output_text }}"}], "reasons": False, "fence": False,
    "sampling_params": {"max_completions_tokens": 200}}
CHECK: dict[str, Any] = {"type": "string_check", "name": "c", "operation": "eq", "input": "{{ sample.output_text }}",
                         "reference": "{{ item.answer }}"}

RUN: dict[str, Any] = {
    "name": "rated", "model": {"base": "trained"}, "task": {"environment": "sort_digits"}, "steps": 1, "eval": None}


@pytest.fixture(scope="module")
def judge() -> Iterator[ScriptedJudge]:
    with listening() as judge:
        yield judge


@pytest.fixture(scope="module")
def stack(postgres: TestDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AskedStack]:
    """Return a stack with a reward service, which asks judges and, at the gateway, models."""
    [port, gateway_port] = ports.pick(2)
    shared = {"HONE_REWARD_ADDRESS": f"127.0.0.1:{port}"}
    home = tmp_path_factory.mktemp("judges")
    with asked.running(postgres, home, shared, gateway_port=gateway_port) as stack:
        stack.children.start("reward", [sys.executable, "-m", "services.reward"], env={
            **os.environ, **shared, "HONE_DATABASE_URL": postgres.worker_url,
            "HONE_OBJECTS_URL": f"file://{home / 'objects'}",
            "HONE_GATEWAY_ADDRESS": f"127.0.0.1:{gateway_port}"})
        stack.children.wait("reward", lambda: ports.answers(f"127.0.0.1:{port}"), timeout_s=60)
        yield stack


@pytest.fixture(scope="module")
def hone(stack: AskedStack, database: Database, tmp_path_factory: pytest.TempPathFactory) -> Client:
    client = stack.hone(keys.create(database, "judged").secret)
    for name in ("own", "trained"):
        client.register_model(name, asked.write_model(tmp_path_factory.mktemp(name)))
    return client


def test_a_judge_that_was_set_is_asked_with_its_secret(hone: Client, stack: AskedStack, judge: ScriptedJudge) -> None:
    assert hone.put_secret("provider", KEY).name == "provider"
    made = hone.put_judge("expert", judge.url + "/", "judge-1", secret="provider", per_minute=600, attempts=1)
    assert (made.url, made.terms.per_minute, made.terms.at_once) == (judge.url, 600, 16)
    scored = {"type": "score_model", "model": "expert", "name": "s", "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "{{ item.q }} {{ sample.output_text }}"}]}]}
    found = hone.try_grader(scored, "four JUDGE: number 0.5", {"q": "two and two?"})
    assert (found.reward, found.model_grader_token_usage_per_model) == (0.5, {"judge-1": 120})
    failed = hone.try_grader(scored, "four JUDGE: status 500", {"q": "two and two?"})
    assert failed.reward is None
    assert failed.metadata["errors"]["model_grader_server_error"] is True
    assert "status 500" in failed.metadata["errors"]["model_grader_server_error_details"]
    assert [one.name for one in hone.judges().data] == ["expert"]
    assert [one.name for one in hone.secrets().data] == ["provider"]
    assert KEY not in str(hone.judges().data) + str(hone.secrets().data) + stack.gateway.log.read_text()
    assert hone.delete_secret("provider").name == "provider"
    assert "no secret 'provider' is set" in str(hone.try_grader(scored, "JUDGE: number 0.25", {"q": ""}))
    assert hone.delete_judge("expert").name == "expert"
    with pytest.raises(HoneError, match="no judge"):
        hone.judge("expert")


def test_a_model_of_ones_own_judges_and_its_tokens_are_counted(hone: Client) -> None:
    found = hone.try_grader(LABELS, "four")
    assert found.reward in (0.0, 1.0)
    assert sum(found.model_grader_token_usage_per_model.values()) > 0
    again = hone.try_grader(LABELS, "four")
    assert again.reward == found.reward
    assert again.model_grader_token_usage_per_model == {"own": 0}, "an equal question has one answer"
    missing = hone.try_grader({**LABELS, "model": "nobody"}, "four")
    assert missing.metadata["errors"]["model_grader_server_error"] is True
    assert "404" in missing.metadata["errors"]["model_grader_server_error_details"]


def test_graders_are_checked_and_tried_in_openais_json(stack: AskedStack, database: Database) -> None:
    key = keys.create(database, "foreign", tenant="other").secret
    client: Any = openai.OpenAI(base_url=f"{stack.gateway.url}/v1", api_key=key, max_retries=0)
    checked = client.fine_tuning.alpha.graders.validate(grader=CHECK)
    assert checked.grader.to_dict() == CHECK
    ran = client.fine_tuning.alpha.graders.run(grader=CHECK, model_sample="4", item={"answer": "4"})
    assert (ran.reward, ran.metadata.type, ran.metadata.errors.other_error) == (1.0, "string_check", False)
    lacking = client.fine_tuning.alpha.graders.run(grader=CHECK, model_sample="4", item={})
    assert lacking.metadata.errors.invalid_variable_error is True
    with pytest.raises(openai.BadRequestError) as refused:
        client.fine_tuning.alpha.graders.validate(grader={**CHECK, "operation": "equals"})
    assert refused.value.param == "grader.operation"
    foreign = client.fine_tuning.alpha.graders.run(grader=LABELS, model_sample="four", item={})
    assert foreign.metadata.errors.model_grader_server_error is True, "another tenant's model is no judge"


@pytest.mark.parametrize(("field", "wanted"), [
    ("url", {"url": "ftp://judge/v1"}), ("url", {"url": "http://user:word@judge/v1"}),
    ("terms.attempts", {"terms": {"attempts": 0}}),
    ("terms.run_cost", {"terms": {"run_cost": "much"}}), ("secret", {"secret": "a b"}), ("mode", {"mode": "x"})])
def test_what_no_judge_can_be_is_refused(hone: Client, field: str, wanted: dict[str, Any]) -> None:
    with pytest.raises(Refused) as refused:
        hone._send(Judge, "PUT", "/v1/judges/bad", json={
            "url": "http://judge/v1", "model": "m", **wanted})
    assert field in str(refused.value)


def test_a_pass_opens_nothing_but_models(stack: AskedStack, database: Database) -> None:
    """Nor does one that another token made, or one that is old."""
    tenant = database.one("tenants.named", name="default")
    holder = Pass(str(tenant["id"]) if tenant else "")
    token = os.environ["HONE_STACK_TOKEN"]
    with httpx.Client(base_url=stack.gateway.url) as http:
        def status(path: str, text: str) -> int:
            return http.get(path, headers={"Authorization": f"Bearer {text}"}).status_code

        assert status("/v1/models/own", issue(token, holder)) in (200, 404)
        assert status("/v1/models", issue(token, holder)) == 401
        assert status("/v1/runs", issue(token, holder)) == 401
        assert status("/v1/models/own", issue("another-token-of-a-stack", holder)) == 401
        assert status("/v1/models/own", issue(token, holder, now=lambda: 1.0)) == 401
        assert status("/v1/models/own", "pass-") == 401


def test_a_run_names_judges_that_are_there(hone: Client, judge: ScriptedJudge) -> None:
    """Also deep inside other graders, and those of another tenant are none."""
    def run(name: str) -> dict[str, Any]:
        grader = {"type": "weighted", "parts": {"judged": {"grader": {**LABELS, "model": name}}}}
        return {"name": "judged", "model": {"base": "trained"}, "task": {"environment": "sort_digits"}, "steps": 1,
                "grader": grader, "eval": None}

    hone.put_judge("keyless", judge.url, "judge-1", secret="never-set")
    for name, words in (("nobody", "the name of a judge"), ("keyless", "secret never-set is not set"),
                        ("trained", "trained, which the run trains (model.base)")):
        with pytest.raises(Refused) as refused:
            hone.create_run(run(name))
        assert "grader.parts.judged.grader.model" in str(refused.value)
        assert words in str(refused.value)
    hone.delete_judge("keyless")


def test_a_stored_grader_is_used_by_its_name_and_kept_by_its_content(
    hone: Client, stack: AskedStack, database: Database,
) -> None:
    first = hone.add_grader("mine", CHECK)
    again = hone.add_grader("mine", {**CHECK, "operation": "ne"})
    assert (first.grader, again.grader["operation"]) == (CHECK, "ne")
    assert [one.hash for one in hone.stored_graders().data] == [again.hash]
    by_name, by_hash = {"type": "stored", "name": "mine"}, {"type": "stored", "name": "mine", "hash": first.hash}
    assert [hone.try_grader(one, "4", {"answer": "4"}).reward for one in (by_name, by_hash)] == [0.0, 1.0]
    inside = {"type": "multi", "name": "m", "graders": {"a": by_hash}, "calculate_output": "a / 2"}
    assert hone.try_grader(inside, "4", {"answer": "4"}).reward == 0.5
    spec = {"name": "stored", "model": {"base": "trained"}, "task": {"environment": "sort_digits"}, "steps": 1}
    run = hone.create_run({**spec, "eval": None, "grader": by_hash})
    assert hone.run(run.id).spec["grader"] == CHECK
    hone.add_grader("mine", CHECK)
    assert hone.stored_grader("mine").hash == first.hash, "the last one that was added"
    stranger = stack.hone(keys.create(database, "stranger", tenant="strangers").secret)
    for client, given, field in ((hone, {"type": "stored", "name": "none"}, "grader.name"),
                                 (hone, {**by_name, "model": "x"}, "grader.model"),
                                 (hone, {"type": "stored", "name": 3}, "grader.name"),
                                 (stranger, by_hash, "grader.name")):
        with pytest.raises(Refused) as refused:
            client.try_grader(given, "4")
        assert field in str(refused.value)
    with pytest.raises(Refused, match=r"grader\.operation"):
        hone.add_grader("bad", {**CHECK, "operation": "equals"})
    assert hone.delete_grader("mine").name == "mine"
    with pytest.raises(HoneError, match="no grader"):
        hone.stored_grader("mine")


def test_a_reward_model_rates_answers_and_writes_none(
    hone: Client, stack: AskedStack, database: Database, tmp_path: Path,
) -> None:
    """Its number is that of stock transformers on the same text; behind vLLM's protocol it is the same one."""
    own = asked.write_model(tmp_path / "own")
    for name, data in rater_files({path.name: path.read_bytes() for path in own.iterdir()}).items():
        (own / name).write_bytes(data)
    model = hone.register_model("rater", own)
    assert model.architecture == "Qwen3ForSequenceClassification"
    key = keys.create(database, "rating").secret
    hone.put_secret("rating-key", key)
    hone.put_judge("pooled", f"{stack.gateway.url}/v1", "rater", secret="rating-key", protocol="pooling")
    talk = [{"role": "user", "content": "two and two?"}, {"role": "assistant", "content": "four"}]
    grader = {"type": "reward_model", "model": "rater", "mean": 0.5, "std": 2.0, "input": [
        {"role": "user", "content": "{{ item.q }}"}, {"role": "assistant", "content": "{{ sample.output_text }}"}]}
    wanted = stock_rating(own, talk)
    for judge_name in ("rater", "pooled"):
        found = hone.try_grader({**grader, "model": judge_name}, "four", {"q": "two and two?"})
        assert found.reward == pytest.approx((wanted - 0.5) / 2, abs=1e-4), found
        assert found.sub_rewards == {"rating": pytest.approx(wanted, abs=1e-4)}
    with httpx.Client(base_url=stack.gateway.url, headers={"Authorization": f"Bearer {key}"}, timeout=60) as http:
        def status(path: str, **body: Any) -> tuple[int, Any]:
            answer = http.post(f"/v1/{path}", json={"model": "rater", "messages": talk, **body})
            return answer.status_code, answer.json()

        _, whole = status("pooling")
        cut = whole["usage"]["prompt_tokens"] - 4
        code, shorter = status("pooling", truncate_prompt_tokens=cut)
        assert (code, shorter["usage"]["prompt_tokens"]) == (200, cut), "the prompt loses its beginning"
        assert shorter["data"][0]["data"] != whole["data"][0]["data"]
        assert status("pooling", truncate_prompt_tokens=3)[0] == 400, "the answer is never cut"
        assert status("pooling", messages=talk[::-1])[0] in (400, 422)
        code, refusal = status("chat/completions")
        assert (code, "a reward model, which has no next token" in str(refusal)) == (400, True)
        assert status("pooling", model="own")[0] == 400
    with pytest.raises(Refused, match=r"rater, a reward model"):
        hone.create_run({**RUN, "model": {"base": "rater"}})
    for model_name, judging, words in (
            ("own", grader, "own, a model that writes text"), ("rater", LABELS, "rater, a reward model")):
        with pytest.raises(Refused, match=words):
            hone.create_run({**RUN, "grader": {**judging, "model": model_name}})


def stock_rating(directory: Path, talk: list[dict[str, str]]) -> float:
    """Return what stock transformers gives, on the text that the model's template writes."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(directory)
    text = tokenizer.apply_chat_template(talk, tokenize=False)
    ids = tokenizer(text, add_special_tokens=False, return_tensors="pt").input_ids
    rater = AutoModelForSequenceClassification.from_pretrained(directory, dtype=torch.float32)
    with torch.no_grad():
        return float(rater(ids).logits[0, 0])


def test_a_grader_is_measured_on_labelled_outputs(
    stack: AskedStack, database: Database, judge: ScriptedJudge, monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the command too. The judge accepts every text, so it keeps nothing of the difference of right and wrong."""
    monkeypatch.setenv("HONE_URL", stack.gateway.url)
    monkeypatch.setenv("HONE_API_KEY", key := keys.create(database, "measuring", tenant="measured").secret)
    client = stack.hone(key)
    client.put_secret("provider", KEY)
    client.put_judge("lenient", judge.url, "judge-1", secret="provider")
    scored = {"type": "score_model", "model": "lenient", "name": "s", "input": [
        {"role": "user", "content": "{{ item.question }} {{ sample.output_text }}"}]}
    client.add_grader("lenient", scored)
    monkeypatch.setattr(judge, "verdict", lambda _: True)
    typed = CliRunner().invoke(app, ["graders", "check", "lenient"])
    assert typed.exit_code == 0, typed.output
    [check] = client.grader_checks().data
    assert client.grader_check(check.id) == check
    assert (check.state, check.pairs, check.judged, check.set) == ("done", 232, 232, "short_answers")
    assert (check.counts["right"].tp, check.counts["wrong"].fp) == (104, 32)
    assert check.figures.key_accepts == pytest.approx(check.counts["master_key"].fp / 32)
    assert check.figures.gap == pytest.approx(1 - (check.figures.false_accepts or 0))
    assert check.judges == {"lenient": f"{judge.url} judge-1 json_schema"}
    for words in ("wrong, accepted", "1 - fp - fn", "master keys that are accepted", check.id):
        assert words in typed.output
    assert check.id in CliRunner().invoke(app, ["graders", "checks"]).output
    ruled = client.check_grader({"type": "short_answer", "answer_type": "{{ item.answer_type }}"})
    while not (ruled := client.grader_check(ruled.id)).ended:
        pass
    assert ruled.figures.false_accepts == 0.0, "a grader without a judge is measured too"
    assert [one.id for one in client.grader_checks(grader_hash=ruled.grader_hash).data] == [ruled.id]


def test_what_cannot_be_measured_is_refused(hone: Client, stack: AskedStack, database: Database) -> None:
    hone.upload_dataset("unlabelled", b'{"prompt": "a", "answer": "b", "output": "b"}\n')
    stranger = stack.hone(keys.create(database, "looking", tenant="lookers").secret)
    pairwise = {"type": "pairwise", "model": "own", "task": "Which is better?"}
    for client, grader, on, field in (
            (hone, CHECK, "short_answer", "set"), (hone, CHECK, "dataset:none", "set"),
            (hone, CHECK, "dataset:\0", "set"), (hone, CHECK, "dataset:" + "x" * 400, "set"),
            (hone, {**CHECK, "name": "a\0"}, "short_answers", "grader.name"),
            (hone, CHECK, "dataset:unlabelled", "set"), (stranger, CHECK, "dataset:unlabelled", "set"),
            (hone, pairwise, "short_answers", "grader.type"),
            (hone, {**LABELS, "model": "x"}, "short_answers", "grader"),
            (hone, {"type": "stored", "name": "none"}, "short_answers", "grader.name")):
        with pytest.raises(Refused) as refused:
            client.check_grader(grader, on)
        assert field in str(refused.value)
    asked = hone.check_grader(CHECK)
    with pytest.raises(HoneError, match="no check"):
        stranger.grader_check(asked.id)
    assert not stranger.grader_checks().data


def test_a_tenant_has_a_number_of_open_checks(stack: AskedStack, database: Database) -> None:
    """Checks that have ended, and those that runs ask for, take no place; neither do another tenant's."""
    client = stack.hone(keys.create(database, "checking", tenant="checkers").secret)
    other = stack.hone(keys.create(database, "also", tenant="others").secret)

    def add(name: str, run: str | None, state: str) -> None:
        with psycopg.connect(stack.database.owner_url) as connection:
            connection.execute(
                "INSERT INTO grader_checks (id, tenant_id, run_id, number, grader, grader_hash, set_name, state,"
                " due_at) SELECT %s || n, t.id, %s, n, '{}', 'h', 'short_answers', %s, now() + interval '1 hour'"
                " FROM generate_series(1, 16) n, tenants t WHERE t.name = 'checkers'", (name, run, state))

    add("check_ended", None, "done")
    add("check_run", "run_x", "waiting")
    client.check_grader(CHECK)
    add("check_open", None, "waiting")
    with pytest.raises(HoneError, match=r"expected at most 16 \(HONE_TENANT_CHECKS\)"):
        client.check_grader(CHECK)
    other.check_grader(CHECK)


def test_a_run_s_labelled_set_is_the_tenant_s_own(hone: Client, stack: AskedStack, database: Database) -> None:
    hone.upload_dataset("labelled", b'{"prompt": "a", "output": "b", "label": true}\n'
                                    b'{"prompt": "a", "output": "c", "label": false}\n')
    run = {"name": "gated", "model": {"base": "trained"}, "task": {"environment": "sort_digits"}, "steps": 1,
           "eval": None, "grader": LABELS, "judge_check": {"set": "dataset:labelled"}}
    made = hone.create_run(run)
    assert hone.run(made.id).spec["judge_check"]["every"] == 50
    with pytest.raises(HoneError, match=made.id):
        hone.delete_dataset("labelled")
    stranger = stack.hone(keys.create(database, "gating", tenant="gaters").secret)
    for client, name in ((hone, "dataset:unknown"), (hone, "dataset:unlabelled"), (stranger, "dataset:labelled")):
        with pytest.raises(Refused, match=r"judge_check\.set"):
            client.create_run({**run, "judge_check": {"set": name}})
