"""Self-verify on a real Postgres: the task of each step, the judged items, and that all of it follows from rows."""

from collections import Counter
from pathlib import Path
from typing import Any

import psycopg
import pytest

from services.learner.driver.verification import NothingToJudge
from tests.integration.learner.loop import Loop, Row, chance

PROMPTS, SAMPLES, INTERVAL = 6, 4, 3
GENERATED = ["generate"] * INTERVAL
WORDING = {"template": "{question}{judged}?", "verdict": "word", "yes_text": "+", "no_text": "-"}


def answered(group: Row, index: int, right: float = 0.5) -> tuple[str, float, str]:
    """Answer a task rightly this often, and judge at random; one answer in ten is none."""
    drawn = chance(group, index)
    if group["kind"] == "verify":
        said = "+" if drawn < 0.5 else "-"
        correct = (said == "+") == (group["item"]["label"] == "Yes")
        return said, correct * min(group["item"]["rho"], 0.5), "ok"
    if drawn > 0.9:
        return "", 0.0, "no_answer"
    return (group["item"]["answer"], 1.0, "ok") if drawn < right else (f"wrong {index}", 0.0, "ok")


def always_right(group: Row, index: int) -> tuple[str, float, str]:  # noqa: ARG001 — the shape of an answer
    return group["item"]["answer"], 1.0, "ok"


@pytest.fixture
def loop(postgres_url: str, postgres_owner_url: str, tmp_path: Path) -> Any:
    def made(
        steps: int, answer: Any = answered, builder: str = "self_verify", prompts: int = PROMPTS, **params: Any,
    ) -> Loop:
        params = {**WORDING, "interval": INTERVAL, **params} if builder == "self_verify" else {}
        return Loop(postgres_url, postgres_owner_url, tmp_path, answer, steps=steps, seed=5,
                    batch={"prompts": prompts, "samples": SAMPLES},
                    algorithm={"preset": "self_verify", "builder": {"name": builder, "params": params}})
    return made


def kinds(loop: Loop) -> list[str]:
    return [plan["kind"] for plan in loop.steps()]


def items(loop: Loop) -> dict[tuple[int, int], Row]:
    """Return the collected items by their ids, with the request and the answer that each is about."""
    found = loop.all(
        "SELECT i.version, i.place, i.body, g.request_no, g.purpose, g.step, t.score, t.status FROM collection_items i "
        "JOIN groups g ON g.id = (i.body -> 'source' ->> 0)::bigint "
        "JOIN trajectories t ON t.group_id = g.id AND t.index = (i.body -> 'source' ->> 1)::int "
        "WHERE i.run_id = %s ORDER BY i.version, i.place", loop.rows.run_id)
    return {(row["version"], row["place"]): row for row in found}


def states(loop: Loop) -> dict[int, Row]:
    return {row["version"]: row["state"] for row in loop.all(
        "SELECT version, state FROM collections WHERE run_id = %s ORDER BY version", loop.rows.run_id)}


def metrics(loop: Loop, name: str) -> dict[int, float]:
    return {row["step"]: row["value"] for row in loop.all(
        "SELECT step, value FROM metrics WHERE run_id = %s AND name = %s ORDER BY step", loop.rows.run_id, name)}


def warnings(loop: Loop) -> list[tuple[int, Row]]:
    return [(row["step"], row["data"]) for row in loop.all(
        "SELECT step, data FROM events WHERE run_id = %s AND kind = 'mostly_duplicates' ORDER BY id",
        loop.rows.run_id)]


