"""The editor of a run spec: YAML that the gateway reads while it is written, with each problem beside its line."""

import asyncio
from collections.abc import Callable, Sequence
from textwrap import shorten
from typing import Literal

from nicegui import ui
from nicegui.events import GenericEventArguments

from hone.client.errors import Refused
from hone.client.resources import DryRun
from hone.spec.files import Raw
from services.console.view import PageView
from services.console.widgets import parts, spec_text
from services.console.widgets.markup import Markup, html, join, mono, tag
from services.console.widgets.spec_text import LocatedProblem, Unreadable

_PAUSE_S = 0.5
"""Seconds without a key after which the text is sent to the gateway."""
_NOTE = 90
"""Characters of a problem behind its line; below the editor it is whole."""
_LIGHT: Literal["githubLight"] = "githubLight"
_DARK: Literal["githubDark"] = "githubDark"
_TELL_THEME = """
const tell = () => emitEvent('theme', document.body.classList.contains('body--dark'));
const wait = setInterval(() => {
  const content = document.querySelector('.editor .cm-content');
  if (!content) return;
  clearInterval(wait);
  content.setAttribute('aria-label', 'Spec, as YAML or JSON');
  new MutationObserver(tell).observe(document.body, {attributes: true, attributeFilter: ['class']});
  tell();
}, 30);
"""


class SpecEditor:
    """The editor on one page. Its text is the draft of the session, so that a reload and other pages keep it."""

    def __init__(self, view: PageView, follow: Callable[[], None] = lambda: None) -> None:
        """`follow` is called after each check."""
        self._view, self._follow, self._changes = view, follow, 0
        self.checked: DryRun | None = None
        with ui.element("div").classes("editor"):
            self._code = ui.codemirror(
                view.session.draft, language="YAML", theme=_DARK if view.session.dark else _LIGHT, indent="  ",
                line_wrapping=True, on_change=self._changed).classes("code")
            # The page's keys are for the page: what is typed here stays here.
            self._code.on("keydown", js_handler="(event) => event.stopPropagation()")
            self._status = html(Markup("")).props("role=status").classes("status")
        self._problems = ui.element("div").classes("problems")
        ui.on("theme", self._follow_theme)
        ui.run_javascript(_TELL_THEME)

    @property
    def text(self) -> str:
        """The text as the person sees it."""
        return str(self._code.value or "")

    async def open(self) -> None:
        """Check the text with which the page opened."""
        if self.text.strip():
            await self.check()
        else:
            self._mark([])
            self._say("Choose a preset, or paste a spec.")
            self._follow()

    async def replace(self, text: str) -> None:
        """Put another text in the place of this one, and check it. The editor's undo brings the old one back."""
        self._code.set_value(text)
        await self.check()

    async def set_field(self, path: str, value: object) -> None:
        """Set one field of the text, and check it. A text that cannot be read stays as it is."""
        try:
            text = spec_text.with_field(self.text, path, value)
        except Unreadable as error:
            self._refuse([error.located])
            return
        await self.replace(text)

    def read(self) -> Raw | None:
        """Return the object that the text describes; show why if it is none."""
        try:
            return spec_text.read(self.text)
        except Unreadable as error:
            self._refuse([error.located])
            return None

    async def check(self) -> DryRun | None:
        """Have the gateway read the text, and show what it says. Returns its answer if a run can have this spec."""
        self._changes += 1
        now, text, raw = self._changes, self.text, self.read()
        self.checked = None
        if reason := self._view.lacks("run"):
            self._say(reason, "warn")
            return None
        if raw is None:
            return None
        self._say("The gateway reads the spec …")
        try:
            answer = await self._view.ask(self._view.hone.dry_run, raw)
        except Refused as error:
            if now == self._changes:
                self._refuse(spec_text.locate(error.problems, text), error.detail)
            return None
        except BaseException:
            self._say("The spec was not checked.")
            raise
        if now == self._changes:
            self._accept(answer)
        return answer

    async def _changed(self) -> None:
        self._view.session.draft = self.text
        self._changes += 1
        now = self._changes
        await asyncio.sleep(_PAUSE_S)
        if now == self._changes and not self._code.is_deleted:
            await self._view.tried(self.open)

    def _accept(self, answer: DryRun) -> None:
        self.checked = answer
        self._mark([])
        self._say("A run can have this spec.", "good")
        with self._problems:
            for text, tone in [*((one, "warning") for one in answer.warnings), *((one, "") for one in answer.notes)]:
                html(tag("p", text, class_=f"banner {tone}".strip()))
        self._follow()

    def _refuse(self, problems: Sequence[LocatedProblem], detail: str = "") -> None:
        self._mark(problems)
        count = f"{len(problems)} problem{'' if len(problems) == 1 else 's'}"
        self._say(count if problems else detail, "bad")
        with self._problems:
            for one in problems:
                self._add_problem(one)
        self._follow()

    def _add_problem(self, one: LocatedProblem) -> None:
        line = one.line
        where = f"line {line}" if line else "not in the text"
        shown = html(join([tag("span", where, class_="where"), _sentence(one)]), "button").classes("located")
        if line:
            shown.on("click", lambda: self._reveal(line))

    def _reveal(self, line: int) -> None:
        self._code.reveal_line(line)
        ui.run_javascript(f"getElement({self._code.id}).editor.focus()")

    def _say(self, text: str, tone: str = "off") -> None:
        """Show a line about the text in place of everything that was said about it before."""
        self._problems.clear()
        self._status.set_content(tag("p", parts.chip(text, tone)) if text else Markup(""))

    def _mark(self, problems: Sequence[LocatedProblem]) -> None:
        """Mark the lines with problems, each with its first problem behind it.

        These are calls and no properties, because an update of properties would bring back the text that the server
        knows, and take out what is being typed.
        """
        first = {one.line: one for one in reversed(problems) if one.place is not None}
        marks = [mark for one in first.values() for mark in _marks(one, self.text)]
        self._code.run_method("setDecorations", marks)

    def _follow_theme(self, event: GenericEventArguments) -> None:
        self._code.run_method("setTheme", _DARK if event.args else _LIGHT)


def _marks(one: LocatedProblem, text: str) -> list[dict[str, object]]:
    """Return the decorations of a line: its colour, and the problem behind its end."""
    if one.place is None:
        return []
    end = text.find("\n", one.place.start)
    problem = one.problem
    return [{"kind": "line", "line": one.place.line, "class": "wrong"},
            {"kind": "widget", "position": len(text) if end < 0 else end, "class": "wrong-note",
             "text": shorten(f"found {problem.found}, expected {problem.expected}", _NOTE, placeholder=" …")}]


def _sentence(one: LocatedProblem) -> Markup:
    problem = one.problem
    return tag("span", mono(problem.field), ": found ", tag("strong", problem.found), ", expected ", problem.expected)
