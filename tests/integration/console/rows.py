"""Rows of a tenant after some weeks of work: runs over seeds, curves, samples of several turns, engines."""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from psycopg import Connection
from psycopg.types.json import Jsonb

from hone import ids
from hone.client import Client
from hone.client.resources import Run
from hone.models import toy
from hone.store import manifests
from hone.store.objects import Objects
from hone.text.tokenizer import FILES, Tokenizer
from hone.trajectory import parts
from hone.trajectory.plan import GroupPlan, StepPlan
from hone.trajectory.records import Call, Step, Trajectory, VersionSpan

STEPS, DONE = 150, 96
_PROMPT = "Sort the digits 8 3 5 1 9 2: "
_ANSWERS = ("1 2 3 5 8 9", "1 2 3 5 9 8", "1 2 3 8", "1 2 3 5 8 9")
_SCORES = (1.0, 0.0, 0.0, 1.0)

HOSTILE = "<img src=x onerror=alert(1)>"
EVIDENCE = [
    {"judge": "expert", "model": "judge-1", "answered": f'{{"result": 0.5, "why": "{HOSTILE}"}}', "asked": [
        {"role": "system", "content": "Say how good the answer is, from 0 to 1. " * 30},
        {"role": "user", "content": [{"type": "text", "text": f"1 2 3 5 8 9 {HOSTILE}"}]}]},
    {"ran": "grade", "wall_ms": 41.5, "stdout": f"compared 6 digits {HOSTILE}"}]
"""What a judge and a program left of a grade. Both write what they like."""


@dataclass(frozen=True)
class World:
    """The runs of the tenant by their purpose in tests."""

    running: Run
    failed: Run
    fresh: Run
    group: int  # of single answers
    turns: int  # of episodes of several turns


def spec(base: str, name: str, seed: int, **changes: Any) -> dict[str, Any]:
    """Return a spec that the gateway accepts."""
    return {"name": name, "seed": seed, "model": {"base": base}, "steps": STEPS, "sampling": {"max_tokens": 48},
            "task": {"environment": "sort_digits", "params": {"digits": 6}}, "batch": {"prompts": 64, "samples": 4},
            **changes}


def write(url: str, objects: Objects, hone: Client, base: str) -> World:
    """Write everything. The gateway creates the runs; their progress is written directly, as the services do."""
    algorithm = {"preset": "dapo", "builder": {"name": "self_verify"},
                 "regularizers": [{"name": "kl", "params": {"coefficient": 0.01}}]}
    family = [hone.create_run(spec(base, "sort six digits", seed, algorithm=algorithm)) for seed in range(3)]
    parts_of_reward = {"type": "weighted", "parts": {"right": {"grader": {"type": "exact"}}}}
    failed = hone.create_run(spec(base, "sort six digits, hot", 0, optimizer={"lr": 0.05}, grader=parts_of_reward,
                                  algorithm={"preset": "rdpo"}))
    fresh = hone.create_run(spec(base, "digits by turns", 7, max_staleness=2))
    hone.create_run(spec(base, "waiting for a trainer", 1, steps=20))
    with Connection.connect(url) as connection:
        tokenizer = _stored_tokenizer(objects)
        for run in family:
            last = DONE if run.id == family[0].id else STEPS
            _history(connection, run, last, tokenizer, "running" if last == DONE else "succeeded")
        _history(connection, failed, 9, tokenizer, "failed")
        group = _samples(connection, objects, family[0])
        turns = _episodes(connection, objects, family[0])
        _plan(connection, family[0], DONE, "grpo", _group_plan(family[0], group, 0, [*_SCORES, None], "exact"))
        _plan(connection, family[0], DONE - 1, "gigpo", _group_plan(family[0], turns, 1, [1.0, 0.0], "environment"))
        _engines(connection, family[0])
        _decisions(connection, family[0], base)
        connection.execute("INSERT INTO judge_spending (tenant_id, run_id, judge, answers, tokens, cost) SELECT "
                           "tenant_id, id, 'expert', 1812, 217440, 0.43 FROM runs WHERE id = %s", [family[0].id])
    _check(url, hone, family[0])
    _datasets(hone)
    hone.put_secret("provider", "the value of a secret")
    hone.put_judge("expert", "https://judge.example/v1", "judge-1", secret="provider", per_minute=600)
    hone.put_route("tasks", [{"model": base, "cost": 1}, {"model": f"{family[0].id}@{DONE}", "cost": 4}], target=0.7)
    return World(family[0], failed, fresh, group, turns)


