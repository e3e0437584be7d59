"""The demo from beginning to end: start a stack, teach a base, improve it by rewards, export it, report."""

import json
import secrets
import shutil
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from hone.client import Client
from hone.client.errors import NotFound
from hone.client.resources import Export
from hone.demo import task
from hone.demo.progress import Series, follow
from hone.models import toy
from hone.stack.embedded import Stack
from hone.stack.lock import StackRunning
from hone.stack.record import load

READY_S = 120.0
_EXPORT_S = 180.0


class ExportFailed(RuntimeError):
    """The final weights could not be exported; the message is the reason."""


@dataclass
class Outcome:
    """The results of the demo."""

    directory: Path
    series: Series
    seconds: dict[str, float] = field(default_factory=dict)
    weights_sha256: str = ""
    max_abs_diff: float = 0.0
    export: Path = Path()
    picture: Path = Path()


class Demo:
    """One demonstration. After a hard kill, the next one with the same state and seed goes on from there."""

    def __init__(self, state: Path, seed: int, console: Console, steps: int = task.STEPS) -> None:
        self._state, self._seed, self._console, self._steps = state.resolve(), seed, console, steps
        self._attempt = self._unfinished_attempt()
        self._directory = self._state / "demo" / self._attempt
        self._seconds: dict[str, float] = {}

    def run(self) -> Outcome:
        """Start the stack, teach the base by imitation, improve it by rewards, export it and print a report."""
        begin = time.monotonic()
        with self._stack():
            self._phase("stack", begin)
            record = load(self._state)
            self._console.print(f"stack ready: {record.gateway_url}")
            if record.console_url:
                self._console.print(f"console: {record.console_url} (sign in with api_key of {self._state}/stack.json)")
            if record.door_address:
                self._console.print(f"gRPC: {record.door_address} (certificate {record.door_certificate})")
            with Client(record.gateway_url, record.api_key) as client:
                base = self._make_base(client)
                outcome = self._learn(client, base)
        self._console.print(report(outcome), highlight=False, soft_wrap=True)
        self._marker.unlink(missing_ok=True)
        return outcome

    def _stack(self) -> AbstractContextManager[object]:
        """Start a stack and return a context that ends it; one that runs on this state already is left running."""
        stack = Stack(self._state)
        try:
            stack.start()
        except StackRunning:
            return nullcontext()
        try:
            stack.wait_ready(READY_S)
        except BaseException:
            stack.stop()
            raise
        return _Ending(stack)

    def _make_base(self, client: Client) -> str:
        begin = time.monotonic()
        model, dataset = self._named("untrained"), self._named("demonstrations")
        if not _exists(client.model, model):
            client.upload_model(model, toy.write(self._directory / "untrained", self._seed))
        if not _exists(client.dataset, dataset):
            client.upload_dataset(dataset, task.demonstrations(self._seed))
        spec = task.supervised_spec(self._named("imitation"), model, dataset, self._seed)
        run = client.create_run(spec, idempotency_key=f"{self._attempt}-imitation")
        follow(client, run.id, "imitation    ", self._console)
        self._phase("imitation", begin)
        return run.id

    def _learn(self, client: Client, base: str) -> Outcome:
        begin = time.monotonic()
        spec = task.reinforcement_spec(self._named("reinforcement"), base, self._seed, self._steps)
        run = client.create_run(spec, idempotency_key=f"{self._attempt}-reinforcement")
        progress = follow(client, run.id, "reinforcement", self._console)
        self._phase("reinforcement", begin)
        begin = time.monotonic()
        from hone.demo import picture  # matplotlib takes a second to load

        outcome = Outcome(self._directory, progress.series, self._seconds)
        self._export(client, run.id, outcome)
        title = f"sort six digits, GRPO, seed {self._seed}"
        outcome.picture = picture.draw(outcome.series, title, self._directory / "learning-curve.png")
        self._phase("export", begin)
        return outcome

    def _export(self, client: Client, run_id: str, outcome: Outcome) -> None:
        export = _finished(client, client.create_export(run_id, idempotency_key=f"{self._attempt}-export"))
        outcome.export = self._directory / "export"
        shutil.rmtree(outcome.export, ignore_errors=True)
        outcome.export.mkdir(parents=True)
        for name in export.files:
            (outcome.export / name).write_bytes(client.export_file(export.id, name))
        outcome.weights_sha256 = export.files["model.safetensors"].sha256
        outcome.max_abs_diff = export.max_abs_diff or 0.0

    def _phase(self, name: str, begin: float) -> None:
        self._seconds[name] = time.monotonic() - begin

    def _named(self, what: str) -> str:
        return f"demo-{self._attempt}-{what}"

    @property
    def _marker(self) -> Path:
        return self._state / "demo" / f"unfinished-seed-{self._seed}-{self._steps}-steps.json"

    def _unfinished_attempt(self) -> str:
        """Return the name of the interrupted attempt, or of a new one, which is remembered until it succeeds."""
        if self._marker.exists():
            return str(json.loads(self._marker.read_text())["attempt"])
        attempt = f"seed{self._seed}-{secrets.token_hex(3)}"
        self._marker.parent.mkdir(parents=True, exist_ok=True)
        self._marker.write_text(json.dumps({"attempt": attempt}))
        return attempt


class _Ending(AbstractContextManager[object]):
    def __init__(self, stack: Stack) -> None:
        self._stack = stack

    def __exit__(self, *_: object) -> None:
        self._stack.stop()


def report(outcome: Outcome) -> str:
    """Return the closing summary."""
    lines = ["", "held-out accuracy       before    after"]
    for label, name in (("sampled, temperature 1", "eval/sampled"), ("greedy", "eval/greedy")):
        points = outcome.series[name]
        lines.append(f"  {label:<22}{points[0][1]:6.3f}   {points[-1][1]:6.3f}")
    phases = "  ".join(f"{name} {seconds:.1f} s" for name, seconds in outcome.seconds.items())
    return "\n".join([
        *lines, "", f"wall time     {phases}  (all {sum(outcome.seconds.values()):.1f} s)",
        f"checkpoint    {outcome.export}", f"  sha256      {outcome.weights_sha256}",
        f"  loaded by stock transformers, log-probabilities within {outcome.max_abs_diff:.1e} nats",
        f"curve         {outcome.picture}", "",
    ])


def _exists(look_up: Callable[[str], object], name: str) -> bool:
    try:
        look_up(name)
    except NotFound:
        return False
    return True


def _finished(client: Client, export: Export) -> Export:
    until = time.monotonic() + _EXPORT_S
    while export.state == "queued" and time.monotonic() < until:
        time.sleep(0.2)
        export = client.export(export.id)
    if export.state != "done":
        raise ExportFailed(export.reason or f"the export is still {export.state} after {_EXPORT_S:.0f} s")
    return export
