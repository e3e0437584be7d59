"""/benchmarks/{name}: checkpoints by their score on frozen tasks, with intervals, cost, failing calls and failures."""

from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlencode

from nicegui import ui
from starlette.requests import Request

from hone.client.benchmark_resources import Leaderboard, Standing, TaskGroup
from hone.client.matrix import Estimate
from services.console.view import PageView
from services.console.widgets import formats, parts, tables
from services.console.widgets.markup import Markup, html, join, link, mono, tag
from services.console.widgets.tables import RIGHT, Column

_SERIES = {"sampled": "Sampled answers", "greedy": "Greedy answers"}
_EVALUATIONS = {"newest": "Newest of each run", "all": "Every evaluation"}
FAILURES: Mapping[str, tuple[str, str]] = {
    "not_attempted": ("not attempted", "off"), "reported_but_not_done": ("reported but not done", "bad"),
    "wrong_object": ("wrong object", "wait"), "wrong_value": ("wrong value", "busy"),
    "wrong_time": ("wrong time", "good"), "side_effect": ("side effect", "warn")}
"""Class of a failed check -> what it is called, and its colour."""
_SLIM = f"{RIGHT} slim"
_FAULTS = {"malformed": "cannot be read", "unknown_tool": "no such tool", "wrong_arguments": "wrong arguments",
           "refused": "refused by the tool"}


async def show(view: PageView, request: Request) -> None:
    """Show the leaderboard that the path names, or else the first one, and keep it current."""
    known = await view.ask(view.hone.benchmarks)
    name = request.path_params.get("name", known[0].name)
    series, evaluations = (given if (given := request.query_params.get(of, "")) in among else next(iter(among))
                           for of, among in (("series", _SERIES), ("evaluations", _EVALUATIONS)))
    found = await view.ask(view.hone.leaderboard, name, series, evaluations)
    html(parts.heading("Leaderboard", found.benchmark.summary))
    with ui.element("div").classes("stacked"):
        html(_choices(name, [one.name for one in known], series, evaluations))
        content = html(Markup(""))
        await _examine_form(view, name)

    async def load() -> None:
        content.set_content(page(await view.ask(view.hone.leaderboard, name, series, evaluations)))

    await load()
    view.live(load, every_s=10.0)


async def _examine_form(view: PageView, name: str) -> None:
    models = [one.name for one in (await view.ask(view.hone.models, 200)).data]

    async def examine() -> None:
        run = await view.ask(view.hone.examine, name, str(model.value or ""), int(samples.value or 0),
                             int(max_tokens.value or 0))
        ui.navigate.to(f"/runs/{run.id}")

    with ui.element("section").classes("panel"):
        html(tag("h2", "Examine a model"))
        html(tag("p", "A run that trains nothing has it do every task. Runs that evaluate by these tasks while they "
                      "train are listed by themselves.", class_="note"))
        with ui.element("div").classes("filters"):
            model = ui.input("Model, version or finished run", autocomplete=models).props("outlined dense").classes(
                "search")
            samples, max_tokens = (ui.number(label, value=value, precision=0, min=1).props("outlined dense")
                                   for label, value in (("Answers to a task", 1), ("Most tokens of a call", 256)))
        with ui.element("div").classes("actions"):
            view.permit(ui.button("Examine", on_click=lambda: view.tried(examine), color=None).props(
                "unelevated no-caps").classes("primary"), "run")


def _choices(name: str, names: Sequence[str], series: str, evaluations: str) -> Markup:
    """Return links to other benchmarks, other answers, and to every evaluation."""
    def jumps(titles: Mapping[str, str], here: str, to: Callable[[str], str], label: str) -> Markup:
        return tag("nav", *(link(title, to(one), aria_current="page" if one == here else None)
                            for one, title in titles.items()), class_="jumps", aria_label=label)

    def path(of: str, **query: str) -> str:
        return f"/benchmarks/{of}?{urlencode(query)}"

    return tag("div",
               jumps({one: one for one in names}, name, lambda one: f"/benchmarks/{one}", "Benchmarks")
               if len(names) > 1 else "",
               jumps(_SERIES, series, lambda one: path(name, series=one, evaluations=evaluations), "Answers"),
               jumps(_EVALUATIONS, evaluations, lambda one: path(name, series=series, evaluations=one), "Evaluations"),
               class_="choices")


