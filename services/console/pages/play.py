"""/play: one task of an environment by hand, with what an agent would see, before any run is started."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, get_args

from nicegui import ui
from starlette.requests import Request

from hone.client.errors import NotFound, Refused
from hone.client.play_resources import Play, PlayStep, Seen
from hone.client.resources import Environment
from hone.spec.noise import NoiseType
from services.console.pages import playground
from services.console.pages.play_moves import TextBox, ToolForms
from services.console.view import PageView
from services.console.widgets import conversation, parts
from services.console.widgets.json_field import JsonField
from services.console.widgets.markup import Markup, html, join, tag

_OFFERED = 200
_TO_THE_END = "setTimeout(() => {const talk = document.querySelector('.conversation'); " \
    "if (talk) talk.scrollTop = talk.scrollHeight}, 50)"
"""Shows what was said last, once it is drawn."""
_ROWS = ""
"""Choice of no environment: the dataset's rows are questions."""


async def show(view: PageView, request: Request) -> None:
    """Show a form for a task, and below it the conversation; the query parameter `environment` chooses one."""
    environments = {one.name: one for one in await view.ask(view.hone.environments)}
    datasets = [one.name for one in (await view.ask(view.hone.datasets, _OFFERED)).data]
    html(parts.heading("Play", "Play a task by hand, as a policy would see it. Nothing is stored; a session that is "
                       "not "
                       "used for ten minutes is forgotten."))
    playground.tabs("Play")
    page = _PlayPage(view, environments, datasets)
    page.choose(request.query_params.get("environment", ""))


class _TaskForm:
    """Choice of the played task."""

    def __init__(
        self, view: PageView, environments: Mapping[str, Environment], datasets: list[str],
        start: Callable[[], Awaitable[None]],
    ) -> None:
        self._known = environments
        with ui.element("section").classes("panel"):
            html(tag("h2", "Task"))
            with ui.element("div").classes("filters picks"):
                self._environment = ui.select(
                    {_ROWS: "none: a dataset's rows", **{name: name for name in environments}}, value="sqlite",
                    label="Environment", with_input=True, on_change=self._chosen).props("outlined dense").classes(
                    "pick")
                self._dataset = ui.select(datasets, label="Dataset", clearable=True, with_input=True,
                                          on_change=self._chosen).props("outlined dense").classes("pick")
                self._row, self._seed = (
                    ui.number(label, value=value, precision=0).props(f"outlined dense min={value}").classes("short")
                    for label, value in (("Row", 1), ("Seed", 0)))
                self._noise = ui.select(list(get_args(NoiseType)), label="Noise", clearable=True).props(
                    "outlined dense")
                self._voice = ui.input("Voice").props(
                    'outlined dense title="Judge or model that speaks for a user by a model"')
            self._about = html(Markup(""))
            self._params = JsonField("Parameters, as JSON", {})
            self._wrong = html(Markup("")).props("role=status")
            with ui.element("div").classes("actions"):
                self._button = view.permit(ui.button("Start", on_click=lambda: view.tried(start), color=None).props(
                    "unelevated no-caps").classes("primary"), "run")
        self._chosen()

    @property
    def voice(self) -> dict[str, str] | None:
        """Who finds the words that the environment asks for."""
        name = str(self._voice.value or "").strip()
        return {"endpoint": name} if name else None

    def choose(self, environment: str) -> None:
        """Choose an environment, if there is one of this name."""
        if environment in self._known:
            self._environment.set_value(environment)

    def read(self) -> dict[str, Any] | None:
        """Return the arguments of `start_play`, or None after showing why there are none."""
        self._wrong.set_content(Markup(""))
        params = self._params.read()
        if params is None:
            return None
        task = {"row": int(self._row.value or 0)} if self._dataset.value else {"seed": int(self._seed.value or 0)}
        noise = {"types": [self._noise.value]} if self._noise.value else None
        return {"environment": self._environment.value or None, "params": params, "dataset": self._dataset.value,
                **task, "noise": noise, "voice": self.voice}

    def refuse(self, refused: Refused) -> None:
        """Show what the gateway would not play: the parameters' problems below them, the others below all."""
        own = [one for one in refused.problems if one.field.startswith("params")]
        self._params.refuse(own)
        self._wrong.set_content(join(tag("p", str(one), class_="refused") for one in refused.problems
                                     if one not in own))

    def begun(self) -> None:
        """Say that the task can be begun again."""
        self._button.set_text("Restart")

    def _chosen(self) -> None:
        known = self._known.get(str(self._environment.value))
        self._about.set_content(tag("p", known.summary if known else "Each row is a question, answered once.",
                                    class_="note"))
        self._row.set_visibility(bool(self._dataset.value))
        self._seed.set_visibility(not self._dataset.value)


