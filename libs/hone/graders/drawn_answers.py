"""Short answers of several kinds and ways of writing, right and wrong, made from a seed without a model."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

_WORDS = ("the red door", "two brothers", "a wooden bridge", "on the second floor", "nobody knows", "the baker")


@dataclass(frozen=True)
class Answer:
    """An answer, its reference, and whether it is right."""

    kind: str  # as the grader names it
    reference: str
    text: str
    right: bool


Kind = Callable[[random.Random, bool], Answer]


def whole(draw: random.Random, right: bool) -> Answer:
    """A whole number, bare, with a unit, or behind another box."""
    number = draw.randint(2, 400)
    said = number if right else number + draw.choice((-2, -1, 1, 3))
    return Answer("number", str(number), draw.choice((
        rf"\boxed{{{said}}}", rf"\boxed{{{said}\text{{ cm}}}}",
        rf"First \boxed{{{number + 7}}}, but then \boxed{{{said}}}.",
        f"So the answer is {said}.")), right)


def fraction(draw: random.Random, right: bool) -> Answer:
    """A fraction, as a fraction or as a decimal."""
    value = Fraction(draw.randint(1, 9), draw.choice((2, 4, 5, 8)))
    said = value if right else value + Fraction(1, draw.choice((2, 3, 4)))
    return Answer("number", f"\\frac{{{value.numerator}}}{{{value.denominator}}}", draw.choice((
        rf"\boxed{{\frac{{{said.numerator}}}{{{said.denominator}}}}}", rf"\boxed{{{float(said):.6g}}}",
        rf"The answer is {said.numerator}/{said.denominator}")), right)


def clock(draw: random.Random, right: bool) -> Answer:
    """A time of the day. As ratios, many of them are equal."""
    hour, minute = draw.randint(1, 12), draw.choice((0, 10, 15, 20, 30, 40, 45))
    other = (hour % 12 + 1, minute) if draw.random() < 0.5 else (hour, (minute + 5) % 60)
    said = (hour, minute) if right else other
    return Answer("text", f"{hour}:{minute:02}", rf"\boxed{{{said[0]}:{said[1]:02}}}", right)


def letter(draw: random.Random, right: bool) -> Answer:
    """One option."""
    options = draw.sample("ABCDE", 2)
    return Answer("single_choice", options[0], draw.choice((
        rf"\boxed{{{options[not right]}}}", f"The answer is ({options[not right]}).")), right)


def letters(draw: random.Random, right: bool) -> Answer:
    """Several options in any order."""
    options = draw.sample("ABCDE", 3)
    said = draw.sample(options, 3) if right else [*options[:2], *sorted(set("ABCDE") - set(options))][:3]
    shown = draw.choice((", ", "")).join(said)
    return Answer("multiple_choice", "".join(sorted(options)), rf"\boxed{{{shown}}}", right)


def order(draw: random.Random, right: bool) -> Answer:
    """Letters in an order."""
    placed = draw.sample("ABCD", 4)
    said = placed if right else [placed[1], placed[0], *placed[2:]]
    return Answer("text", "".join(placed), rf"\boxed{{{''.join(said)}}}", right)


def percent(draw: random.Random, right: bool) -> Answer:
    """A share in percent."""
    number = draw.randint(3, 97)
    said = number if right else number + draw.choice((-1, 1, 2))
    return Answer("number", f"{number}%", draw.choice((
        rf"\boxed{{{said}\%}}", f"It is {said}%. The answer is {said}%")), right)


def words(draw: random.Random, right: bool) -> Answer:
    """A short text, perhaps in other words."""
    reference, other = draw.sample(_WORDS, 2)
    said = reference if right else other
    return Answer("text", reference, draw.choice((rf"\boxed{{\text{{{said}}}}}", f"The answer is: {said}.",
                                                  f"The answer is: it was {said}, surely.")), right)


KINDS: Sequence[Kind] = (whole, fraction, clock, letter, letters, order, percent, words)


def answers(count: int, seed: int) -> list[Answer]:
    """Return answers of all kinds in turn, each right with a chance of one half."""
    draw = random.Random(seed)
    return [KINDS[place % len(KINDS)](draw, draw.random() < 0.5) for place in range(count)]
