"""`python -m benchmarks.through_services.report`: curves and docs/measured/through-the-services.md."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from benchmarks.results import load
from benchmarks.through_services.comparison import START, Comparison, Direction, Inside, Near, Spec
from benchmarks.through_services.comparisons import COMPARISONS
from benchmarks.through_services.curves import FIGURES, Curve, budget, figures, interval, spread, verdict
from benchmarks.through_services.plot import draw
from benchmarks.through_services.results import RESULT, curves
from benchmarks.through_services.starts import STARTS

TARGET = Path("docs/measured/through-the-services.md")
_HEAD = """# Through the services

Made by `make bench-through-services`; not edited by hand. Each method is a managed run on an embedded stack, every
service a process of its own, against GRPO with the same start, tasks, seeds and number of rollouts. Only what stands on
this page is called *through the services*; what was measured of a method's functions alone is
[toy level](experiments.md).

Models are toys of half a million parameters, so a page takes minutes on two cores and says whether a method works as it
runs here, not what it is worth at scale. Accuracy is that of held-out tasks: *sampled* at temperature 1, *greedy* the
likeliest answer, both at the end; *area* is the mean of the first over the whole curve. Cells are means over seeds,
with the smallest and the largest. A direction is what the method's authors lead one to expect; beside it stands the
difference of each seed, and the 95 % interval of their mean (Student's t over seeds, paired). A direction *held* where
the interval is above 0. An effect that is smaller than what seeds differ by is no effect here, on whichever side it is.
"""
Figures = Mapping[str, Sequence[Mapping[str, float]]]
"""Arm -> the figures of each of its runs, in the order of seeds."""


def main() -> None:
    """Draw the curves and write the page, which says of what was not measured that it was not."""
    kept = load(RESULT) if RESULT.exists() else {"starts": {}, "comparisons": {}}
    for name, comparison in kept["comparisons"].items():
        draw(name, curves(comparison), RESULT.with_suffix("") / f"{name}.svg")
    TARGET.write_text(page(kept))
    print(f"written to {TARGET}")


def page(kept: Mapping[str, Any]) -> str:
    """Return the whole page."""
    known = {name: kept["comparisons"][name] for name in COMPARISONS if name in kept["comparisons"]}
    missing = [_unmeasured(name, comparison) for name, comparison in COMPARISONS.items() if name not in known]
    by_name = {name: reached(comparison) for name, comparison in known.items()}
    return "\n".join([
        _HEAD, *([_summary(by_name)] if known else []),
        *(_section(name, COMPARISONS[name], known[name], found) for name, found in by_name.items()), *missing,
        *([_starts(kept["starts"])] if kept["starts"] else []), ""])


def at_equal_rollouts(arms: Mapping[str, Sequence[Curve]]) -> Figures:
    """Return the figures of every run where every run has got."""
    equal = budget(arms)
    return {arm: [figures(run, equal) for run in runs] for arm, runs in arms.items()}


def reached(kept: Mapping[str, Any]) -> Figures:
    """Return the figures of every run at equal rollouts, those beside the curve at its end, and of START by its seeds.
    """
    found = at_equal_rollouts(curves(kept))
    whole = {arm: [{**own, **run.get("further", {})} for own, run in zip(runs, kept["arms"][arm]["raw"], strict=True)]
             for arm, runs in found.items()}
    first = [run[0] for run in curves(kept)[next(iter(found))]]
    return {**whole, START: [{"sampled": point.sampled, "greedy": point.greedy} for point in first]}


def differences(found: Figures, direction: Direction) -> list[float]:
    """Return how far the arm is above the other, seed by seed."""
    pairs = zip(found[direction.arm], found[direction.over], strict=True)
    return [more[direction.figure] - less[direction.figure] for more, less in pairs]


def _summary(by_name: Mapping[str, Figures]) -> str:
    rows = [row for name, found in by_name.items() for row in (
        *([f"[{name}](#{name})", str(direction), _mean(apart), verdict(apart)]
          for direction in COMPARISONS[name].expects for apart in [differences(found, direction)]),
        *([f"[{name}](#{name})", str(near), f"{spread(_values(found, near)).mean:.3f}", _reached(found, near)]
          for near in COMPARISONS[name].near))]
    return table(["method", "expected", "measured", "direction"], rows)


def _section(name: str, comparison: Comparison, kept: Mapping[str, Any], found: Figures) -> str:
    machine, seeds = kept["machine"], [run["seed"] for run in kept["arms"][comparison.baseline]["raw"]]
    return "\n".join([
        f"\n## {name}\n", f"{comparison.question} ({comparison.source})\n",
        f"![{name}](../../benchmarks/results/through_services/{name}.svg)\n", _figures(kept, found, comparison), "",
        *(_direction(found, direction) for direction in comparison.expects),
        *(_inside(kept, direction) for direction in comparison.inside),
        *(_near(found, near) for near in comparison.near), *_components(kept),
        *([f"\n{comparison.remark}"] if comparison.remark else []),
        f"\n<details><summary>Specs</summary>\n\n{_specs(kept['arms'], seeds)}\n</details>\n",
        f"{len(seeds)} seeds, {kept['date']}, {machine['cores']} cores of {machine['cpu']}: "
        f"`python -m benchmarks.through_services {name}`."])


def _unmeasured(name: str, comparison: Comparison) -> str:
    """Return the section of a comparison without results: what is asked and how it will be."""
    specs = {arm: {"spec": spec} for arm, spec in comparison.arms.items()}
    expected = ", ".join(map(str, comparison.expects))
    return "\n".join([
        f"\n## {name}\n", f"{comparison.question} ({comparison.source})\n",
        f"Not measured yet: `python -m benchmarks.through_services {name}`. Expected: {expected}.",
        f"\n<details><summary>Specs</summary>\n\n{_specs(specs, [0, 1, 2])}\n</details>"])


def _figures(kept: Mapping[str, Any], found: Figures, comparison: Comparison) -> str:
    equal, shown = budget(curves(kept)), [*FIGURES, *comparison.figures]
    rows = [[arm, *(_cell([run[figure] for run in found[arm]]) for figure in shown)] for arm in kept["arms"]]
    return table([f"after {equal} rollouts", *shown], rows)


def _cell(values: Sequence[float]) -> str:
    over = spread(values)
    return f"{over.mean:.3f} ({over.low:.3f} to {over.high:.3f})"


def _direction(found: Figures, direction: Direction) -> str:
    return _said(str(direction), differences(found, direction))


def _said(direction: str, apart: Sequence[float]) -> str:
    outcome = verdict(apart)
    said = outcome if outcome == "held" else f"**{outcome}**"
    return f"- {said}: {direction}, {_mean(apart)} ({', '.join(f'{value:+.3f}' for value in apart)})"


def _mean(apart: Sequence[float]) -> str:
    width = interval(apart)
    return f"{spread(apart).mean:+.3f}" + ("" if width is None else f" ± {width:.3f}")


def _inside(kept: Mapping[str, Any], direction: Inside) -> str:
    runs = [run["components"] for run in kept["arms"][direction.arm]["raw"]]
    return _said(str(direction), [one[direction.component][1] - one[direction.over][1] for one in runs])


def _near(found: Figures, near: Near) -> str:
    said, values = _reached(found, near), _values(found, near)
    each = ", ".join(f"{value:.3f}" for value in values)
    return f"- {said if said == 'held' else f'**{said}**'}: {near}, {spread(values).mean:.3f} ({each})"


def _reached(found: Figures, near: Near) -> str:
    return "held" if abs(spread(_values(found, near)).mean - near.value) <= near.within else "missed"


def _values(found: Figures, near: Near) -> list[float]:
    return [run[near.figure] for run in found[near.arm]]


def _components(kept: Mapping[str, Any]) -> list[str]:
    """Return a table of what the components of the grades were before and after, for arms that have some."""
    rows = [[arm, name, *(_cell([run["components"][name][end] for run in of["raw"]]) for end in (0, 1))]
            for arm, of in kept["arms"].items() for name in of["raw"][0].get("components", {})]
    return ["", table(["arm", "component of sampled answers", "before", "after"], rows)] if rows else []


def _specs(arms: Mapping[str, Any], seeds: Sequence[int]) -> str:
    """Return the baseline's whole spec, and of each other arm the keys that differ."""
    (baseline, first), *others = [(arm, kept["spec"]) for arm, kept in arms.items()]
    texts = [f"`{baseline}`, with seed {', '.join(map(str, seeds))}:\n\n{_yaml(first)}"]
    texts += [f"`{arm}`, the same with:\n\n{_yaml(_other(spec, first))}" for arm, spec in others]
    return "\n".join(texts)


def _other(spec: Spec, first: Spec) -> Spec:
    return {key: value for key, value in spec.items() if first.get(key) != value}


def _yaml(spec: Spec) -> str:
    plain = json.loads(json.dumps(spec))  # shared parts would become YAML's anchors
    text = yaml.safe_dump(plain, sort_keys=False, default_flow_style=None, width=110)
    return f"```yaml\n{text}```\n"


def _starts(starts: Mapping[str, Any]) -> str:
    rows = [[f"`{name}`", STARTS[name].origin, f"{one['spec']['steps']}", f"{one['sampled']:.3f}",
             f"{one['greedy']:.3f}"]
            for name, one in starts.items() if name in STARTS]
    return "\n".join([
        "\n## Where runs start\n", "`model.base` and `roles.teacher.model` of the specs above stand for the run that "
        "taught this policy, a managed supervised run of 64 demonstrations a step.\n",
        table(["start", "how it came to be", "steps", "sampled", "greedy"], rows)])


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *rows])


if __name__ == "__main__":
    main()
