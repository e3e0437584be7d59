"""Graders that join the scores of others: what the whole has of its parts, beside its own score."""

from collections.abc import Iterable, Mapping

from hone.graders.contract import Names, Result, Status, with_costs


def masked(parts: Mapping[str, Result]) -> Result | None:
    """Return a result without score, for the first part that has none; None where every part has a score."""
    for name, result in parts.items():
        if result.score is None:
            return with_costs(Result(result.status, None, reasons=(f"{name}: {'; '.join(result.reasons)}",),
                                     decided_by=name), parts.values())
    return None


def scores(parts: Mapping[str, Result]) -> dict[str, float]:
    """Return the score of each part. Every part has one."""
    return {name: result.score or 0.0 for name, result in parts.items()}


def joined(parts: Mapping[str, Result], score: float, decided_by: str) -> Result:
    """Return the whole of parts that all have a score. Without an answer for every part there is none for the whole."""
    answered = any(result.status is not Status.NO_ANSWER for result in parts.values())
    inside = {f"{part}.{name}": value for part, result in parts.items() for name, value in result.components.items()}
    whole = Result(Status.OK if answered else Status.NO_ANSWER, score, components={**inside, **scores(parts)},
                   decided_by=decided_by, turns=_turns(parts.values()),
                   steps=tuple(step for result in parts.values() for step in result.steps),
                   reasons=tuple(f"{name}: {reason}" for name, result in parts.items() for reason in result.reasons))
    return with_costs(whole, parts.values())


def components(of_parts: Mapping[str, Names]) -> Names:
    """Return the parts' names, and those of their own components behind them."""
    return frozenset(of_parts) | {f"{name}.{inside}" for name, names in of_parts.items() for inside in names}


def _turns(results: Iterable[Result]) -> dict[str, dict[str, float]]:
    """Return the turn scores of all parts; those of one name are added."""
    found: dict[str, dict[str, float]] = {}
    for number, given in (turn for result in results for turn in result.turns.items()):
        own = found.setdefault(number, {})
        for name, value in given.items():
            own[name] = own.get(name, 0.0) + value
    return found
