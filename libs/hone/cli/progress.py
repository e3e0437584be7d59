"""Live view of a run: step, reward, held-out accuracy, speed, trainer-sampler gap, time left."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from hone.client import Client
from hone.client.resources import ENDED, Run

_LOOK_S = 0.5
_OF_EVALUATION = (("held-out, sampled", "eval/sampled"), ("held-out, greedy", "eval/greedy"))
_OF_STEP = (("reward", "reward/mean"), ("right verdicts", "verify/verdict_accuracy"),
            ("gap, nats a token", "gap/mean"), ("learning rate", "lr"))
_SHOWN = (*_OF_STEP[:2], *_OF_EVALUATION, *_OF_STEP[2:])


def follow(client: Client, run_id: str, console: Console | None = None) -> Run:
    """Show a run until it has ended and return it: as a view with its events above, away from a terminal as lines.

    Raises HoneError.
    """
    console = console or Console()
    if not console.is_terminal:
        lines = StepLines(client, run_id)
        return _followed(client, run_id, console, lambda run: _say(console, lines.new(run)))
    with Live(console=console, refresh_per_second=4) as live:
        return _followed(client, run_id, live.console, lambda run: live.update(view(run, datetime.now(UTC))))


def _followed(client: Client, run_id: str, console: Console, show: Callable[[Run], object]) -> Run:
    """Show a run again and again until it has ended, and print its events beside. Return the ended run."""
    printer = threading.Thread(target=_print_events, args=[client, run_id, console], daemon=True)
    printer.start()
    while True:
        run = client.run(run_id)
        show(run)
        if run.state in ENDED:
            printer.join(timeout=5)
            return run
        time.sleep(_LOOK_S)


class StepLines:
    """A run as lines: one for each committed step, one for each evaluation, and one whenever it rests or goes on."""

    def __init__(self, client: Client, run_id: str) -> None:
        self._client, self._run_id = client, run_id
        self._step, self._evaluated, self._rest = 0, -1, ""

    def new(self, run: Run) -> Iterator[str]:
        """Yield the lines that this state of the run adds to those before."""
        if run.step > self._step:
            series = self._client.metrics(self._run_id, [metric for _, metric in _OF_STEP], self._step).series
            for step in range(self._step + 1, run.step + 1):
                yield f"step {step} of {run.steps}  {_values(_OF_STEP, series, step)}".rstrip()
            self._step = run.step
        yield from self._evaluations()
        resting = rest(run)
        if resting != self._rest:
            yield resting or f"{run.state} again"
            self._rest = resting

    def _evaluations(self) -> Iterator[str]:
        found = self._client.metrics(self._run_id, [metric for _, metric in _OF_EVALUATION], self._evaluated).series
        for step in sorted({step for points in found.values() for step, _ in points}):
            yield f"evaluation after step {step}  {_values(_OF_EVALUATION, found, step)}"
            self._evaluated = step


def _values(
    names: Iterable[tuple[str, str]], series: Mapping[str, Sequence[tuple[int, float]]], step: int,
) -> str:
    found = ((name, dict(series.get(metric, ())).get(step)) for name, metric in names)
    return "  ".join(f"{name} {value:.4g}" for name, value in found if value is not None)


def rest(run: Run) -> str:
    """Return why a run that is paused or queued does not move, in a line for people; "" while it runs."""
    if run.state == "paused":
        words = f"paused: {run.reason}" if run.reason else f"paused by its user (`hone runs resume {run.id}`)"
        return f"{words}; waits for {run.waiting_for}" if run.waiting_for and run.reason is None else words
    return f"queued; waits for {run.waiting_for}" if run.state == "queued" and run.waiting_for else ""


def _say(console: Console, lines: Iterable[str]) -> None:
    for line in lines:
        console.print(Text(f"{datetime.now().astimezone():%H:%M:%S}  {line}"), soft_wrap=True)


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
    resting = rest(run) or (f"waits for {run.waiting_for}" if run.waiting_for else "")
    waiting = [Text(resting, style="yellow")] if resting else []
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