def page(found: Leaderboard) -> Markup:
    """Return the whole of the page below its head, without the form."""
    if not found.standings:
        return parts.empty("No checkpoint yet", "Nothing was evaluated by these tasks. Examine a model below, or:",
                           f"hone benchmark examine {found.benchmark.name} MODEL")
    return tag("div", parts.section("Checkpoints", _table(found), note=_note(found)),
               parts.section("Failures and calls", _legend(), _failures(found.standings), note=(
                   "Failed checks of an answer by class, and how its tool calls went. A claim is false where an "
                   "answer reports work that was not done.")),
               _heat("By family", found, found.benchmark.families, lambda one: one.families),
               _heat("By difficulty", found, found.benchmark.difficulties, lambda one: one.difficulties),
               class_="stacked")


def _note(found: Leaderboard) -> Markup:
    version = mono(found.benchmark.version[:12], found.benchmark.version)
    said = [tag("span", f"{found.benchmark.tasks} tasks, version ", version,
                ". Scores are from 0 to 100; bands are 95 % intervals over tasks. ")]
    if found.differing:
        names = ", ".join(one.replace("_", " ") for one in found.differing)
        said.append(tag("span", f"Not asked alike: {names} differ. ", class_="warned"))
    if found.truncated:
        said.append(tag("span", "There are more evaluations than are read.", class_="warned"))
    return join(said)


def _table(found: Leaderboard) -> Markup:
    columns = [Column("", "rank"), Column("Checkpoint", "name"), Column("Score", "scored"), Column("Passed", _SLIM),
               Column("Behind first", _SLIM), Column("Tokens", RIGHT), Column("Calls", RIGHT), Column("Took", RIGHT)]
    return tables.table(columns, [[
        formats.ABSENT if one.rank is None else str(one.rank), _checkpoint(found, one), _score(one), _passed(one),
        _behind(one), _tokens(one), _calls(one), _took(one)] for one in found.standings])


def _checkpoint(found: Leaderboard, one: Standing) -> Markup:
    query = urlencode({"step": one.step, "series": found.series})
    shown = [link(one.model, f"/benchmarks/{found.benchmark.name}/{one.run_id}?{query}", class_="strong mono")]
    lacking = found.benchmark.tasks - one.tasks
    if not one.complete:
        shown.append(parts.chip(f"{lacking} tasks missing", "warn"))
    if one.masked:
        shown.append(parts.chip(f"{one.masked} masked", "wait"))
    asked = {name: one.conditions[name] for name in found.differing if name in one.conditions}
    other = "; ".join(f"{name.replace('_', ' ')} {_plain(value)}" for name, value in asked.items())
    return join([*shown, tag("div", join([link(one.run_name, f"/runs/{one.run_id}"), f", {other}" if other else ""]),
                             class_="note")], " ")


def _calls(one: Standing) -> Markup:
    failed = tag("div", f"{100 * one.reliability.failed:.0f} % failed", class_="note")
    return join([tag("span", f"{one.reliability.calls:.1f}"), failed])


def _took(one: Standing) -> Markup:
    when = tag("div", parts.moment(one.evaluated_at), class_="note")
    return join([tag("span", formats.duration(one.cost.seconds)), when])


def _label(one: Standing) -> Markup:
    return join([mono(one.model), tag("div", one.run_name, class_="note")])


def _plain(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_plain(one)}" for name, one in value.items() if one is not None) or "by default"
    return str(value)


def _score(one: Standing) -> Markup:
    return tag("div", tag("span", formats.number(one.score.value), class_="strong"), band(one.score),
               tag("span", _interval(one.score), class_="note"), class_="ranged")


def band(found: Estimate) -> Markup:
    """Return an estimate between 0 and 100 as a bar with its interval. What it shows also stands beside it."""
    if found.value is None or found.low is None or found.high is None:
        return Markup("")
    return tag("div", tag("i"), tag("b"), class_="range", aria_hidden="true",
               style=f"--low:{found.low:.2f};--value:{found.value:.2f};--high:{found.high:.2f}")


def _interval(found: Estimate, digits: int = 1) -> str:
    if found.low is None or found.high is None:
        return ""
    return f"{found.low:.{digits}f} to {found.high:.{digits}f}"


