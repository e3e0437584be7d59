"""/judges: the endpoints that graders ask, and the secrets that they need."""

from collections.abc import Mapping
from functools import partial
from typing import Any, get_args

from nicegui import ui
from pydantic.fields import FieldInfo
from starlette.requests import Request

from hone.client.judge_resources import Judge, JudgeTerms, Secret
from hone.client.resources import Page
from services.console.pages import deletion, graders
from services.console.view import PageView
from services.console.widgets import parts, tables
from services.console.widgets.markup import Markup, html, mono, tag
from services.console.widgets.tables import Column

_MOST = 200
_NONE = "none"
_DEFAULTS = JudgeTerms()
_COLUMNS = (Column("Judge"), Column("Address", "name"), Column("Model", "name"), Column("Secret", "name"),
            Column("Terms"), Column("Changed"))


async def show(view: PageView, request: Request) -> None:
    """Show judges, and for an admin key the secrets, with forms that set both."""
    graders.head("Judges", "Endpoints that graders ask by name: with OpenAI's chat completions, or verify servers. "
                 "Any other name is a model of yours.")
    await _JudgesPage(view).load()


def terms_in_words(terms: JudgeTerms) -> str:
    """Return the terms that are not the defaults."""
    given = terms.model_dump()
    return ", ".join(f"{name} {value}" for name, value in given.items() if value != getattr(_DEFAULTS, name))


class _JudgesPage:
    """The forms and the lists."""

    def __init__(self, view: PageView) -> None:
        self._view, self._judges = view, dict[str, Judge]()
        self._reason = view.lacks("admin")
        self._judge_form = _JudgeForm(view, self.load)
        self._listed = tables.LiveSection("Judges", _COLUMNS, parts.empty(
            "No judges yet", "A judge is set above, or with the command.",
            "hone judges set expert https://judge.example/v1 some-model --secret provider"), self._add_actions)
        self._secrets = None if self._reason else _Secrets(view, self.load)
        if self._reason:
            html(parts.section("Secrets", parts.empty("Not with this key", self._reason)))

    async def load(self) -> None:
        """Read judges and secrets again. Raises HoneError."""
        ask, hone = self._view.ask, self._view.hone
        judges: Page[Judge] = await ask(hone.judges, _MOST)
        self._judges = {one.name: one for one in judges.data}
        self._listed.show({name: _cells(one) for name, one in self._judges.items()}, _more(judges.next))
        if self._secrets is not None:
            secrets: Page[Secret] = await ask(hone.secrets, _MOST)
            self._secrets.show(secrets.data, _more(secrets.next))
            self._judge_form.offer([one.name for one in secrets.data])

    def _add_actions(self, name: str) -> None:
        for text, act, tone in (("Change", lambda: self._judge_form.fill(self._judges[name]), "plain"),
                                ("Delete", lambda: self._view.tried(partial(self._delete, name)), "plain grave")):
            self._view.permit(tables.action(text, name, act, tone), "admin")

    async def _delete(self, name: str) -> None:
        if await deletion.asked(self._view, f"the judge {name}", "Samples of runs that still ask it are masked.",
                                partial(self._view.hone.delete_judge, name)):
            await self.load()


def _more(after: str | None) -> Markup:
    return tag("p", f"The first {_MOST}; the command line lists all.", class_="note") if after else Markup("")


def _cells(one: Judge) -> list[object]:
    return [tag("strong", one.name), mono(one.url), mono(one.model), mono(one.secret) if one.secret else _NONE,
            terms_in_words(one.terms) or "defaults", parts.moment(one.updated_at)]