def test_every_interval_of_answers_a_batch_of_judgements_is_trained(loop: Any) -> None:
    run = loop(9)
    assert run.go() == "succeeded"
    assert kinds(run) == [*GENERATED, "verify", *GENERATED, "verify", "generate"]
    collected, state = items(run), states(run)
    assert state.keys() == {1, 2, 3, 5, 6, 7, 9}, "a version with each step of answers"
    assert {version: len(one["buffer"]) for version, one in state.items()} == {
        version: sum(key[0] in since for key in collected)
        for version, since in {1: [1], 2: [1, 2], 3: [3], 5: [3, 5], 6: [3, 5, 6], 7: [7], 9: [7, 9]}.items()}
    for step, sources in ((4, {1, 2}), (8, {3, 5, 6})):
        plan = run.steps()[step - 1]
        judged = [tuple(key) for key in plan["collected"]["items"]]
        assert plan["collected"]["version"] == step - 1
        assert {version for version, _ in judged} <= sources, "of the steps before the one that opened the phase"
        assert len(set(judged)) == len(judged) == min(2 * (PROMPTS // 2), sum(key[0] in sources for key in collected))


def test_items_are_balanced_and_say_what_was_graded(loop: Any) -> None:
    run = loop(4)
    run.go()
    collected = items(run)
    assert len(collected) > 2
    for (version, _), row in collected.items():
        assert (row["status"], row["step"]) == ("ok", version)
        assert (row["body"]["label"] == "Yes") == (row["score"] >= 0.5)
    for version in {version for version, _ in collected}:
        labels = Counter(row["body"]["label"] for key, row in collected.items() if key[0] == version)
        assert labels["Yes"] == labels["No"]
    assert any(row["body"]["prompt"].endswith("=wrong 1?") for row in collected.values()), "answers, not reasoning"


def test_a_judgement_is_a_group_of_its_own_for_its_own_grader(loop: Any) -> None:
    run = loop(4)
    run.go()
    plan, collected = run.steps()[3], items(run)
    groups = run.all("SELECT * FROM groups WHERE run_id = %s AND kind = 'verify' ORDER BY request_no", run.rows.run_id)
    assert [group["group_id"] for group in plan["groups"]] == [group["id"] for group in groups]
    assert [group["request_no"] for group in groups] == list(range(3 * PROMPTS, 3 * PROMPTS + len(groups)))
    for group, key in zip(groups, plan["collected"]["items"], strict=True):
        body = collected[tuple(key)]["body"]
        order = group["order"]
        assert (group["purpose"], group["state"], order["n"], order["grader"]) == ("train", "used", SAMPLES, None)
        assert order["task"]["environment"] == "verification"
        assert order["task"]["item"] == {**body, "collected": key}
        assert order["task"]["params"]["grader"] == {
            "type": "verdict", "verdict": "word", "yes_text": "+", "no_text": "-", "cap": 0.5}


def test_each_kind_of_step_has_its_own_curves(loop: Any) -> None:
    run = loop(5)
    run.go()
    assert metrics(run, "reward/mean").keys() == {1, 2, 3, 5}
    assert metrics(run, "verify/reward/mean").keys() == {4}
    assert metrics(run, "verify/items").keys() == {1, 2, 3, 5}
    assert metrics(run, "groups/expired").keys() == {1, 2, 3, 4, 5}
    scores = [row["score"] for row in run.all(
        "SELECT score FROM trajectories t JOIN groups g ON g.id = t.group_id WHERE g.run_id = %s AND kind = 'verify'",
        run.rows.run_id)]
    assert metrics(run, "verify/verdict_accuracy")[4] == pytest.approx(sum(each > 0 for each in scores) / len(scores))
    assert metrics(run, "verify/unparsable_verdicts")[4] == 0


@pytest.mark.parametrize(("mode", "steps"), [("verify_alter", 5), ("self_verify", 2)])
@pytest.mark.parametrize("restarts", [False, True])
def test_a_batch_that_mostly_repeats_itself_is_warned_of_once(
    loop: Any, mode: str, steps: int, restarts: bool,
) -> None:
    def one_question(group: Row, index: int) -> tuple[str, float, str]:
        if group["kind"] == "verify":
            return answered(group, index)
        right = group["request_no"] % 10 == 0 and index < SAMPLES // 2
        return (group["item"]["answer"], 1.0, "ok") if right else (f"wrong {index}", 0.0, "ok")

    run = loop(steps, one_question, prompts=10, mode=mode)
    run.go(restarts=restarts)
    collected = sorted({version for version, _ in items(run)})
    assert len(collected) >= 2
    assert warnings(run) == [(version, {"share": pytest.approx(0.6)}) for version in collected], "4 answers, 10 items"
    assert metrics(run, "verify/mostly_duplicates") == dict.fromkeys(collected, 1.0)


def test_a_batch_with_few_repetitions_is_not_warned_of(loop: Any) -> None:
    run = loop(3)
    run.go()
    assert all(share <= 0.5 for share in metrics(run, "verify/duplicate_share").values())
    assert warnings(run) == []


def history(run: Loop) -> Any:
    """Return the steps, items and tasks of a run, without the ids that only its rows have."""
    number = {row["id"]: row["request_no"] for row in run.all(
        "SELECT id, request_no FROM groups WHERE run_id = %s", run.rows.run_id)}
    plans = [(plan["kind"], plan["collected"], [number[group["group_id"]] for group in plan["groups"]],
              [group["rewards"] for group in plan["groups"]]) for plan in run.steps()]
    bodies = {key: {**row["body"], "source": [row["request_no"], row["body"]["source"][1]]}
              for key, row in items(run).items()}
    tasks = run.all("SELECT purpose, request_no, task_hash FROM groups WHERE run_id = %s ORDER BY 1, 2",
                    run.rows.run_id)
    return plans, bodies, tasks, states(run)


@pytest.mark.parametrize(("mode", "more"), [
    ("verify_alter", {"looplen": 2}), ("self_verify", {}), ("verify_init", {"init_steps": 2}),
])
def test_a_new_driver_at_every_move_changes_nothing(loop: Any, mode: str, more: dict[str, int]) -> None:
    undisturbed = loop(8, mode=mode, **more)
    undisturbed.go()
    disturbed = loop(8, mode=mode, **more)
    disturbed.go(restarts=True)
    assert history(disturbed) == history(undisturbed)
    assert kinds(disturbed) == {
        "verify_alter": [*GENERATED, "verify", "verify", *GENERATED], "self_verify": ["verify"] * 8,
        "verify_init": ["verify"] * 2 + ["generate"] * 6}[mode]


def test_with_an_interval_beyond_its_steps_a_run_is_one_of_rollouts(loop: Any) -> None:
    judging = loop(4, interval=5)
    judging.go()
    plain = loop(4, builder="rollouts")
    plain.go()
    (plans, _, tasks, _), (others, _, other_tasks, _) = history(judging), history(plain)
    assert (plans, tasks) == (others, other_tasks)


def test_without_wrong_answers_nothing_is_judged_and_the_run_goes_on(loop: Any) -> None:
    run = loop(7, always_right)
    assert run.go() == "succeeded"
    assert kinds(run) == ["generate"] * 7
    assert items(run) == {}


def test_answers_that_are_only_judged_train_nothing(loop: Any) -> None:
    run = loop(3, mode="self_verify")
    run.go()
    purposes = run.all("SELECT kind, purpose, state, count(*) AS groups FROM groups WHERE run_id = %s "
                       "GROUP BY 1, 2, 3 ORDER BY 1", run.rows.run_id)
    sampled, judged = purposes
    assert (sampled["kind"], sampled["purpose"], sampled["state"]) == ("generate", "probe", "used")
    assert (judged["kind"], judged["purpose"], judged["state"]) == ("verify", "train", "used")
    probes = {row["id"] for row in run.all("SELECT id FROM groups WHERE run_id = %s AND purpose = 'probe'",
                                           run.rows.run_id)}
    assert not probes & {group["group_id"] for plan in run.steps() for group in plan["groups"]}
    assert metrics(run, "reward/mean").keys() == metrics(run, "verify/reward/mean").keys() == {1, 2, 3}
    assert all(one["first"] == version and one["buffer"] == [] for version, one in states(run).items())


def test_answers_are_sampled_until_some_are_wrong(loop: Any) -> None:
    def late(group: Row, index: int) -> tuple[str, float, str]:
        return (always_right if group["kind"] == "generate" and group["request_no"] < 2 * PROMPTS else answered)(
            group, index)

    run = loop(1, late, mode="self_verify")
    assert run.go() == "succeeded"
    assert run.one("SELECT count(*) FROM groups WHERE run_id = %s AND purpose = 'probe'",
                   run.rows.run_id) == 3 * PROMPTS


def test_a_task_that_is_always_answered_rightly_cannot_be_judged(loop: Any) -> None:
    run = loop(1, always_right, mode="self_verify", max_batches=2)
    with pytest.raises(NothingToJudge, match=f"{2 * PROMPTS} groups of answers"):
        run.go()


def test_a_tenant_sees_its_own_collections_and_writes_none(loop: Any, gateway_postgres_url: str) -> None:
    one, other = loop(1), loop(1)
    for run in (other,):
        run.go()
    with psycopg.connect(gateway_postgres_url) as connection:
        for run, seen in ((one, 0), (other, 1)):
            connection.execute("SELECT set_config('hone.tenant', %s, false)", (run.rows.tenant_id,))
            found = connection.execute("SELECT count(DISTINCT c.version) FROM collections c "
                                       "JOIN collection_items USING (run_id, name, version)").fetchone()
            assert found == (seen,)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("DELETE FROM collection_items")


def test_collected_items_never_change(loop: Any, postgres_url: str) -> None:
    run = loop(1)
    run.go()
    with psycopg.connect(postgres_url) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("UPDATE collection_items SET body = '{}'")
