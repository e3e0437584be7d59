"""Named spans: parts of a completion between an opening and a closing text."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

from pydantic import ConfigDict, Field

from hone.spec.parameters import Strict
from hone.text.model_text import ModelText
from hone.text.ranges import token_ranges
from hone.trajectory.records import Span


class Marks(Strict):
    """One kind of span, by its opening and closing text. Several kinds may share a name."""

    model_config = ConfigDict(strict=True)

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$", description="Name of the span in methods and metrics.")
    start: str = Field(min_length=1, description="Text that opens the span, literally.")
    end: str = Field(min_length=1, description="Text that closes the span, literally; both texts belong to the span. "
                     "Where it is missing the span ends with the completion.")
    parses: Literal["any", "json"] = Field(
        "any", description="Spans that count: any, or only spans with a closing text and JSON between both texts.")
    weight: float = Field(1.0, ge=0, description="Factor of the loss of the span's tokens.")


def spans(text: str, kinds: Iterable[Marks]) -> Iterator[tuple[Marks, int, int]]:
    """Yield each span of a completion: its kind, its first character and the character after it, kind after kind.

    Spans of one kind do not overlap: the first `end` closes a span, and the search for `start` goes on behind it.
    """
    for marks in kinds:
        opened = text.find(marks.start)
        while opened >= 0:
            closed = text.find(marks.end, opened + len(marks.start))
            behind = len(text) if closed < 0 else closed + len(marks.end)
            if marks.parses == "any" or (closed >= 0 and _is_json(text[opened + len(marks.start):closed])):
                yield marks, opened, behind
            opened = text.find(marks.start, behind)


def named(kinds: Sequence[Marks]) -> Callable[[str], list[tuple[str, int, int]]]:
    """Return a function that finds the spans of a text: name, first character, end (exclusive)."""
    return lambda text: [(marks.name, opened, behind) for marks, opened, behind in spans(text, kinds)]


def token_spans(ids: Sequence[int], kinds: Sequence[Marks], tokenizer: ModelText) -> list[Span]:
    """Return the named spans of a completion as ranges of its tokens, kind by kind. Its text includes a stop id."""
    if not kinds:
        return []
    pieces = tokenizer.pieces(ids)
    found = list(spans("".join(pieces), kinds))
    ranges = token_ranges(pieces, [(opened, behind) for _, opened, behind in found])
    return [Span(marks.name, start, end, marks.weight)
            for (marks, _, _), (start, end) in zip(found, ranges, strict=True)]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
