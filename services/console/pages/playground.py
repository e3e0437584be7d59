"""/playground: two models answer the same message side by side, each token coloured by its log-prob."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import ui
from starlette.requests import Request

from hone.client import HoneError
from hone.client.asking import ChatPiece
from hone.client.errors import Unauthenticated
from hone.client.routing_resources import PREFIX
from services.console.view import PageView
from services.console.widgets import formats, parts, tokens
from services.console.widgets.markup import Markup, html, join, link, mono, tag
from services.console.widgets.tokens import Token

_OFFERED, _DRAW_S = 100, 0.15
_SAMPLING: Mapping[str, tuple[str, float | None, str]] = {
    "temperature": ("Temperature", 1.0, "min=0 max=2 step=0.1"), "max_tokens": ("Most tokens", 128, "min=1 step=1"),
    "seed": ("Seed", None, "step=1")}
"""Field of a request -> label, first value, properties of the input."""


PAGES = {"Models": "/playground", "Play": "/play"}
"""Title -> path."""


def tabs(here: str) -> None:
    """Show links to the pages of this place."""
    html(tag("nav", *(link(name, path, aria_current="page" if name == here else None) for name, path in PAGES.items()),
             class_="tabs", aria_label="Pages of the playground"))


async def show(view: PageView, request: Request) -> None:
    """Show a form for a message, and two models; the query parameters `model` choose them."""
    routes = (await view.ask(view.hone.routes, _OFFERED)).data
    known = await offered(view) | {f"{PREFIX}{one.name}": f"{PREFIX}{one.name}, a route" for one in routes}
    chosen = [*request.query_params.getlist("model"), *known][:2]
    html(parts.heading("Playground", "Two models answer the same message. A warmer colour is a less likely token."))
    tabs("Models")
    _Playground(view, known | {name: name for name in chosen}, chosen)


async def offered(view: PageView) -> dict[str, str]:
    """Return the names of models that may be asked, with what they are: runs first, then registered models."""
    runs = (await view.ask(view.hone.runs, _OFFERED)).data
    models = (await view.ask(view.hone.models, _OFFERED)).data
    of_runs = {run.id: f"{run.name} ({run.id}), version {run.step}" for run in runs if run.version_id}
    return of_runs | {model.name: model.name for model in models}


class _Playground:
    """The form, and the two models below it."""

    def __init__(self, view: PageView, offered: dict[str, str], chosen: Sequence[str]) -> None:
        self._view = view
        with ui.element("section").classes("panel"):
            self._system = ui.input("System message").props("outlined dense")
            self._message = ui.textarea("Message").props("outlined autogrow")
            with ui.element("div").classes("filters"):
                self._sampling = {name: ui.number(label, value=value).props(f"outlined dense {props}").classes("short")
                                  for name, (label, value, props) in _SAMPLING.items()}
                self._ask = view.permit(ui.button("Ask", on_click=self._asked, color=None).props(
                    "unelevated no-caps").classes("primary"), "run")
                self._stop = ui.button("Stop", on_click=self._stopped, color=None).props(
                    "flat no-caps").classes("plain")
        html(tokens.legend("log-prob"))
        with ui.element("div").classes("side-by-side"):
            self._sides = [_Side(view, f"Model {letter}", offered, name)
                           for letter, name in zip("AB", [*chosen, *[None] * 2][:2], strict=True)]
        self._stop.disable()
        view.shortcuts.add("/", "Write a message", lambda: self._message.run_method("focus"))

    async def _asked(self) -> None:
        message = (self._message.value or "").strip()
        if not message:
            self._message.run_method("focus")
            return
        system = (self._system.value or "").strip()
        said = [*([{"role": "system", "content": system}] if system else []), {"role": "user", "content": message}]
        self._ask.disable()
        self._stop.enable()
        try:
            await self._view.tried(lambda: self._answers(said))
        finally:
            self._ask.enable()
            self._stop.disable()

    async def _answers(self, said: Sequence[Mapping[str, str]]) -> None:
        await asyncio.gather(*(side.answer(said, self._options()) for side in self._sides))

    def _options(self) -> dict[str, float | int | None]:
        given = {name: field.value for name, field in self._sampling.items()}
        return {name: value if name == "temperature" or value is None else int(value) for name, value in given.items()}

    def _stopped(self) -> None:
        for side in self._sides:
            side.stop()


class _Side:
    """One model: its name, and its answer."""

    def __init__(self, view: PageView, label: str, offered: dict[str, str], chosen: str | None) -> None:
        self._view, self._stopping = view, False
        self._pieces = list[ChatPiece]()
        with ui.element("article").classes("specimen"):
            self._model = ui.select(offered, value=chosen, label=label, with_input=True, new_value_mode="add-unique",
                                    clearable=True).props("outlined dense")
            self._answer = html(parts.empty("No answer yet", "RUN@latest, RUN@40 and ids of versions are names, too."))

    async def answer(self, said: Sequence[Mapping[str, str]], options: Mapping[str, Any]) -> None:
        """Ask the model and show its answer as it is made, or why there is none."""
        if not self._model.value:
            return
        self._pieces, self._stopping = [], False
        began = time.monotonic()
        work = asyncio.ensure_future(self._view.ask(self._read, str(self._model.value), said, options))
        try:
            while not (await asyncio.wait([work], timeout=_DRAW_S))[0]:
                self._draw(began, "answering")
            await work
            self._draw(began, "stopped" if self._stopping else "")
        except Unauthenticated:
            raise
        except HoneError as error:
            reason = tag("div", error.detail or str(error), class_="banner failed")
            self._answer.set_content(join([self._shown(), reason]))
        finally:
            self._stopping = True  # also when the page is closed: the engine's sample ends with the request

    def stop(self) -> None:
        """End the answer with what is there."""
        self._stopping = True

    def _read(self, model: str, said: Sequence[Mapping[str, str]], options: Mapping[str, Any]) -> None:
        """Read the answer, in a thread."""
        pieces = self._view.hone.chat(model, said, return_token_ids=True, **options)
        for piece in pieces:
            self._pieces.append(piece)
            if self._stopping:
                break
        pieces.close()

    def _draw(self, began: float, state: str) -> None:
        pieces, seconds = self._pieces, time.monotonic() - began
        made = sum(len(piece.tokens) for piece in pieces)
        version = next((piece.version for piece in reversed(pieces) if piece.version), "")
        ended = state or next((piece.finish_reason for piece in reversed(pieces) if piece.finish_reason), "")
        rate = f"{made / seconds:.0f} a second" if seconds > 0 else ""
        facts = join([parts.chip(ended or "ended", "busy" if state == "answering" else "off"),
                      f"{formats.count(made)} tokens, {rate}", mono(formats.short(version, 24), version)], " ")
        self._answer.set_content(join([self._shown(), tag("div", facts, class_="note")]))

    def _shown(self) -> Markup:
        found = [Token(one.id or 0, one.token, one.logprob) for piece in self._pieces for one in piece.tokens]
        return tokens.painted(found, "log-prob") if found else Markup("")
