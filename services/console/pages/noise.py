"""/runs/{id}/noise: what each type of noise did to the held-out answers, beside their clean twins."""

from collections.abc import Callable, Sequence

from nicegui import ui
from starlette.requests import Request

from hone.client.noise import NoiseReport, NoiseRow
from hone.client.resources import Run
from services.console.pages.run_header import RunHeader
from services.console.view import PageView
from services.console.widgets import formats, parts
from services.console.widgets.markup import Markup, html, join, tag

_BEHAVIOUR = ("Means of an answer. Stable: share of answers with nearly the same order of tools as without noise. "
              "Misled: share of answers that repeat content of the noise alone. Deviated: by the judge of eval.noise.")


async def show(view: PageView, request: Request) -> None:
    """Show the report of the newest evaluation with noise, and keep it current."""
    run = await view.ask(view.hone.run, request.path_params["run_id"])
    header, shown = RunHeader(view, run, "Noise"), ui.element("div")
    with shown:
        content = html(Markup(""))

    async def load() -> None:
        await header.refresh()
        content.set_content(page(run, await view.ask(view.hone.noise, run.id)))

    await load()
    view.live(load)


def page(run: Run, found: NoiseReport) -> Markup:
    """Return the whole of the page below its head."""
    if not found.rows:
        return parts.empty("No noise", "No evaluation of this run has had noise yet. A spec asks for it by eval.noise.")
    note = (f"Held-out answers after step {found.step}. Each task is answered without noise and under each type of "
            "noise, which changes results of tools and leaves the world as it is. An answer succeeds from a score of "
            f"{found.success:g}. Drops are against the clean answers to the same tasks.")
    rewards = parts.section("Rewards under noise", _rewards(found), note=note)
    behaviour = parts.section("Behaviour under noise", _behaviour(found), note=_BEHAVIOUR)
    return tag("div", rewards, behaviour, _figures(found), class_="stacked")


def _rewards(found: NoiseReport) -> Markup:
    most = max(len(row.pass_hat) for row in found.rows)
    columns = ["Reward", "Drop", *(f"pass^{k}" for k in range(1, most + 1))]
    return _table(found, "Rewards by type of noise", columns, lambda row: [
        tag("span", f"{row.reward:.3f}", class_="strong"), _share(row.drop),
        *(f"{value:.3f}" for value in row.pass_hat), *[formats.ABSENT] * (most - len(row.pass_hat))])


def _behaviour(found: NoiseReport) -> Markup:
    columns = ["Tokens", "Turns", "Injections", "Stable", "Similar", "Entropy", "Misled", "Deviated"]
    return _table(found, "Behaviour by type of noise", columns, lambda row: [
        f"{row.tokens:.0f}", f"{row.turns:.1f}", f"{row.injections:.2f}", _share(row.stable), _number(row.similar),
        _number(row.entropy), _share(row.misled), _share(row.deviated)])


def _table(
    found: NoiseReport, caption: str, columns: Sequence[str], cells: Callable[[NoiseRow], Sequence[object]],
) -> Markup:
    head = [tag("th", one, scope="col", class_="number") for one in columns]
    body = [tag("tr", _name(row), *(
        tag("td", cell, class_="number", data_label=column)
        for column, cell in zip(columns, cells(row), strict=True))) for row in found.rows]
    table = tag("table", tag("caption", caption, class_="unseen"),
                tag("thead", tag("tr", tag("th", "Noise", scope="col"), *head)), tag("tbody", *body))
    return tag("div", table, class_="scroll", tabindex="0", role="region", aria_label=caption)


def _name(row: NoiseRow) -> Markup:
    counts = f"{row.tasks} tasks, {row.trials} answers" + (f", {row.masked} masked" if row.masked else "")
    return tag("th", join([row.noise or "clean", tag("div", counts, class_="faint")]), scope="row")


def _number(value: float | None) -> object:
    return formats.ABSENT if value is None else f"{value:.3f}"


def _share(value: float | None) -> object:
    return formats.ABSENT if value is None else f"{100 * value:.1f} %"


def _figures(found: NoiseReport) -> Markup:
    drops = [(row.drop, row.noise) for row in found.rows if row.drop is not None]
    shown = []
    if drops:
        drop, worst = max(drops)
        shown.append(parts.figure("Hardest noise", worst, f"{100 * drop:.1f} % of the clean reward is lost"))
    if judged := sum(row.judged for row in found.rows):
        kept = ", ".join(f"{row.noise} {row.undeviated:.3f}" for row in found.rows if row.undeviated is not None)
        shown.append(parts.figure("Judged", str(judged), f"answers; reward where deviation counts 0: {kept}"))
    if failed := sum(row.failed for row in found.rows):
        shown.append(parts.figure("Stayed clean", str(failed), "results, because the noiser's words did not fit"))
    if undefined := max(row.undefined for row in found.rows):
        shown.append(parts.figure("Without a clean success", str(undefined), "tasks; nothing of them can drop"))
    if found.truncated:
        shown.append(parts.figure("Incomplete", "Yes", "there are more answers than are read", "warn"))
    return parts.figures(*shown) if shown else Markup("")
