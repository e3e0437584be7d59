r"""How many answers of mathematics the reward service grades in a second, against math-verify in a loop.

    python -m benchmarks.math_answers [--answers N] [--seeds N] [--out FILE]

The answers are of eleven kinds in several ways of writing, half of them wrong. Hone's grader `math` runs as in the
reward service: samples wait for one of two processes. The peer is `verify(parse(reference), parse(answer))`, both in
boxes, in this process. Four more kinds are traps of the peer: times, letters, per cent and pairs.
"""

import argparse
import asyncio
import json
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.machine import provenance
from benchmarks.results import RESULTS, store
from hone.graders.sample import Sent
from hone.graders.specs import checked
from services.reward.grading import Grading
from services.reward.pool import KILL_S, Pool

GRADER: Mapping[str, Any] = {"type": "math", "reference": "{{ item.answer }}"}
PROCESSES = 2


class Answer(NamedTuple):
    """An answer, its reference, and whether it is right."""

    kind: str
    reference: str
    text: str
    right: bool


Kind = Callable[[random.Random, bool], tuple[str, str]]
"""Makes a reference and what an answer's box holds, right or wrong."""


def whole(draw: random.Random, right: bool) -> tuple[str, str]:
    """A whole number, with or without commas."""
    number = draw.randint(2, 90_000)
    said = number if right else number + draw.choice((-2, -1, 1, 10))
    return str(number), draw.choice((f"{said}", f"{said:,}", f"+{said}"))


def decimal(draw: random.Random, right: bool) -> tuple[str, str]:
    """A decimal, with zeros behind it."""
    number = draw.randint(11, 9999) / 100
    said = number if right else number + draw.choice((-0.5, 0.01, 1))
    return f"{number:.2f}", f"{said:.{draw.choice((2, 3, 4))}f}"


def fraction(draw: random.Random, right: bool) -> tuple[str, str]:
    """A fraction: the same, expanded, or as a decimal."""
    top, bottom = draw.randint(1, 30), draw.choice((2, 4, 5, 8, 16))
    said, times = top if right else top + draw.randint(1, 3), draw.randint(2, 5)
    return rf"\frac{{{top}}}{{{bottom}}}", draw.choice((
        f"{said}/{bottom}", rf"\frac{{{said * times}}}{{{bottom * times}}}", f"{said / bottom:g}",
        rf"\dfrac{{{said}}}{{{bottom}}}"))


def root(draw: random.Random, right: bool) -> tuple[str, str]:
    """A multiple of a root, or all of it under the root."""
    times, inside = draw.randint(2, 9), draw.choice((2, 3, 5, 7))
    said = inside * times**2 + (0 if right else draw.randint(1, 3))
    return rf"{times}\sqrt{{{inside}}}", rf"\sqrt{{{said}}}"


def power(draw: random.Random, right: bool) -> tuple[str, str]:
    """A power, or its value."""
    base, exponent = draw.randint(2, 9), draw.randint(2, 6)
    return f"{base}^{{{exponent}}}", str(base**exponent + (0 if right else draw.choice((-1, 1, base))))


def circle(draw: random.Random, right: bool) -> tuple[str, str]:
    r"""A multiple of \pi, in another order."""
    top, bottom = draw.randint(1, 9), draw.choice((2, 3, 4, 6))
    said = top if right else top + 1
    return rf"\frac{{{top}\pi}}{{{bottom}}}", draw.choice((
        rf"\frac{{{said}}}{{{bottom}}}\pi", rf"\pi \cdot \frac{{{said}}}{{{bottom}}}", rf"{said}\pi/{bottom}"))


def polynomial(draw: random.Random, right: bool) -> tuple[str, str]:
    """A product of two factors, or its terms."""
    first, second = draw.randint(1, 9), draw.randint(1, 9)
    linear, last = first + second, first * second + (0 if right else draw.randint(1, 4))
    return f"(x+{first})(x+{second})", draw.choice((f"x^2+{linear}x+{last}", f"{last} + {linear}x + x^2"))


def solution(draw: random.Random, right: bool) -> tuple[str, str]:
    """A number, or an equation that says it."""
    number = draw.randint(-40, 40)
    return str(number), f"x = {number if right else number + draw.choice((-1, 1))}"


def numbers(draw: random.Random, right: bool) -> tuple[str, str]:
    """A set, in another order."""
    found = draw.sample(range(1, 60), 3)
    said = draw.sample(found, 3) if right else [*found[:2], found[2] + 60]
    return rf"\{{{', '.join(map(str, found))}\}}", rf"\{{{', '.join(map(str, said))}\}}"


def interval(draw: random.Random, right: bool) -> tuple[str, str]:
    """An interval, perhaps with another end."""
    low = draw.randint(-9, 5)
    high = low + draw.randint(1, 9)
    said = f"[{low}, {high})" if right else draw.choice((f"[{low}, {high}]", f"[{low}, {high + 1})"))
    return f"[{low},{high})", said


def logarithm(draw: random.Random, right: bool) -> tuple[str, str]:
    """A logarithm, or what it is."""
    base, exponent = draw.randint(2, 5), draw.randint(2, 5)
    return str(exponent if right else exponent + 1), rf"\log_{{{base}}} {base**exponent}"


