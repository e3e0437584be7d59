"""Scores of training over several numbers of domains: on a domain that all train, and on those that none does."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

from benchmarks.markdown import markdown

Result = Mapping[str, Any]
_T = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}
"""Student's t at 97.5 %, by the number of seeds."""


def table(results: Sequence[Result]) -> str:
    """Return scores by the number of domains that were trained, and what more domains gain on unseen ones."""
    [result] = results
    head = ("domains trained", "trained domain, after imitation", "at the end", "unseen, after imitation", "at the end",
            "greedy", "training reward, first and last 3 steps of RL")
    scores = markdown(head, [base(result), *rows(result)])
    return f"{scores}\n\nOn unseen domains, after imitation, {gains(result, 0)}. At the end, {gains(result, -1)}."


def base(result: Result) -> tuple[str, ...]:
    """Return the row of the base, which has no training: means over the sources that its runs evaluate."""
    seen, unseen, greedy = (fmean(
        _score(run, names or run["trained"][:1], figure, None) for run in result["runs"]) for names, figure in (
            ((), "sampled"), (result["unseen"], "sampled"), (result["unseen"], "greedy")))
    return "none: the base", f"{seen:.2f}", "", f"{unseen:.2f}", "", f"{greedy:.2f}", ""


def rows(result: Result) -> Iterator[tuple[str, ...]]:
    """Yield a row for each number of domains: scores after the imitation and at the end, means over seeds."""
    for count in sorted({run["domains"] for run in result["runs"]}):
        runs = [run for run in result["runs"] if run["domains"] == count]
        reward = [(fmean(value for _, value in run["reward"][:3]), fmean(value for _, value in run["reward"][-3:]))
                  for run in runs]
        yield (str(count), *(interval([_score(run, unseen or run["trained"][:1], "sampled", place) for run in runs])
                             for unseen in ((), result["unseen"]) for place in (0, -1)),
               interval([_score(run, result["unseen"], "greedy", -1) for run in runs]),
               f"{fmean(one for one, _ in reward):.2f} → {fmean(one for _, one in reward):.2f}")


def gains(result: Result, place: int) -> str:
    """Return by how much each larger number of domains beats one domain on unseen ones, by pairs of equal seeds."""
    ends = {(run["domains"], run["seed"]): _score(run, result["unseen"], "sampled", place) for run in result["runs"]}
    counts, seeds = sorted({count for count, _ in ends}), sorted({seed for _, seed in ends})
    said = [f"{count} domains against {counts[0]}: {interval(pairs, '+')}" for count in counts[1:]
            if (pairs := [ends[count, seed] - ends[counts[0], seed] for seed in seeds
                          if {(count, seed), (counts[0], seed)} <= ends.keys()])]
    return "; ".join(said)


def interval(values: Sequence[float], sign: str = "") -> str:
    """Return the mean with its 95 % interval over seeds, as far as there are several."""
    mean = f"{fmean(values):{sign}.2f}"
    if len(values) not in _T:
        return mean
    return f"{mean} ± {_T[len(values)] * stdev(values) / len(values) ** 0.5:.2f}"


def _score(run: Result, names: Sequence[str], figure: str, place: int | None) -> float:
    """Return the mean of sources after the imitation (place 0), at the end (-1), or before any step (None)."""
    return fmean(_at(run["scores"][f"source/{name}/eval/{figure}"], place) for name in names)


def _at(values: Mapping[str, float], place: int | None) -> float:
    if place is None:
        return values["0"]
    steps = sorted(int(step) for step in values if int(step) > 0)
    return values[str(steps[place])]
