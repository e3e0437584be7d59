"""Crash points: named places where a test may kill a process, to prove that nothing is lost there.

A file with a point's name in the directory HONE_CRASH_DIR arms the point. The first process that reaches it moves the
file to `hit/` and dies by SIGKILL, or gets the signal that the file names: SIGSTOP freezes it there. Without the
variable a point costs one comparison.
"""

import os
import signal
import threading
from pathlib import Path

_DIRECTORY = os.environ.get("HONE_CRASH_DIR")

POINTS = {
    "driver": ["groups.row-hint", "step.before-row", "step.row-hint"],
    "trainer": ["optimizer-commit", "checkpoint.mid", "version.object-row", "commit.after"],
    "rollout": ["claim.after", "call-journal", "journal.after", "part.object-row", "ready.after"],
    "inference": ["weights.mid-load", "generate.mid"],
    "reward": ["grade.before-row", "grade.after-row"],
    "value": ["allocate.mid"],
    "simulation": ["reset.mid"],
    "gateway": ["run.row-answer"],
}
"""Every point by the kind of process that passes it. The kill tests go through this table."""

DELETION_POINTS = {"driver": ["deletion.rows-objects"]}
"""Points that only a deletion passes."""

TURN_POINTS = {"simulation": ["turn.before", "turn.after"]}
"""Points that only runs with several turns pass."""

WAVE_POINTS = {"rollout": ["wave.before-row", "wave.after-row"]}
"""Points that only runs with rollouts on demand pass."""

SINK_POINTS = {"sinks": ["sink.written"]}
"""Points of the process that runs only if HONE_SINKS names a sink."""


def reach(point: str) -> None:
    """Die here, once, if a test armed `point`; otherwise do nothing."""
    if _DIRECTORY is not None:
        _die_if_armed(Path(_DIRECTORY), point)


def _die_if_armed(directory: Path, point: str) -> None:
    hit = directory / "hit"
    try:
        hit.mkdir(exist_ok=True)
        note = (directory / point).rename(hit / f"{point}.{os.getpid()}")
    except FileNotFoundError:
        return
    # To this thread: another thread might handle a signal to the process, while this thread goes on for a while.
    signal.pthread_kill(threading.get_ident(), signal.Signals[note.read_text().strip() or "SIGKILL"])
