"""A run's progress on the screen: one line, rewritten in place in a terminal and printed now and then elsewhere."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Console
from rich.live import Live
from rich.text import Text

from hone.client import Client
from hone.client.resources import ENDED, Run
from hone.stack.interruption import rest

POLL_S = 0.4
_QUIET_S = 5.0  # between lines where there is no terminal

Series = dict[str, list[tuple[int, float]]]


class RunEnded(RuntimeError):
    """The run ended without success; the message is its reason."""


@dataclass(frozen=True)
class RunProgress:
    """A run with its metrics at one moment."""

    run: Run
    series: Series
    elapsed_s: float

    def line(self) -> str:
        """Return step, reward, accuracy, speed and remaining time in one line."""
        parts = [f"step {self.run.step}/{self.run.steps}", *self._figures(), self._left()]
        if self.run.waiting_for and self.run.state == "running":
            parts.append(f"waiting for {self.run.waiting_for}")
        return "  ".join(part for part in parts if part)

    def _figures(self) -> list[str]:
        shown = [("reward", "reward/mean", ".3f"), ("loss", "loss", ".3f"), ("held-out", "eval/sampled", ".3f"),
                 ("greedy", "eval/greedy", ".3f"), ("gap", "gap/mean", ".1e")]
        wanted = [one for one in shown if one[1] != "loss" or "reward/mean" not in self.series]
        figures = [f"{label} {self.series[name][-1][1]:{form}}" for label, name, form in wanted if name in self.series]
        tokens = sum(value for _, value in self.series.get("completion/tokens", []))
        return [*figures, f"{tokens / self.elapsed_s:.0f} tokens/s"] if tokens and self.elapsed_s > 0 else figures

    def _left(self) -> str:
        if not self.run.step or self.run.step == self.run.steps:
            return ""
        return f"{self.elapsed_s / self.run.step * (self.run.steps - self.run.step):.0f} s left"


def follow(client: Client, run_id: str, label: str, console: Console) -> RunProgress:
    """Show the run until it has ended, and return its last progress. Raises RunEnded unless it succeeded."""
    with Display(console) as show:
        while True:
            now = run_progress(client, run_id)
            show(f"  {label}  {now.line()}")
            if now.run.state in ENDED:
                break
            rest(POLL_S)
    if now.run.state != "succeeded":
        raise RunEnded(f"{label} {now.run.state}: {now.run.reason}")
    return now


def run_progress(client: Client, run_id: str) -> RunProgress:
    """Ask for the run's state and metrics."""
    run = client.run(run_id)
    begun = run.started_at or run.created_at
    ended = run.ended_at.timestamp() if run.ended_at else time.time()
    return RunProgress(run, client.metrics(run_id).series, ended - begun.timestamp())


class Display:
    """Shows a line: rewritten in place in a terminal, printed every few seconds elsewhere."""

    def __init__(self, console: Console) -> None:
        self._console, self._last = console, 0.0
        self._live = Live(console=console, refresh_per_second=8) if console.is_terminal else None
        self._line = ""

    def __enter__(self) -> Callable[[str], None]:
        if self._live:
            self._live.start()
        return self._show

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()
        else:
            self._console.print(Text(self._line), soft_wrap=True)

    def _show(self, line: str) -> None:
        self._line = line
        if self._live:
            self._live.update(Text(line))
        elif time.monotonic() - self._last > _QUIET_S:
            self._last = time.monotonic()
            self._console.print(Text(line), soft_wrap=True)
