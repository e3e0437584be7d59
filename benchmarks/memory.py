"""Peak memory of every process of the demo.

    python -m benchmarks.memory [--seed 0] [--out FILE]

Runs `hone demo` on a state of its own and looks at its processes every second. A process's peak is the kernel's own
record of its largest resident size; a helper's (a child: a database session, a grader) is the largest of them. The
peak of all together counts a page that several processes share once.
"""

import argparse
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from benchmarks import processes, stack_run
from benchmarks.machine import provenance
from benchmarks.results import RESULTS, store
from hone.stack.supervision import Supervisor, SupervisorAway

LOOK_S = 1.0


@dataclass
class Peaks:
    """The largest sizes seen so far, MiB."""

    own: dict[str, float] = field(default_factory=dict)
    helpers: dict[str, float] = field(default_factory=dict)
    helper_counts: dict[str, int] = field(default_factory=dict)
    together: float = 0.0
    looks: int = 0

    def look(self, pids: dict[str, int]) -> None:
        """Take the present state of these processes in; those that ended meanwhile are passed over."""
        together = 0.0
        for name, pid in pids.items():
            family = _family(pid)
            together += self._look_at(self.own, name, pid)
            together += sum(self._look_at(self.helpers, name, child) for child in family)
            self.helper_counts[name] = max(self.helper_counts.get(name, 0), len(family))
        self.together, self.looks = max(self.together, together), self.looks + 1

    def _look_at(self, peaks: dict[str, float], name: str, pid: int) -> float:
        """Raise the peak of `name` to this process's, and return its present size."""
        try:
            peaks[name] = max(peaks.get(name, 0.0), processes.peak_mib(pid))
            return processes.shared_out_mib(pid)
        except psutil.NoSuchProcess:
            return 0.0

    def as_json(self) -> dict[str, Any]:
        """Return every process's figures by name."""
        found = {name: {"peak_mib": round(peak, 1), "helpers": self.helper_counts[name],
                       "largest_helper_mib": round(self.helpers.get(name, 0.0), 1)}
                for name, peak in sorted(self.own.items())}
        return {"processes": found, "together_mib": round(self.together, 1), "looks": self.looks}


def watch(command: list[str], state: Path) -> Peaks:
    """Run a command that keeps a stack in `state` and return what its processes needed. Raises CalledProcessError."""
    peaks, supervisor = Peaks(), Supervisor(state)
    with subprocess.Popen(command) as running:
        while running.poll() is None:
            peaks.look(_stack(supervisor))
            time.sleep(LOOK_S)
    if running.returncode:
        raise subprocess.CalledProcessError(running.returncode, command)
    return peaks


def _family(pid: int) -> list[int]:
    try:
        return processes.children(pid)
    except psutil.NoSuchProcess:
        return []


def _stack(supervisor: Supervisor) -> dict[str, int]:
    try:
        return {one.name: one.pid for one in supervisor.processes() if one.pid}
    except SupervisorAway:
        return {}


def main() -> None:
    """Run the demo, measure it and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=RESULTS / "memory.json")
    args = parser.parse_args()
    began = provenance()
    with stack_run.scratch() as scratch:
        demo = [str(Path(sys.executable).with_name("hone")), "demo", "--state", str(scratch), "--seed", str(args.seed)]
        peaks = watch(demo, scratch)
    store(args.out, {**began, **peaks.as_json(), "raw": vars(peaks)})


if __name__ == "__main__":
    main()
