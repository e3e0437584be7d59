"""Predictions that order nothing raise one alarm, and are a gauge that can be alerted on."""

import psycopg

from hone.store.database import Database
from services.learner.driver import lease as leases
from services.learner.driver.reporting import LOW_STEPS, record_metrics, watch_predictions
from tests.integration.learner.rows import OWNER_A, add_run, add_step


def test_an_alarm_after_twenty_steps_and_a_gauge_meanwhile(postgres_url: str, postgres_owner_url: str) -> None:
    run, database = add_run(postgres_owner_url), Database(postgres_url, size=1)
    lease = leases.acquire(database, OWNER_A, lease_s=600)
    assert lease is not None
    low = list[float | None]()
    with database.transaction() as transaction:
        for step in range(1, 51):
            metrics = {} if step == 5 else {"value/auc": 0.9 if step in (3, 27) else 0.54}
            metrics |= watch_predictions(transaction, lease, step, metrics)
            record_metrics(transaction, lease, step, metrics)
            low.append(metrics.get("value/low_steps"))
    assert low[:8] == [1, 2, 0, 1, None, 2, 3, 4]
    assert (low[23], low[26], low[46], low[49]) == (20, 0, 20, 23)
    with psycopg.connect(postgres_owner_url) as connection:
        events = connection.execute(
            "SELECT step, message FROM events WHERE run_id = %s AND kind = 'alarm' ORDER BY id", [run.run_id],
        ).fetchall()
    assert [step for step, _ in events] == [24, 47]
    assert f"for {LOW_STEPS} steps predictions of success have ordered less than 55% of the pairs" in events[0][1]
    add_step(postgres_owner_url, run, 50, "committed")
    [gauge] = [row for row in database.all("gauges.open_runs") if row["run"] == run.run_id]
    assert float(gauge["low_predictions"]) == 23
    database.close()
