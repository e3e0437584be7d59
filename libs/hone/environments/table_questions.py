"""Questions about small tables, whose cells an answer has to name: the text variant of V-tableR1, arXiv 2604.20755.

The tables, the questions and the instructions are Hone's.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from hone.environments.contract import EnvironmentParams, Message, Row
from hone.environments.single_turn import Asks, Question, SingleTurn

Ask = Literal["lookup", "sum", "diff", "compare", "argmax", "argmin"]
CITIES = ("Rome", "Oslo", "Lima", "Bern", "Kyiv", "Doha", "Riga", "Cork", "Nice", "Graz", "Perth", "Quito")
GOODS = ("tea", "salt", "wool", "iron", "rice", "wax", "tin", "oil")
_STEP = {
    "json": '{"op": "sum", "cells": [[1, 2, "12"], [3, 2, "7"]], "result": "19"}', "line": "sum 1,2=12; 3,2=7 -> 19"}
_ANSWERS = {"json": "<answer>19</answer>", "line": "answer: 19"}
_INSTRUCTIONS = """Work in steps, each on a line of its own: an operation, the cells that it uses as row, column and \
value, and its result, as in
{step}
Operations: lookup, filter, compare, count, sum, diff, ratio, argmax, argmin; conclude names no cell. Then give the \
answer, as in
{answer}

"""


class TableQuestionsParams(EnvironmentParams):
    """Sizes of the tables, and what is asked."""

    rows: int = Field(4, ge=2, le=len(CITIES), description="Rows below the names of the columns.")
    columns: int = Field(3, ge=1, le=len(GOODS), description="Columns in addition to the names of the rows.")
    largest: int = Field(99, ge=len(CITIES), le=10**6, description="Largest number; a column has each number once.")
    questions: list[Ask] = Field(["lookup", "sum", "diff", "compare", "argmax", "argmin"], min_length=1,
                                 description="Kinds of questions; a kind that stands here twice is asked twice as "
                                 "often.")
    syntax: Literal["json", "line"] = Field("json", description="How steps are written, as in the grader table_steps.")
    describe: bool = Field(True, description="Say before the table how steps and answers are written.")


@dataclass(frozen=True)
class TableQuestion:
    """A table with the names of its columns and rows, a question about it, and the cells that answer it."""

    cells: list[list[str]]
    ask: Ask
    column: int
    rows: tuple[int, ...]

    @property
    def numbers(self) -> list[int]:
        """The numbers that the question is about, row by row."""
        return [int(self.cells[row][self.column]) for row in self.rows]

    @property
    def text(self) -> str:
        """The question."""
        first, second = self.cells[self.rows[0]][0], self.cells[self.rows[-1]][0]
        return _QUESTIONS[self.ask].format(goods=self.cells[0][self.column], first=first, second=second)

    @property
    def answer(self) -> str:
        """The right answer."""
        if self.ask in _EXTREMES:
            return self.cells[self.rows[self.numbers.index(_EXTREMES[self.ask](self.numbers))]][0]
        return _ANSWER[self.ask](*self.numbers)


_QUESTIONS: Mapping[Ask, str] = {
    "lookup": "How much {goods} has {first}?",
    "sum": "How much {goods} have {first} and {second} together?",
    "diff": "How much more {goods} has {first} than {second}?",
    "compare": "Has {first} less, equal or more {goods} than {second}: <, = or >?",
    "argmax": "Which city has the most {goods}?", "argmin": "Which city has the least {goods}?",
}
_EXTREMES: Mapping[str, Callable[[list[int]], int]] = {"argmax": max, "argmin": min}
_ANSWER: Mapping[str, Callable[..., str]] = {
    "lookup": str, "sum": lambda first, second: str(first + second), "diff": lambda first, second: str(first - second),
    "compare": lambda first, second: "<" if first < second else "=" if first == second else ">",
}


class TableQuestions(Asks):
    """A table with its rows and columns numbered, and a question whose answer stands in it or follows from it."""

    summary = "Questions about small tables; the steps of an answer name the cells that they use."
    params = TableQuestionsParams

    def messages(self, params: TableQuestionsParams, seed: int, item: Row | None) -> list[Message]:
        return [{"role": "user", "content": _shown(params, question(params, seed))}]

    def episode(self, params: TableQuestionsParams, seed: int, item: Row | None) -> SingleTurn:
        asked = question(params, seed)
        row = {"prompt": _shown(params, asked), "table": asked.cells, "answer": asked.answer}
        return SingleTurn(Question([{"role": "user", "content": row["prompt"]}], row,
                                   {"type": "table_steps", "syntax": params.syntax}))


def question(params: TableQuestionsParams, seed: int) -> TableQuestion:
    """Return the table and question of a task."""
    chance = random.Random(f"table_questions {seed}")
    names, goods = chance.sample(CITIES, params.rows), chance.sample(GOODS, params.columns)
    columns = [chance.sample(range(params.largest + 1), params.rows) for _ in goods]
    cells = [["city", *goods], *([name, *map(str, numbers)]
                                 for name, *numbers in zip(names, *columns, strict=True))]
    ask, column = chance.choice(params.questions), chance.randrange(1, params.columns + 1)
    of_two = chance.sample(range(1, params.rows + 1), 1 if ask == "lookup" else 2)
    return TableQuestion(cells, ask, column, tuple(range(1, params.rows + 1) if ask in _EXTREMES else of_two))


def _shown(params: TableQuestionsParams, asked: TableQuestion) -> str:
    described = _INSTRUCTIONS.format(step=_STEP[params.syntax], answer=_ANSWERS[params.syntax])
    numbered = [["", *map(str, range(params.columns + 1))], *(
        [str(place), *row] for place, row in enumerate(asked.cells))]
    table = "".join(f"| {' | '.join(row)} |\n" for row in numbered)
    return f"{described if params.describe else ''}{table}{asked.text}\n"