def _check(url: str, hone: Client, run: Run) -> None:
    """Write two checks of a grader: one of a run that is done, and one that is in work."""
    done = hone.check_grader({"type": "exact", "name": "measured"})
    hone.check_grader({"type": "exact", "name": "in work"})
    counts = {"right": {"tp": 98, "fp": 0, "fn": 6, "tn": 0, "invalid": 0},
              "master_key": {"tp": 0, "fp": 3, "fn": 0, "tn": 28, "invalid": 1}}
    with Connection.connect(url) as connection:
        connection.execute(
            "UPDATE grader_checks SET state = 'done', run_id = %s, step = 50, verdicts = 'yn', counts = %s, "
            "judges = %s, seconds = 12.5, tokens = '{\"judge-1\": 27840}' WHERE id = %s",
            [run.id, Jsonb(counts), Jsonb({"expert": "https://judge.example/v1 judge-1 json_schema"}), done.id])


def _stored_tokenizer(objects: Objects) -> dict[str, Any]:
    files = toy.files(hidden=16, layers=1, heads=2, head_dim=8, ffn=32, vocab_size=128, symbols=toy.TEXT)
    return manifests.put_files(objects, "base", {name: files[name] for name in FILES if name in files})


def _history(connection: Connection, run: Run, last: int, tokenizer: dict[str, Any], state: str) -> None:
    row = connection.execute("SELECT tenant_id, key_id FROM runs WHERE id = %s", [run.id]).fetchone()
    assert row is not None
    tenant, key = row
    numbers = [0, *range(max(1, last - 5), last + 1)]
    parent = None
    for number in numbers:
        version = ids.new("ver")
        connection.execute(
            "INSERT INTO versions (id, tenant_id, model_id, seq, number, parent_id, manifest, weights_deleted_at)"
            " VALUES (%s,%s,%s,%s,%s,%s,%s, CASE WHEN %s THEN now() END)",
            [version, tenant, run.model_id, number, number, parent,
             Jsonb({"files": tokenizer, "weights_sha256": f"{(1 + number) * 0x9e3779b97f4a7c15 ** 4 % 16**64:064x}"}),
             0 < number < last - 3])
        parent = version
    connection.execute(
        "INSERT INTO steps (run_id, tenant_id, n, epoch, state, plan, group_ids, version_id, committed_at)"
        " SELECT %s, %s, n, 1, 'committed', '{}', '{}', %s, now() FROM generate_series(1, %s) n",
        [run.id, tenant, parent, last])
    connection.execute("INSERT INTO evaluations (run_id, tenant_id, step, source, series, tasks, scores) SELECT id, "
                       "tenant_id, 0, '', 'sampled', '{a,b}', '{0.25,0.5}' FROM runs WHERE id = %s", [run.id])
    points = [(name, step, value) for step in range(1, last + 1) for name, value in _metrics(run, step).items()]
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO metrics (run_id, tenant_id, name, step, value) VALUES (%s,%s,%s,%s,%s)",
                           [(run.id, tenant, *point) for point in points])
    _events(connection, tenant, run, last, state)
    for kind, amount in (("prompt_tokens", 31.0), ("completion_tokens", 1812.0), ("trained_tokens", 1604.0),
                         ("trainer_s", 1.37), ("grades", 256.0)):
        connection.execute("INSERT INTO usage (tenant_id, run_id, key_id, kind, amount) VALUES (%s,%s,%s,%s,%s)",
                           [tenant, run.id, key, kind, amount * last])
    reason = "gradient norm: found nan, expected a finite number" if state == "failed" else None
    waiting = "191 of 256 samples of step 97" if state == "running" else None
    connection.execute(
        "UPDATE runs SET state = %s, reason = %s, waiting_for = %s, started_at = now() - make_interval(secs => %s),"
        " lease_expires = now() + interval '1 day',"
        " ended_at = CASE WHEN %s THEN now() - interval '3 minutes' END WHERE id = %s",
        [state, reason, waiting, 200 + 2.1 * last, state != "running", run.id])