def clock(draw: random.Random, right: bool) -> tuple[str, str]:
    """A time. As a ratio, many times are equal."""
    hour, minute = draw.choice(((6, 0), (12, 30), (10, 20), (9, 45)))
    return f"{hour}:{minute:02}", f"{hour}:{minute:02}" if right else f"{hour // 2 or 1}:{minute // 2:02}"


def letters(draw: random.Random, right: bool) -> tuple[str, str]:
    """A word of letters. As a product, their order does not count."""
    word = "".join(draw.sample("ABCD", 3))
    return word, word if right else word[::-1]


def percent(draw: random.Random, right: bool) -> tuple[str, str]:
    """A number of per cent, or as a wrong answer the number alone a hundred times too small."""
    number = draw.randint(2, 98)
    return rf"{number}\%", rf"{number}\%" if right else f"{number / 10000:g}"


def pair(draw: random.Random, right: bool) -> tuple[str, str]:
    """A point of the plane. As a set, its order does not count."""
    first, second = draw.sample(range(1, 20), 2)
    return f"({first}, {second})", f"({first},{second})" if right else f"({second},{first})"


KINDS: Sequence[Kind] = (
    whole, decimal, fraction, root, power, circle, polynomial, solution, numbers, interval, logarithm)
TRAPS: Sequence[Kind] = (clock, letters, percent, pair)


def answers(kinds: Sequence[Kind], count: int, seed: int) -> list[Answer]:
    """Return answers of all kinds in turn, each right with a chance of one half."""
    draw, made = random.Random(seed), list[Answer]()
    for place in range(count):
        kind, right = kinds[place % len(kinds)], draw.random() < 0.5
        reference, said = kind(draw, right)
        made.append(Answer(kind.__name__, reference, rf"So it is \boxed{{{said}}}.", right))
    return made


class Graded(NamedTuple):
    """Verdicts, and how long they took."""

    verdicts: list[bool]
    seconds: float
    ms: list[float]  # of each answer


async def by_service(drawn: Sequence[Answer]) -> Graded:
    """Grade as the reward service does: equal answers once, others by two processes that are warm already."""
    pool = Pool(PROCESSES)
    grading, spec = Grading(pool), checked(GRADER)
    try:
        await asyncio.gather(*(grading.grade(spec, (Sent('{"answer": "1"}', rf"\boxed{{{place}}}"),))
                               for place in range(2 * PROCESSES)))
        samples = {(0, place): Sent(json.dumps({"answer": one.reference}), one.text)
                   for place, one in enumerate(drawn)}
        began, found = time.perf_counter(), dict[tuple[int, int], Any]()
        async for batch in grading.batches(spec, samples):
            found |= batch
        seconds = time.perf_counter() - began
    finally:
        await pool.close()
    results = [found[0, place] for place in range(len(drawn))]
    assert all(result.score is not None for result in results), "every answer has a grade"
    return Graded([result.score == 1 for result in results], seconds, [result.cost_ms for result in results])


def by_peer(drawn: Sequence[Answer]) -> Graded:
    """Grade by math-verify, reference first."""
    from math_verify import parse, verify

    verify(parse(r"\boxed{1}"), parse(r"\boxed{1}"))
    verdicts, ms = list[bool](), list[float]()
    for one in drawn:
        began = time.perf_counter()
        verdicts.append(bool(verify(parse(rf"\boxed{{{one.reference}}}"), parse(one.text))))
        ms.append(1000 * (time.perf_counter() - began))
    return Graded(verdicts, sum(ms) / 1000, ms)


def measured(count: int, seed: int) -> dict[str, Any]:
    """Return rates and verdicts of both on the same answers, and on the traps."""
    drawn = answers(KINDS, count, seed)
    ours, theirs = asyncio.run(by_service(drawn)), by_peer(drawn)
    traps = answers(TRAPS, count // 5, seed)
    ours_on_traps, theirs_on_traps = asyncio.run(by_service(traps)), by_peer(traps)
    differ = [{"reference": one.reference, "answer": one.text, "right": one.right, "ours": mine}
              for one, mine, other in zip(drawn, ours.verdicts, theirs.verdicts, strict=True) if mine != other]
    return {
        "seed": seed, "equal": 1 - len(differ) / count, "differ": differ[:50],
        "ours": {**_figures(drawn, ours), "right_on_traps": _right(traps, ours_on_traps)},
        "peer": {**_figures(drawn, theirs), "right_on_traps": _right(traps, theirs_on_traps)}}


def _figures(drawn: Sequence[Answer], graded: Graded) -> dict[str, float]:
    ordered = sorted(graded.ms)
    return {"right": _right(drawn, graded), "grades_a_second": len(drawn) / graded.seconds,
            "p50_ms": ordered[len(ordered) // 2], "p99_ms": ordered[len(ordered) * 99 // 100], "most_ms": ordered[-1]}


def _right(drawn: Sequence[Answer], graded: Graded) -> float:
    return statistics.fmean(one.right == said for one, said in zip(drawn, graded.verdicts, strict=True))


def main() -> None:
    """Measure all seeds and write one JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=int, default=3300)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=RESULTS / "math_answers.json")
    args = parser.parse_args()
    began = provenance()
    found = [measured(args.answers, seed) for seed in range(args.seeds)]
    store(args.out, {**began, "answers": args.answers, "deadline_ms": 1000 * KILL_S, "seeds": found})


if __name__ == "__main__":
    main()
