"""/runs/{id}/curation: the tasks of a run by the structure of their rollouts, and the graph of one of them."""

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence

from nicegui import ui
from starlette.requests import Request

from hone.client.curation import CuratedTask, Curation, CurationNode
from services.console.pages.run_header import RunHeader
from services.console.view import PageView
from services.console.widgets import formats, parts, tables
from services.console.widgets.markup import Markup, html, join, link, mono, tag
from services.console.widgets.tables import RIGHT, Column

_WIDTH, _HEIGHT, _BOX, _LINE = 168, 74, 132, 44  # of a node's place and of its box
_SHOWN, _LABEL = 60, 17  # nodes that are drawn, and characters of a label


async def show(view: PageView, request: Request) -> None:
    """Show the tasks of the newest groups, and the graph of the task that the query parameter `task` names."""
    run = await view.ask(view.hone.run, request.path_params["run_id"])
    header, shown = RunHeader(view, run, "Curation"), ui.element("div")
    with shown:
        content = html(Markup(""))
    chosen = request.query_params.get("task", "")
    await header.refresh()
    content.set_content(page(run.id, await view.ask(view.hone.curation, run.id), chosen))


def page(run_id: str, found: Curation, chosen: str = "") -> Markup:
    """Return the whole of the page below its head."""
    if not found.tasks:
        return parts.empty("No samples yet", "Tasks appear here once training groups of the run are stored.")
    task = next((one for one in found.tasks if one.task_hash == chosen), found.tasks[0])
    older = " Older groups were left out." if found.truncated else ""
    note = (f"Tasks of the newest groups, of steps {found.first_step} to {found.last_step}, those first whose outcome "
            f"is decided by choices.{older} The formulas are a reconstruction of TopoCurate.")
    return tag("div", parts.section("Tasks", _tasks(run_id, found, task), note=note), _of_task(run_id, task),
               class_="stacked")


def _tasks(run_id: str, found: Curation, shown: CuratedTask) -> Markup:
    columns = [Column("Task"), Column("Source"), Column("Rollouts", RIGHT), Column("Pass rate", RIGHT),
               Column("Error branches", RIGHT), Column("Different chains", RIGHT), Column("Worth", RIGHT),
               Column("Probability", RIGHT)]
    return tables.table(columns, [[
        link(mono(one.task_hash[:12]), f"/runs/{run_id}/curation?task={one.task_hash}",
             aria_current="true" if one is shown else None), one.source or formats.ABSENT, one.rollouts,
        f"{one.pass_rate:.0%}", f"{one.error_branches:.0%}", f"{one.heterogeneity:.0%}", f"{one.score:.3f}",
        f"{one.probability:.1%}"] for one in found.tasks])


def _of_task(run_id: str, task: CuratedTask) -> Markup:
    few = " It has too few rollouts for its graph to say much." if task.few else ""
    note = (f"Equal and similar turns of the {task.rollouts} rollouts are one box; its fill is the share of rollouts "
            "through it that succeeded, and the more rollouts took a way, the thicker it is. Only failures took a "
            f"red way.{few}")
    asked = tag("p", task.prompt[-400:], class_="note") if task.prompt else ""
    columns = [Column("Sample"), Column("Score", RIGHT), Column("Recovery", RIGHT), Column("Efficiency", RIGHT),
               Column("Diversity", RIGHT), Column("Weight", RIGHT), Column("Selected")]
    rows = [[link(f"{one.group_id}/{one.index}", f"/runs/{run_id}/samples/{one.group_id}/{one.index}"),
             *map(formats.number, (one.score, one.reflection, one.efficiency, one.diversity, one.weight)),
             parts.chip("selected", "good") if one.selected else ""] for one in task.trajectories]
    return join([parts.section("Graph", asked, graph(task), note=note),
                 parts.section("Trajectories", tables.table(columns, rows))])


