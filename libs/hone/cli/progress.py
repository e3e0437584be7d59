"""Live view of a run: step, reward, held-out accuracy, speed, trainer-sampler gap, time left."""

import threading
import time
from datetime import UTC, datetime

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from hone.client import Client
from hone.client.resources import ENDED, Run

_LOOK_S = 0.5
_SHOWN = (("reward", "reward/mean"), ("right verdicts", "verify/verdict_accuracy"),
          ("held-out, sampled", "eval/sampled"), ("held-out, greedy", "eval/greedy"),
          ("gap, nats a token", "gap/mean"), ("learning rate", "lr"))


def follow(client: Client, run_id: str, console: Console | None = None) -> Run:
    """Show a run until it has ended and return it. Its events are printed above the view. Raises HoneError."""
    console = console or Console()
    with Live(console=console, refresh_per_second=4, transient=not console.is_terminal) as live:
        printer = threading.Thread(target=_print_events, args=[client, run_id, live.console], daemon=True)
        printer.start()
        while True:
            run = client.run(run_id)
            live.update(view(run, datetime.now(UTC)))
            if run.state in ENDED:
                printer.join(timeout=5)
                return run
            time.sleep(_LOOK_S)


def _print_events(client: Client, run_id: str, console: Console) -> None:
    for event in client.follow(run_id):
        console.print(Text(f"{event.created_at.astimezone():%H:%M:%S}  {event.message}"), soft_wrap=True)


def view(run: Run, now: datetime) -> RenderableType:
    """Return the view of a run at a moment."""
    head = Table.grid(padding=(0, 2))
    head.add_row(Text(run.name, style="bold"), run.id, Text(run.state, style="cyan"), f"step {run.step} of {run.steps}",
                 ProgressBar(total=run.steps, completed=run.step, width=30))
    facts = Table.grid(padding=(0, 3))
    facts.add_row(*(f"{name} {value}" for name, value in figures(run, now).items()))
    waiting = [Text(f"waits for {run.waiting_for}", style="yellow")] if run.waiting_for else []
    warnings = [Text(f"warning: {warning}", style="yellow") for warning in run.warnings]
    return Group(head, facts, *warnings, *waiting)


def figures(run: Run, now: datetime) -> dict[str, str]:
    """Return the figures of a run by name: latest metrics, tokens per second, time left."""
    found = {name: f"{run.metrics[metric]:.4g}" for name, metric in _SHOWN if metric in run.metrics}
    if run.started_at is None or run.step == 0:
        return found
    per_step_s = max(((run.ended_at or now) - run.started_at).total_seconds(), 1e-9) / run.step
    if "completion/tokens" in run.metrics:
        found["tokens/s"] = f"{run.metrics['completion/tokens'] / per_step_s:.0f}"
    if run.ended_at is None:
        found["left"] = _duration(per_step_s * (run.steps - run.step))
    return found


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
