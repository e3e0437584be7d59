"""/packages: environment packages, and a form that has one made from a hint."""

from collections.abc import Awaitable, Callable, Sequence

from nicegui import ui
from starlette.requests import Request

from hone.client.package_resources import EnvironmentPackage, PackageJob
from services.console.view import PageView
from services.console.widgets import formats, parts, tables
from services.console.widgets.markup import Markup, html, join, link, mono, tag
from services.console.widgets.tables import RIGHT, Column

PAGES = {"Datasets": "/datasets", "Packages": "/packages", "Audiences": "/audiences"}
"""Title -> path."""
_MOST, _JOBS = 200, 20
_TONES = {"waiting": "off", "taken": "busy", "done": "good", "failed": "bad", "cancelled": "off"}


def tabs(here: str) -> None:
    """Show links to the pages of this place."""
    html(tag("nav", *(link(name, path, aria_current="page" if name == here else None) for name, path in PAGES.items()),
             class_="tabs", aria_label="Pages of Datasets"))


async def show(view: PageView, request: Request) -> None:
    """Show packages and the newest jobs, and keep them current."""
    html(parts.heading("Packages", "Tables, tools and tasks of an environment. The tools run in the sandbox."))
    tabs("Packages")
    shown = ui.element("div").classes("stacked")

    async def load() -> None:
        packages = await view.ask(view.hone.packages, _MOST)
        jobs = await view.ask(view.hone.package_jobs, _JOBS)
        content.set_content(join([_packages(packages.data), _jobs(jobs.data)]))

    with shown:
        _make_form(view, load)
        content = html(Markup(""))
    await load()
    view.live(load)


def _make_form(view: PageView, changed: Callable[[], Awaitable[None]]) -> None:
    async def make() -> None:
        await view.ask(view.hone.make_package, name.value or "", hint.value or "", int(seed.value or 0),
                       int(tasks.value or 0), {"endpoint": author.value} if author.value else None)
        await changed()

    with ui.element("section").classes("panel"):
        html(tag("h2", "Make a package"))
        html(tag("p", "From a hint, such as a public library: tools that passed their tests, tasks with solutions "
                 "that were run. The author is a judge or a model of yours; without an author the seeded generator "
                 "makes the package.", class_="note"))
        with ui.element("div").classes("filters"):
            name = ui.input("Name").props("outlined dense")
            hint = ui.input("Subject").props("outlined dense").classes("search")
            seed, tasks = (ui.number(label, value=value, precision=0).props("outlined dense")
                           for label, value in (("Seed", 0), ("Tasks", 64)))
            author = ui.input("Author").props("outlined dense")
        with ui.element("div").classes("actions"):
            view.permit(ui.button("Make package", on_click=lambda: view.tried(make), color=None).props(
                "unelevated no-caps").classes("primary"), "run")


def _packages(found: Sequence[EnvironmentPackage]) -> Markup:
    if not found:
        return parts.empty("No packages yet", "A package is made above, or added with the command.",
                           'hone environments make library "a public library"')
    columns = [Column("Package"), Column("Version", RIGHT), Column("About", "wide"), Column("Tools", RIGHT),
               Column("Tables", RIGHT), Column("Tasks", RIGHT), Column("Digest", "name"), Column("Added")]
    return parts.section("Packages", tables.table(columns, [[
        tag("strong", one.name), formats.count(one.version), one.summary, formats.count(len(one.tools)),
        formats.count(len(one.tables)), _tasks(one), mono(one.digest[:12]), parts.moment(one.created_at)]
        for one in found]))


def _tasks(one: EnvironmentPackage) -> Markup:
    each = ", ".join(f"{count} of difficulty {level}" for level, count in one.difficulties.items())
    return tag("span", formats.count(one.tasks), title=each)


def _jobs(found: Sequence[PackageJob]) -> Markup:
    if not found:
        return Markup("")
    columns = [Column("Package"), Column("State"), Column("Hint", "wide"), Column("Tasks", RIGHT),
               Column("Reason", "wide"), Column("Asked")]
    return parts.section("Made from hints", tables.table(columns, [[
        tag("strong", one.name), parts.chip(one.state, _TONES[one.state]), _hint(one),
        formats.count(one.report.get("tasks_accepted", one.tasks)),
        one.reason or (one.stage if one.state == "taken" else ""), parts.moment(one.created_at)]
        for one in found]), note="The newest twenty.")


def _hint(one: PackageJob) -> Markup:
    """Show a hint, and who writes its package, with what models used."""
    tokens = int(sum(used["tokens"] for used in one.used.values()))
    if one.author is None and not tokens:
        return tag("span", one.hint)
    by = f"by {one.author.named}, " if one.author else ""
    return join([tag("span", one.hint), tag("div", f"{by}{formats.count(tokens)} tokens", class_="note")])
