"""Named spans: parts of what the policy writes, by the texts that open and close them."""

from collections.abc import Iterable, Iterator

from pydantic import BaseModel, ConfigDict, Field


class Marks(BaseModel):
    """One kind of span. Several may share a name: their spans are then spans of that name."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$", description="What methods and metrics call it.")
    start: str = Field(min_length=1, description="Text that opens it, literally.")
    end: str = Field(min_length=1, description="Text that closes it, literally; both belong to the span. Without it "
                     "the span goes to the completion's end.")
    weight: float = Field(1.0, ge=0, allow_inf_nan=False, description="Factor of its tokens' loss.")


def spans(text: str, kinds: Iterable[Marks]) -> Iterator[tuple[Marks, int, int]]:
    """Yield each span of a completion as its kind and the range of its characters: kind after kind, as they stand.

    Spans of one kind do not overlap: the first `end` closes one, and the next `start` is looked for behind it.
    """
    for marks in kinds:
        opened = text.find(marks.start)
        while opened >= 0:
            closed = text.find(marks.end, opened + len(marks.start))
            behind = len(text) if closed < 0 else closed + len(marks.end)
            yield marks, opened, behind
            opened = text.find(marks.start, behind)
