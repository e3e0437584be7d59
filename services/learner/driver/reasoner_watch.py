"""Watches rewards that a simulator of users gives: its reasoner and its fitted model should say much the same."""

from collections.abc import Sequence
from dataclasses import replace

from hone.audiences.alarm import LIMIT, WINDOW, GapAlarm
from hone.environments import merchant_strategies
from hone.environments.merchant_strategies import GAP
from hone.resolution import sources
from hone.resolution.stages import Stage
from hone.store.database import Database, Row
from services.learner.driver.decisions import PlannedStep
from services.learner.driver.reporting import Event


def watched(database: Database, stage: Stage, planned: PlannedStep) -> PlannedStep:
    """Return a planned step with the mean gap of its newest proposals as a metric, and perhaps a warning.

    A step whose tasks no simulator grades is returned as it is.
    """
    if not any(one.spec.task.environment == merchant_strategies.NAME for one in sources.of(stage.spec)):
        return planned
    parts = database.all("grades.components", group_ids=[group.group_id for group in planned.plan.groups])
    alarm, warning = gap_of(parts), of_gaps(parts, stage.name, "proposals of the step")
    return replace(planned, metrics={**planned.metrics, f"reward/{GAP}": alarm.mean},
                   warnings=[*planned.warnings, *([warning] if warning else [])])


def of_gaps(parts: Sequence[Row], of: str, named: str) -> Event | None:
    """Return the warning about samples whose grades have these components; None where both branches agree."""
    alarm = gap_of(parts)
    if not alarm.rings:
        return None
    return Event("reasoner_gap", f"the reasoner and the fitted model differ by {alarm.mean:.2f} on average about the "
                 f"newest {WINDOW} {named}, above {LIMIT}: the policy may have found where the reasoner exaggerates",
                 {"of": of, "gap": alarm.mean})


def gap_of(parts: Sequence[Row]) -> GapAlarm:
    """Return the running mean over the newest samples, by group and index."""
    alarm = GapAlarm()
    for row in sorted(parts, key=lambda row: (row["group_id"], row["index"])):
        if GAP in row["components"]:
            alarm.add([row["components"][GAP]], [0.0])
    return alarm
