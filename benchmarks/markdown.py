"""Tables as Markdown."""

from collections.abc import Iterable, Sequence


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table. Raises ValueError when a row has another number of cells than the head."""
    lines = [head, ["---"] * len(head), *rows]
    for line in lines:
        if len(line) != len(head):
            raise ValueError(f"row {list(line)}: found {len(line)} cells, expected {len(head)}")
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