def graph(task: CuratedTask) -> Markup:
    """Return the graph of a task as a drawing: each node in a column by its distance from the start."""
    drawn = sorted(task.nodes, key=lambda one: (-one.rollouts, one.id))[:_SHOWN]
    places = _places(task, drawn)
    most = max(one.rollouts for one in task.nodes)
    lines = [_line(places[one.start], places[one.end], one.rollouts / most, one.successes == 0,
                   f"{one.rollouts} rollouts, {one.successes} succeeded")
             for one in task.edges if one.start in places and one.end in places]
    boxes = [_box(one, places[one.id]) for one in drawn]
    width = max(x for x, _ in places.values()) + _WIDTH
    height = max(y for _, y in places.values()) + _HEIGHT
    left_out = tag("p", f"{len(task.nodes) - len(drawn)} boxes that fewer rollouts pass are left out.",
                   class_="note") if len(drawn) < len(task.nodes) else ""
    words = f"{len(task.nodes)} kinds of turns, {len(task.edges)} ways between them"
    svg = tag("svg", *lines, *boxes, viewBox=f"0 0 {width} {height}", width=width, height=height, role="img",
              aria_label=f"Graph of rollouts: {words}")
    return join([tag("div", svg, class_="graph", tabindex="0", role="region", aria_label="Graph"), left_out])


def _places(task: CuratedTask, drawn: Sequence[CurationNode]) -> Mapping[int, tuple[int, int]]:
    """Return the upper left corner of each node's place; the end is in a column of its own, behind all others."""
    onward, depth, waiting = defaultdict[int, list[int]](list), {-1: 0}, deque([-1])
    for edge in task.edges:
        onward[edge.start].append(edge.end)
    while waiting:
        node = waiting.popleft()
        for after in onward[node]:
            if after not in depth:
                depth[after] = depth[node] + 1
                waiting.append(after)
    last = max((column for node, column in depth.items() if node != -2), default=0) + 1
    columns = defaultdict[int, list[int]](list)
    for one in drawn:
        columns[last if one.id == -2 else depth.get(one.id, last)].append(one.id)
    return {node: (column * _WIDTH + 10, row * _HEIGHT + 10)
            for column, nodes in columns.items() for row, node in enumerate(nodes)}


def _box(node: CurationNode, place: tuple[int, int]) -> Markup:
    x, y = place
    name = (node.tool or node.example or "turn") if node.id >= 0 else node.tool
    label = name if len(name) <= _LABEL else f"{name[:_LABEL - 1]}…"
    title = tag("title", f"{node.tool} {node.example}".strip() + ("" if node.ok else ", an error") +
                f": {node.rollouts} rollouts, {node.successes} succeeded, potential {node.potential:.2f}")
    share = node.successes / node.rollouts if node.rollouts else 0.0
    frame = tag("rect", title, x=x, y=y, width=_BOX, height=_LINE, rx=6,
                class_="node" if node.ok else "node wrong", style=f"--share: {share:.2f}")
    return tag("g", frame, tag("text", label, x=x + _BOX / 2, y=y + 18, class_="name"),
               tag("text", f"{node.successes} of {node.rollouts}", x=x + _BOX / 2, y=y + 34))


def _line(start: tuple[int, int], end: tuple[int, int], share: float, lost: bool, title: str) -> Markup:
    (x, y), (to_x, to_y) = start, end
    if to_x > x:
        middle, to_middle = y + _LINE / 2, to_y + _LINE / 2
        path = f"M{x + _BOX} {middle} C{x + _BOX + 24} {middle} {to_x - 24} {to_middle} {to_x} {to_middle}"
    else:  # back, or to itself: below both boxes
        under, below, left = max(y, to_y) + _LINE + 18, x + _BOX / 2, to_x + _BOX / 3
        path = f"M{below} {y + _LINE} C{below} {under} {left} {under} {left} {to_y + _LINE}"
    return tag("path", tag("title", title), d=path, class_="way lost" if lost else "way",
               stroke_width=f"{1 + 4 * share:.1f}")