def _passed(one: Standing) -> Markup:
    if one.passed.value is None or one.passed.low is None or one.passed.high is None:
        return Markup(formats.ABSENT)
    return join([tag("span", f"{100 * one.passed.value:.0f} %", class_="strong"),
                 tag("div", f"{100 * one.passed.low:.0f} to {100 * one.passed.high:.0f}", class_="note")])


def _behind(one: Standing) -> Markup:
    own = one.behind
    if not own.value:
        return tag("span", "first" if one.rank == 1 else formats.ABSENT, class_="faint")
    if not own.real:
        return join([tag("span", f"{own.value:.1f}", class_="faint"), tag("div", "may be none", class_="faint")])
    return join([tag("span", f"{own.value:.1f}", class_="strong"), tag("div", _interval(own), class_="note")])


def _tokens(one: Standing) -> Markup:
    money = "" if one.cost.money is None else tag(
        "div", f"{formats.number(one.cost.money)} {one.cost.currency}", class_="note")
    read = tag("div", f"{formats.count(one.cost.prompt_tokens)} read", class_="note")
    return join([tag("span", formats.count(round(one.cost.completion_tokens))), money or read])


def _legend() -> Markup:
    return tag("div", *(tag("span", tag("i", class_=f"tone {tone}"), name) for name, tone in FAILURES.values()),
               class_="classes")


def _failures(standings: Sequence[Standing]) -> Markup:
    columns = [Column("Checkpoint", "name"), Column("Failed checks of an answer", "stacks"),
               Column("False claims", RIGHT), Column("Collateral", RIGHT), Column("Failed calls", RIGHT),
               Column("Why", "wide")]
    most = max([sum(one.failures.values()) for one in standings], default=0.0) or 1.0
    return tables.table(columns, [[
        _label(one), _stack(one.failures, most), f"{100 * one.false_claims:.0f} %", f"{one.collateral:.2f}",
        f"{100 * one.reliability.failed:.1f} %", _why(one)] for one in standings])


def _stack(failures: Mapping[str, float], most: float) -> Markup:
    """Return failed checks as a bar with a piece for each class; its length compares with the longest one."""
    named = [(*FAILURES[name], failures[name]) for name in FAILURES if failures.get(name)]
    if not named:
        return tag("span", "none", class_="faint")
    pieces = [tag("i", class_=f"tone {tone}", style=f"width:{100 * count / most:.2f}%", title=f"{name}: {count:.2f}")
              for name, tone, count in named]
    words = ", ".join(f"{name} {count:.2f}" for name, _, count in named)
    return tag("div", tag("div", *pieces, class_="stack", aria_hidden="true"), tag("div", words, class_="note"))


def _why(one: Standing) -> str:
    return ", ".join(f"{_FAULTS.get(name, name)} {100 * share:.1f} %"
                     for name, share in one.reliability.faults.items() if share) or formats.ABSENT


def _heat(
    title: str, found: Leaderboard, names: Mapping[str, int], groups: Callable[[Standing], Sequence[TaskGroup]],
) -> Markup:
    """Return the scores by family or difficulty as a table with colours."""
    head = [tag("th", join([name, tag("div", f"{count} tasks", class_="faint")]), scope="col", class_="number")
            for name, count in names.items()]
    body = []
    for one in found.standings:
        own = {group.name: group for group in groups(one)}
        cells = [_cell(name, own.get(name)) for name in names]
        body.append(tag("tr", tag("th", _label(one), scope="row"), *cells))
    table = tag("table", tag("caption", title, class_="unseen"),
                tag("thead", tag("tr", tag("th", "Checkpoint", scope="col"), *head)), tag("tbody", *body),
                class_="matrix by-kind")
    shown = tag("div", table, class_="scroll", tabindex="0", role="region", aria_label=title)
    return parts.section(title, shown, note=(
        "Mean scores with 95 % intervals over tasks. More colour is higher. Few tasks say little."))


def _cell(name: str, group: TaskGroup | None) -> Markup:
    if group is None or group.score.value is None:
        return tag("td", formats.ABSENT, class_="number slim", data_label=name)
    value = tag("span", f"{group.score.value:.0f}", class_="strong")
    return tag("td", join([value, tag("div", _interval(group.score, 0), class_="note")]), class_="number heat slim",
               data_label=name, style=f"--share: {group.score.value / 100:.3f}")
