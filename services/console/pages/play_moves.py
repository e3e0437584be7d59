"""Moves of a person in a played task: a text box, and a form for each tool."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from nicegui import ui

from hone.client.play_arguments import argument
from hone.client.play_resources import Seen
from services.console.view import PageView
from services.console.widgets import conversation
from services.console.widgets.markup import Markup, html, join, mono, quoted, tag

Say = Callable[[str], Awaitable[None]]
Use = Callable[[str, Mapping[str, Any]], Awaitable[None]]
_SHOWN_ACTIONS = 40


class TextBox:
    """A field for what is said or done. Enter sends it, Shift and Enter begin a new line."""

    def __init__(self, view: PageView, say: Say) -> None:
        self._view, self._say = view, say
        self._text = ui.textarea("Your text or action").props("outlined autogrow dense spellcheck=false rows=1")
        self._text.on("keydown.enter.exact.prevent", self._sent)
        with ui.element("div").classes("actions"):
            self._button = view.permit(ui.button("Send", on_click=self._sent, color=None).props(
                "unelevated no-caps").classes("primary"), "run")

    def focus(self) -> None:
        """Let the person write."""
        self._text.run_method("focus")

    async def _sent(self) -> None:
        text = str(self._text.value or "").strip()
        if text:
            self._text.set_value("")
            await self._view.tried(lambda: self._say(text))
        self.focus()


class ToolForms:
    """The tools of a task: one is chosen, its arguments have a field each, and a button calls it."""

    def __init__(self, view: PageView, use: Use) -> None:
        self._view, self._use, self._tools = view, use, dict[str, Mapping[str, Any]]()
        self._fields, self._begun = dict[str, ui.input](), False
        self._name = ui.select([], label="Tool", on_change=self._chosen).props("outlined dense")
        self._about = html(Markup(""))
        self._form = ui.element("div").classes("more-fields")
        with ui.element("div").classes("actions"):
            self._button = view.permit(ui.button("Call", on_click=self._called, color=None).props(
                "unelevated no-caps").classes("primary"), "run")
        self._possible = html(Markup(""))

    def show(self, seen: Seen) -> None:
        """Offer what may be done now."""
        self._possible.set_content(_possible(seen))
        tools: dict[str, Mapping[str, Any]] = dict(zip(conversation.names(seen.tools), seen.tools, strict=True))
        if self._begun and tools == self._tools:
            return
        self._begun = True
        self._tools = tools
        kept = self._name.value if self._name.value in tools else next(iter(tools), None)
        self._name.set_options(list(tools), value=kept)
        for one in (self._name, self._button):
            one.set_visibility(bool(tools))
        self._chosen()

    def _chosen(self) -> None:
        tool = self._tools.get(str(self._name.value))
        self._form.clear()
        self._fields = {}
        self._about.set_content(tag("p", tool["function"].get("description", ""), class_="note") if tool else tag(
            "p", "No tools: everything is said.", class_="note"))
        if tool is None:
            return
        with self._form:
            for name, schema in conversation.properties(tool).items():
                shown = ui.input(name).props(f'outlined dense hint="{quoted(_hint(schema))}"')
                shown.on("keydown.enter.prevent", self._called)
                self._fields[name] = shown

    async def _called(self) -> None:
        name = str(self._name.value)
        if name not in self._tools:
            return
        schemas = conversation.properties(self._tools[name])
        arguments = {key: argument(str(field.value), schemas[key]) for key, field in self._fields.items()
                     if str(field.value or "")}
        await self._view.tried(lambda: self._use(name, arguments))


def _hint(schema: Mapping[str, Any]) -> str:
    """Return the kind of an argument: its type, unless it is a text, and its description."""
    kind = schema.get("type", "JSON")
    return ". ".join(filter(None, ["" if kind == "string" else str(kind), str(schema.get("description", ""))]))


def _possible(seen: Seen) -> Markup:
    if not seen.admissible:
        return Markup("")
    more = f" and {len(seen.admissible) - _SHOWN_ACTIONS} more" if len(seen.admissible) > _SHOWN_ACTIONS else ""
    actions = join(map(mono, seen.admissible[:_SHOWN_ACTIONS]), ", ")
    return join([tag("h3", "Possible now"), tag("p", actions, more)])