def _metrics(run: Run, step: int) -> dict[str, float]:
    """Return the curves of a run that learns."""
    noise = random.Random(f"{run.seed}/{step}/{run.name}").gauss
    learned = 1 / (1 + math.exp(-(step - 38 - 7 * (run.seed or 0)) / 14))
    reward = min(1.0, max(0.0, 0.48 + 0.47 * learned + noise(0, 0.02)))
    found = {
        "reward/mean": reward, "reward/masked": 0.0, "gap/mean": abs(noise(4e-4, 1e-4)),
        "gap/max": abs(noise(6e-3, 2e-3)), "gap/probe_mean": 2e-7, "gap/probe_max": 9e-7,
        "staleness/mean": abs(noise(0.4, 0.1)), "staleness/max": 1.0,
        "entropy": 1.3 - 0.9 * learned + noise(0, 0.03), "completion/mean_tokens": 11.5 + noise(0, 0.4),
        "completion/truncated": max(0.0, 0.1 - 0.1 * learned), "loss": noise(0, 0.01),
        "grad_norm": 0.4 + noise(0, 0.05), "lr": 2e-4 * (1 - step / STEPS),
        "trainer/forward_backward_s": 0.61 + noise(0, 0.03), "trainer/idle_s": 0.2 + noise(0, 0.02),
        "engine/idle_s": abs(noise(0.1, 0.02)), "trained_tokens": 2900.0 + noise(0, 90)}
    held_out = {"eval/greedy": reward + 0.02, "eval/sampled": reward - 0.01} if step % 25 == 0 or step == 1 else {}
    return found | _slots(learned, noise) | _budgets(learned) | held_out


def _budgets(learned: float) -> dict[str, float]:
    """Return metrics of rollouts that predictions decided on."""
    bands = {"0-20": (3.0, 12.4, 0.12, 0.2), "20-40": (6.0, 9.1, 0.31, 0.28), "40-60": (11.0, 6.2, 0.5, 0.55),
             "60-80": (20.0, 4.9, 0.71, 0.66), "80-100": (24.0, 4.2, 0.93, 0.97)}
    return {"rollouts/signal_share": 0.4 + 0.2 * learned, "value/used_share": 0.97,
            "value/predicted": 0.4 + learned / 2, "value/actual": 0.42 + learned / 2,
            **{f"value/band/{band}/{name}": value for band, values in bands.items()
               for name, value in zip(("groups", "rollouts", "expected", "actual"), values, strict=True)}}


def _slots(learned: float, noise: Callable[[float, float], float]) -> dict[str, float]:
    """Return metrics of every slot of a step, and one metric that no release knows."""
    return {
        "filtered_groups": round(20 + 30 * learned), "rejected_rewards": 0.0,
        "overlong_samples": round(9 - 8 * learned), "advantage/groups": 64.0,
        "advantage/zero_share": abs(noise(0.04, 0.01)),
        "advantage/zero_variance_groups": float(round(3 + noise(0, 1))), "skipped_groups": 0.0,
        "correction/weight_mean": 1 + noise(0, 2e-4), "correction/weight_max": 1.4 + abs(noise(0, 0.1)),
        "correction/truncated_fraction": abs(noise(2e-3, 5e-4)), "loss/ratio_mean": 1 + noise(0, 1e-3),
        "loss/ratio_p05": 0.93 + noise(0, 6e-3), "loss/ratio_p50": 1 + noise(0, 1e-3),
        "loss/ratio_p95": 1.08 + noise(0, 6e-3), "loss/clip_fraction": abs(noise(0.012, 3e-3)),
        "trained/mask_share": 0.18 + noise(0, 0.01), "regularizers/kl.0/mean": 0.06 * learned + abs(noise(0, 2e-3)),
        "critic/loss": 0.3 * (1 - learned) + abs(noise(0.02, 6e-3)), "critic/explained_variance": 0.8 * learned,
        "verify/items": 64.0, "verify/reward/mean": 0.55 + 0.3 * learned + noise(0, 0.02),
        "verify/loss/clip_fraction": abs(noise(0.01, 2e-3)), "storage/read_s": abs(noise(0.03, 4e-3)),
        "weather/clouds": 3 + noise(0, 0.5)}


def _events(connection: Connection, tenant: str, run: Run, last: int, state: str) -> None:
    events: list[tuple[str, int | None, str]] = [
        ("step", step, f"step {step} was committed: reward {_metrics(run, step)['reward/mean']:.3f}")
        for step in range(max(1, last - 8), last + 1)]
    events.insert(-2, ("evaluated", last - 2, "held-out accuracy after step 94: greedy 0.935, sampled 0.918"))
    events.insert(-4, ("expired", last - 4, "group 4711 was given up: not ready within 600 s; another was asked for"))
    if state != "running":
        events.append((state, None, "gradient norm: found nan, expected a finite number" if state == "failed" else
                     f"run {state}"))
    for kind, step, message in events:
        connection.execute("INSERT INTO events (tenant_id, run_id, kind, step, message) VALUES (%s,%s,%s,%s,%s)",
                           [tenant, run.id, kind, step, message])


