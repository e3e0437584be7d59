"""`python -m benchmarks.methods.report`: docs/measured/experiments.md from the stored results."""

from pathlib import Path
from typing import Any

from benchmarks.methods import EXPERIMENTS
from benchmarks.methods.measured import world
from benchmarks.results import RESULTS, load

TARGET = Path("docs/measured/experiments.md")
_HEAD = """# Behavioural experiments

Made by `make bench-methods`; not edited by hand. Level `toy`: each method's own functions in a world of a few numbers,
against its baseline, means over seeds. Each direction that the method's spec expects stands beside what was measured;
one that was missed is said so. Methods that run whole, against GRPO on a stack: [through the
services](through-the-services.md).
"""


def main() -> None:
    """Write the page from what is stored."""
    TARGET.write_text(page({name: load(RESULTS / "methods" / f"{name}.json") for name in sorted(EXPERIMENTS)}))
    print(f"written to {TARGET}")


def page(results: dict[str, dict[str, Any]]) -> str:
    """Return the whole page."""
    held = [one["holds"] for result in results.values() for one in result["expectations"]]
    summary = f"{sum(held)} of {len(held)} expected directions held in {len(results)} experiments."
    return "\n".join([_HEAD, summary, *(_section(name, result) for name, result in results.items())])


def _section(name: str, result: dict[str, Any]) -> str:
    machine = result["machine"]
    return "\n".join([
        f"\n## {name}\n", f"{result['question']} ({result['spec']})\n", f"{world(EXPERIMENTS[name])}\n",
        _table(result["means"]), "",
        *(f"- {'held' if one['holds'] else '**missed**'}: {one['text']}" for one in result["expectations"]),
        f"\n![{name}](../../benchmarks/results/methods/{name}.svg)\n",
        f"{result['seeds']} seeds, {result['wall_s']} s, {result['date']}, {machine['cores']} cores of "
        f"{machine['cpu']}: `python -m benchmarks.methods {name}`."])


def _table(means: dict[str, dict[str, float]]) -> str:
    names = list(dict.fromkeys(name for figures in means.values() for name in figures))
    rows = [[variant, *(_number(figures.get(name)) for name in names)] for variant, figures in means.items()]
    lines = [["variant", *names], ["---"] * (len(names) + 1), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


if __name__ == "__main__":
    main()