class _PlayPage:
    """The form, the conversation, and the state with the tools beside it."""

    def __init__(self, view: PageView, environments: Mapping[str, Environment], datasets: list[str]) -> None:
        self._view, self._said, self._busy = view, list[Markup](), False
        self._play: Play | None = None
        self._seen: Seen | None = None
        self._form = _TaskForm(view, environments, datasets, lambda: self._once(self._start))
        self._board = ui.element("div").classes("viewer")
        with self._board:
            with ui.element("section").classes("panel"):
                html(tag("h2", "Conversation"))
                self._talk = html(Markup("")).classes("listed conversation").props("tabindex=0")
                self._box = TextBox(view, self._say)
            with ui.element("aside"):
                with ui.element("section").classes("panel"):
                    html(tag("h2", "State"))
                    self._state = html(Markup(""))
                with ui.element("section").classes("panel"):
                    html(tag("h2", "Tools"))
                    self._tools = ToolForms(view, self._use)
        self._board.set_visibility(False)
        view.shortcuts.add("/", "Write your text or action", self._box.focus)

    def choose(self, environment: str) -> None:
        """Choose an environment, if there is one of this name."""
        self._form.choose(environment)

    async def _once(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do one thing at a time: what is pressed meanwhile is pressed twice."""
        if self._busy:
            return
        self._busy = True
        try:
            await work()
        finally:
            self._busy = False

    async def _start(self) -> None:
        asked = self._form.read()
        if asked is None:
            return
        try:
            play = await self._view.ask(self._view.hone.start_play, **asked)
        except Refused as refused:
            self._form.refuse(refused)
            return
        await self._end()
        self._play, self._said = play, [conversation.messages(play.messages)]
        self._form.begun()
        self._board.set_visibility(True)
        await self._show(play)
        self._box.focus()

    async def _end(self) -> None:
        """Forget the session of before, which may be gone already."""
        if self._play is not None:
            with suppress(NotFound):
                await self._view.ask(self._view.hone.end_play, self._play.id)
            self._play = None

    async def _say(self, text: str) -> None:
        await self._once(lambda: self._step(text, lambda session_id, index: self._view.hone.say(
            session_id, index, text, self._form.voice)))

    async def _use(self, tool: str, arguments: Mapping[str, Any]) -> None:
        await self._once(lambda: self._step(
            conversation.call(tool, arguments), lambda session_id, index: self._view.hone.call_tool(
                session_id, index, tool, arguments, self._form.voice)))

    async def _step(self, done: str, take: Callable[[str, int], PlayStep]) -> None:
        if self._play is None or self._seen is None:
            return
        taken = await self._view.ask(take, self._play.id, self._seen.next_index)
        self._said += [conversation.move(done), conversation.messages(taken.messages), conversation.outcome(taken)]
        await self._show(taken)

    async def _show(self, seen: Seen) -> None:
        self._seen = seen
        self._talk.set_content(join(self._said))
        ui.run_javascript(_TO_THE_END)
        self._tools.show(seen)
        if self._play is not None:
            self._state.set_content(conversation.state(await self._view.ask(
                self._view.hone.play_state, self._play.id)))