def _group(connection: Connection, run: Run, number: int, count: int, grader: str) -> tuple[str, int, str]:
    row = connection.execute(
        "INSERT INTO groups (tenant_id, run_id, purpose, request_no, step, task_hash, \"order\","
        " model_id, deadline) SELECT tenant_id, id, 'train', %s, %s, %s, %s, policy_model_id, now()"
        " FROM runs WHERE id = %s RETURNING tenant_id, id",
        [number, DONE, "5f0c" * 16, Jsonb({"n": count, "grader": {"type": grader}}), run.id]).fetchone()
    version = connection.execute("SELECT id FROM versions WHERE model_id = %s ORDER BY number DESC LIMIT 1",
                                 [run.model_id]).fetchone()
    assert row is not None
    assert version is not None
    return row[0], row[1], version[0]


def _tokenizer() -> Tokenizer:
    return Tokenizer(toy.files(hidden=16, layers=1, heads=2, head_dim=8, ffn=32, vocab_size=128, symbols=toy.TEXT))


def _call(index: int, prompt: list[int], text: str, version: str, **changes: Any) -> Call:
    tokenizer = _tokenizer()
    ids_of = [*tokenizer.encode(text), tokenizer.eos_id]
    drawn = random.Random(f"{index}{text}")
    logps = [-abs(drawn.gauss(0, 1.1)) if letter != " " else -0.02 for letter in [*text, "."]]
    return Call(index, prompt, ids_of, logps, "stop", [VersionSpan(version, len(ids_of))], text, [True] * len(ids_of),
                turn=index, **changes)


def _samples(connection: Connection, objects: Objects, run: Run) -> int:
    """Write a group of single answers, one of them masked."""
    tenant, group, version = _group(connection, run, 0, 5, "exact")
    prompt, found = _tokenizer().encode(_PROMPT), []
    for index, answer in enumerate((*_ANSWERS, "1 2 3 " * 12)):
        call = _call(0, prompt, answer, version)
        score = _SCORES[index] if index < len(_SCORES) else None
        step = Step(0, 0, answer, [], "aa", "bb", valid=True)
        found.append(Trajectory(
            group, index, 0, {"environment": "sort_digits", "params": {"digits": 6}, "seed": 12}, "5f0c" * 16,
            {"prompt": _PROMPT, "answer": _ANSWERS[0]}, [call], [step], "infra_error" if score is None else "ok", score,
            None))
    _store(connection, objects, tenant, run.id, found, "exact")
    return group


def _episodes(connection: Connection, objects: Objects, run: Run) -> int:
    """Write a group of two episodes: one of three turns with a shortened last context, and one of one turn."""
    tenant, group, version = _group(connection, run, 1, 2, "environment")
    tokenizer = _tokenizer()
    first = _call(0, tokenizer.encode("You may call query: <sql>\nHow many albums are there?\n"),
                  "query: SELECT count(*) FROM album", version)
    second = _call(1, [*first.prompt_ids, *first.completion_ids, *tokenizer.encode("\nno such table: album\n")],
                   "query: SELECT count(*) FROM albums", version)
    shortened = ("You may call query: <sql>\nHow many albums are there?\n(earlier turns left out)\n"
                 "query: SELECT count(*) FROM albums\n347\n")
    third = _call(2, tokenizer.encode(shortened), "There are 347 albums.", version)
    said = [[{"role": "tool", "content": "no such table: album"}], [{"role": "tool", "content": "347"}], []]
    steps = [Step(place, place, call.text, said[place], "aa", "bb", valid=place != 0, effect=False,
                  reward=1.0 if place == 2 else 0.0) for place, call in enumerate((first, second, third))]
    sample = Trajectory(group, 0, 1, {"environment": "sqlite", "seed": 3}, "5f0c" * 16,
                        {"prompt": "How many albums are there?", "answer": "347"}, [first, second, third], steps, "ok",
                        1.0, None, harness="tool_loop")
    given_up = replace(sample, index=1, calls=[first], steps=steps[:1], score=0.0)
    _store(connection, objects, tenant, run.id, [sample, given_up], "environment")
    return group