class _JudgeForm:
    """The fields of one judge."""

    def __init__(self, view: PageView, changed: Any) -> None:
        self._view, self._changed = view, changed
        with ui.element("section").classes("panel"):
            html(tag("h2", "Set a judge"))
            with ui.element("div").classes("filters"):
                self._name, self._url, self._model = (
                    ui.input(label).props("outlined dense").classes(size) for label, size in (
                        ("Name", ""), ("Address before the path", "search"), ("Model there", "")))
                self._secret = ui.select([_NONE], value=_NONE, label="Secret").props("outlined dense")
            with ui.expansion("Terms: limits, prices, and how it is asked").props("dense").classes("terms"), \
                    ui.element("div").classes("filters"):
                self._terms = {name: _term(name, field) for name, field in JudgeTerms.model_fields.items()}
            with ui.element("div").classes("actions"):
                view.permit(ui.button("Set judge", on_click=lambda: view.tried(self._set), color=None).props(
                    "unelevated no-caps").classes("primary"), "admin")

    def offer(self, secrets: list[str]) -> None:
        """Offer the secrets of the tenant, and the one that is chosen."""
        kept = [self._secret.value] if self._secret.value not in (_NONE, *secrets) else []
        self._secret.set_options([_NONE, *secrets, *kept])

    def fill(self, judge: Judge) -> None:
        """Show a judge that was set, to change it."""
        for field, value in ((self._name, judge.name), (self._url, judge.url), (self._model, judge.model)):
            field.set_value(value)
        self._secret.set_options(list(dict.fromkeys([*self._secret.options, judge.secret or _NONE])),
                                 value=judge.secret or _NONE)
        for name, field in self._terms.items():
            field.set_value(getattr(judge.terms, name))
        self._name.run_method("focus")

    async def _set(self) -> None:
        name, url, model = (str(field.value or "").strip() for field in (self._name, self._url, self._model))
        secret = None if self._secret.value == _NONE else str(self._secret.value)
        await self._view.ask(self._view.hone.put_judge, name, url, model, secret, **self._given())
        await self._changed()

    def _given(self) -> Mapping[str, Any]:
        """Return the terms that have a value; whole numbers as such."""
        kinds = {name: field.annotation for name, field in JudgeTerms.model_fields.items()}
        return {name: int(field.value) if kinds[name] is int and field.value == int(field.value) else field.value
                for name, field in self._terms.items() if field.value is not None}


def _term(name: str, field: FieldInfo) -> Any:
    """Return an input for one term; its title says what it means."""
    options = get_args(field.annotation)
    made: Any
    if field.annotation is bool:
        made = ui.checkbox(name, value=field.default)
    elif options:
        made = ui.select(list(options), value=field.default, label=name).props("outlined dense")
    else:
        made = ui.number(name, value=field.default, min=0).props("outlined dense").classes("short")
    made.props["title"] = field.description
    return made


class _Secrets:
    """The secrets by name, and a form that sets one. Its value goes to the gateway and is not kept here."""

    def __init__(self, view: PageView, changed: Any) -> None:
        self._view, self._changed = view, changed
        self._listed = tables.LiveSection(
            "Secrets", (Column("Secret"), Column("Changed")), parts.empty(
                "No secrets yet", "A secret holds the key of a judge's endpoint."), self._add_actions,
            note="Nobody can read a value again: the reward service alone opens it, for the header of a request.")
        with ui.element("section").classes("panel"):
            html(tag("h2", "Set a secret"))
            with ui.element("div").classes("filters"):
                self._name = ui.input("Name of the secret").props("outlined dense")
                self._value = ui.input("Value", password=True).props(
                    "outlined dense autocomplete=new-password").classes("search")
                ui.button("Set secret", on_click=lambda: view.tried(self._set), color=None).props(
                    "unelevated no-caps").classes("primary")

    def show(self, secrets: list[Secret], below: Markup) -> None:
        """Show these secrets."""
        self._listed.show({one.name: [tag("strong", one.name), parts.moment(one.updated_at)] for one in secrets}, below)

    def _add_actions(self, name: str) -> None:
        tables.action("Delete", name, lambda: self._view.tried(partial(self._delete, name)), "plain grave")

    async def _set(self) -> None:
        name, value = str(self._name.value or "").strip(), str(self._value.value or "")
        self._value.set_value("")
        await self._view.ask(self._view.hone.put_secret, name, value)
        self._name.set_value("")
        await self._changed()

    async def _delete(self, name: str) -> None:
        if await deletion.asked(self._view, f"the secret {name}", "Judges that need it fail until it is set again.",
                                partial(self._view.hone.delete_secret, name)):
            await self._changed()
