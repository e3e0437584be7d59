"""The trainer-sampler gap on the probe: of what engines serve, whichever version drew a step's samples."""

from hone.store.database import Transaction
from services.learner.driver.lease import RunLease


def probe_gap(transaction: Transaction, lease: RunLease, fresh_s: float) -> dict[str, float]:
    """Return the gap of the engine that is furthest off as metrics, nats; nothing where none has answered a probe.

    Engines count that have reported within `fresh_s` seconds.
    """
    row = transaction.one("driver.probe_gap", model_id=lease.model_id, fresh_s=fresh_s)
    if row is None or row["mean"] is None:
        return {}
    return {"gap/probe_mean": row["mean"], "gap/probe_max": row["largest"]}


def warn(transaction: Transaction, lease: RunLease, step: int, metrics: dict[str, float]) -> None:
    """Record an alarm where rollouts run ahead and the gap is above the run's bound.

    Without running ahead the step's own samples tell it, which the bound is made for.
    """
    gap = metrics.get("gap/probe_mean")
    if lease.spec.max_staleness and gap is not None and gap > lease.spec.gap_alarm_nats:
        transaction.run(
            "driver.record_event", tenant_id=lease.tenant_id, run_id=lease.run_id, kind="alarm", step=step, data="{}",
            message=f"trainer-sampler gap {gap:.4f} nats a token on the probe is above {lease.spec.gap_alarm_nats}: an "
                    "engine does not compute what the trainer does")