def _store(
    connection: Connection, objects: Objects, tenant: str, run_id: str, samples: list[Trajectory], grader: str,
) -> None:
    part = _part(run_id, grader)
    objects.put(part, parts.encode(samples))
    for row, sample in enumerate(samples):
        tokens = sum(len(call.completion_ids) for call in sample.calls)
        connection.execute(
            "INSERT INTO trajectories (group_id, index, tenant_id, run_id, part, row, prompt_tokens, completion_tokens,"
            " finish_reason, status, score, preview) VALUES (%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s)",
            [sample.group_id, sample.index, tenant, run_id, part, row, len(sample.calls[0].prompt_ids), tokens, "stop",
             sample.status, sample.score, sample.calls[-1].text])
        for component in ("", "format"):
            connection.execute(
                "INSERT INTO grades (tenant_id, run_id, group_id, index, grader_hash, component, status, value,"
                " reasons, extracted, decided_by, cost_ms, error, tokens, evidence)"
                " VALUES (%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s)",
                [tenant, run_id, sample.group_id, sample.index, "9a" * 32, component, sample.status, sample.score,
                 ["the reward process ended while it graded"] if sample.score is None else [],
                 sample.calls[-1].text, grader, 0.21, "" if sample.score is not None else "other_error",
                 Jsonb({} if component else {"judge-1": 120}), Jsonb([] if component else EVIDENCE)])


def _part(run_id: str, grader: str) -> str:
    return f"runs/{run_id}/parts/{grader}.parquet"


def _plan(connection: Connection, run: Run, step: int, estimator: str, group: GroupPlan) -> None:
    """Store a plan of a step over the group."""
    plan = StepPlan(
        n=step, builder="rollouts", parts=group.parts, groups=[group], lr=1e-3, clip_norm=1.0, temperature=1.0,
        slots={"advantage": {"name": estimator, "params": {}}}, max_tokens=48)
    connection.execute("UPDATE steps SET plan = %s, group_ids = %s WHERE run_id = %s AND n = %s",
                       [plan.model_dump_json(), [group.group_id], run.id, step])


def _group_plan(run: Run, group: int, number: int, rewards: list[float | None], part: str) -> GroupPlan:
    return GroupPlan(group_id=group, request_no=number, task_hash="5f0c", parts=[_part(run.id, part)],
                     grade_ids=[None] * len(rewards), rewards=rewards)


def _engines(connection: Connection, run: Run) -> None:
    connection.execute(
        "INSERT INTO engines (id, address, kind, load) VALUES ('inference-0', '127.0.0.1:9', 'native', 0.62)")
    connection.execute(
        "INSERT INTO engine_models (engine_id, model_id, version_id, loads, generated_tokens, generated_samples,"
        " computed_s, loaded_at) SELECT 'inference-0', %s, id, 97, 173952, 24832, 61.5, now() FROM versions"
        " WHERE model_id = %s ORDER BY number DESC LIMIT 1", [run.model_id, run.model_id])
    for kind in ("trainer", "rollout"):
        connection.execute("INSERT INTO workers (id, kind) VALUES (%s, %s)", [f"{kind}-0", kind])


def _decisions(connection: Connection, run: Run, base: str) -> None:
    """Write what a route decided: one by its prediction with feedback, one explored."""
    considered = [{"model": base, "cost": 1.0, "p": 0.81, "score": 1.75, "rows": 120},
                  {"model": f"{run.id}@{DONE}", "cost": 4.0, "p": 0.93, "score": 1.0, "rows": 96}]
    for explored, reason in ((False, "cheapest with a predicted success of at least 0.7: 0.810, cost 1"),
                             (True, "explored: 0.05 of the answers are drawn among all 2 candidates")):
        id = ids.new("chatcmpl")
        connection.execute(
            "INSERT INTO decisions (id, tenant_id, route, prompt, model, subject_id, objective, considered, reason,"
            " explored, propensity, prompt_tokens, completion_tokens) SELECT %s, tenant_id, 'tasks', %s, %s, %s, %s,"
            " %s, %s, %s, 0.975, 31, 12 FROM runs WHERE id = %s",
            [id, _PROMPT, base, base, Jsonb({"target": 0.7}), Jsonb(considered), reason, explored, run.id])
        if not explored:
            connection.execute("INSERT INTO feedback (decision_id, tenant_id, subject_id, score, comment) SELECT id,"
                               " tenant_id, subject_id, 1, 'right' FROM decisions WHERE id = %s", [id])


def beat(url: str) -> None:
    """Renew the heartbeats of the engine and the workers."""
    with Connection.connect(url) as connection:
        for table in ("engines", "workers"):
            connection.execute(f"UPDATE {table} SET heartbeat_at = now()")


def _datasets(hone: Client) -> None:
    good = b'{"prompt": "2 + 2 =", "answer": "4"}\n' * 40
    bad = b'{"prompt": "2 + 3 ="}\n{"answer": "6"}\n{"prompt": 7, "answer": "7"}\nnot json\n'
    hone.upload_dataset("sums", good + bad, allow_bad_rows=True)
    hone.upload_dataset("demonstrations", b'{"prompt": "9 1 =", "completion": "1 9"}\n' * 12)
