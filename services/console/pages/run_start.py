"""Starting a run: the button, the question what it will do and cost, and one run however often it is pressed."""

import uuid
from collections.abc import Iterator
from typing import Any

from nicegui import ui

from hone.client.account_resources import Prices
from hone.spec.files import Raw
from hone.spec.money import money
from services.console.pages.spec_editor import SpecEditor
from services.console.view import PageView
from services.console.widgets import formats, parts, questions
from services.console.widgets.markup import mono


class RunStart:
    """The button that starts the run of an editor's spec."""

    def __init__(self, view: PageView, editor: SpecEditor) -> None:
        self._view, self._editor = view, editor
        self._button = view.permit(ui.button("Start run", on_click=lambda: view.tried(self._start), color=None).props(
            "unelevated no-caps").classes("primary"), "run")

    async def _start(self) -> None:
        self._button.disable()  # a second press while the first is on its way does nothing
        try:
            await self._ask_and_start()
        finally:
            self._button.enable()

    async def _ask_and_start(self) -> None:
        answer, raw = await self._editor.check(), self._editor.read()
        if answer is None or raw is None:
            return
        prices = await self._view.ask(self._view.hone.prices)
        key = uuid.uuid4().hex  # the gateway makes one run of it, also if its answer is lost and asked for again
        title, content = f"Start the run {answer.spec['name']}?", parts.facts(summary(answer.spec, prices))
        if await questions.agreed(title, content, act="Start it", leave="Not yet", tone="primary"):
            run = await self._view.ask(self._view.hone.create_run, raw, key)
            self._view.session.draft = ""
            ui.navigate.to(f"/runs/{run.id}")


def summary(spec: Raw, prices: Prices) -> Iterator[tuple[str, object]]:
    """Yield what a run of a resolved spec will do: its model, tasks, method, and how much it samples at most."""
    kind = " with an adapter" if spec["model"]["kind"] == "lora" else ""
    yield "Model", mono(f"{spec['model']['base']}{kind}")
    yield "Tasks", mono(spec["task"]["dataset"] or spec["task"]["environment"])
    yield "Method", mono(spec["algorithm"]["preset"])
    yield "Steps", formats.count(spec["steps"])
    samples = _samples(spec)
    if samples:
        most = samples * spec["sampling"]["max_tokens"]
        yield "Samples", f"{formats.count(samples)}, at most {formats.count(most)} tokens"
        if prices.completion_tokens or prices.trained_tokens:
            price = prices.completion_tokens + prices.trained_tokens * spec["batch"]["epochs"]
            yield "Money", (f"at most {money(most * price / 1e6, prices.currency)} for these tokens; prompts, "
                            "evaluations, grading and trainers come on top")
    if spec["budget"] is not None:
        yield "Budget", money(spec["budget"], prices.currency)
    if spec["eval"]:
        times = 1 + spec["steps"] // spec["eval"]["every"] + (spec["steps"] % spec["eval"]["every"] > 0)
        yield "Evaluations", f"{formats.count(times)}, each of up to {formats.count(spec['eval']['prompts'])} tasks"
    yield "Ends by itself", f"after {formats.duration(spec['deadline_s'])} at the latest"


def _samples(spec: Raw) -> int:
    """Return how many samples a run draws to train on, over its stages and the steps after them."""
    begun, drawn = 0, 0
    for stage in [*spec["stages"], {**spec, "until": spec["steps"]}]:
        until = min(stage["until"], spec["steps"])
        batch: dict[str, Any] = stage["batch"] or spec["batch"]
        algorithm = stage["algorithm"] or spec["algorithm"]
        if algorithm["builder"]["name"] not in ("dataset", "pairs"):
            drawn += max(0, until - begun) * batch["prompts"] * batch["samples"]
        begun = max(begun, until)
    return drawn
