"""Offers on a real Postgres: what a step's samples offer is read by groups that are requested once it has committed."""

from pathlib import Path
from typing import Any

import pytest

from hone.harnesses.catalogue import HARNESSES
from hone.harnesses.contract import HarnessParams
from hone.store.database import Database
from tests.integration.learner.loop import Loop, Row, chance


class Noting:
    """A harness that reads and offers to `tips`. Nothing plays it here."""

    summary, params, collections = "For tests.", HarnessParams, frozenset({"tips"})


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch, postgres_url: str, postgres_owner_url: str, tmp_path: Path) -> Any:
    monkeypatch.setitem(HARNESSES, "noting", Noting())  # type: ignore[arg-type]
    database = Database(postgres_url)

    def read(group: Row) -> list[Row]:
        pinned = group["order"]["collections"]
        return database.all("collections.read", run_id=group["run_id"], names=list(pinned),
                            versions=list(pinned.values()), most=5)

    def notes(group: Row, index: int) -> Row:
        """Offer how many items of which versions were read; the second sample of a group is masked."""
        item = {"by": [group["purpose"], group["request_no"], index], "read": [one["id"] for one in read(group)]}
        return {"offers": [{"collection": "tips", "item": item}]}

    def answered(group: Row, index: int) -> tuple[str, float | None, str]:
        return ("", None, "infra_error") if index == 1 else ("", float(chance(group, index) > 0.5), "ok")

    def made(**spec: Any) -> Loop:
        return Loop(postgres_url, postgres_owner_url, tmp_path, answered, notes=notes,  # type: ignore[arg-type]
                    batch={"prompts": 2, "samples": 3}, harness={"name": "noting"}, seed=5, **spec)
    return made


def collected(run: Loop) -> list[tuple[str, Row]]:
    return [(row["id"], row["body"]) for row in run.all(
        "SELECT version || '.' || place AS id, body FROM collection_items WHERE run_id = %s ORDER BY version, place",
        run.rows.run_id)]


def pinned(run: Loop) -> list[tuple[str, int, Row]]:
    return [(row["purpose"], row["step"], row["pinned"]) for row in run.all(
        "SELECT DISTINCT purpose, step, (\"order\" -> 'collections')::jsonb AS pinned FROM groups WHERE run_id = %s "
        "ORDER BY 1, 2", run.rows.run_id)]


@pytest.mark.parametrize("restarts", [False, True])
def test_offers_of_a_step_are_read_by_groups_that_are_requested_after_it(loop: Any, restarts: bool) -> None:
    run = loop(steps=3, eval={"every": 3, "prompts": 1, "samples": 1})
    assert run.go(restarts=restarts) == "succeeded"
    assert pinned(run) == [
        ("eval", 0, {"tips": 0}), ("eval", 3, {"tips": 3}),
        *(("train", step, {"tips": step - 1}) for step in (1, 2, 3))]
    ids = [f"{step}.{place}" for step in (1, 2, 3) for place in range(4)]
    assert collected(run) == [
        (ids[4 * step + 2 * prompt + place], {"by": ["train", 2 * step + prompt, index],
                                              "read": ids[max(0, 4 * step - 5):4 * step]})
        for step in range(3) for prompt in range(2) for place, index in enumerate((0, 2))]
    assert [row["value"] for row in run.all(
        "SELECT value FROM metrics WHERE run_id = %s AND name = 'collection/tips/items'", run.rows.run_id)] == [4] * 3


def test_groups_ahead_of_the_trainer_read_committed_steps_alone(loop: Any) -> None:
    run = loop(steps=5, max_staleness=2)
    assert run.go() == "succeeded"
    sure = run.all(
        "SELECT pinned.version, g.step, g.created_at > s.committed_at AS late FROM groups g CROSS JOIN LATERAL ("
        "SELECT (g.\"order\" -> 'collections' ->> 'tips')::int AS version) pinned LEFT JOIN steps s "
        "ON s.run_id = g.run_id AND s.n = pinned.version WHERE g.run_id = %s", run.rows.run_id)
    assert {row["late"] for row in sure if row["version"]} == {True}
    assert all(row["version"] == row["step"] - 1 for row in sure), "a step is the one after the last committed"
