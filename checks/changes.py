"""Checks the release notes in docs/changes/unreleased: one file a change, in the form of docs/changes/README.md."""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FRAGMENTS = ROOT / "docs" / "changes" / "unreleased"
KINDS = ("Breaking", "Added", "Changed", "Fixed", "Removed")
LONGEST, WIDEST = 12, 132  # lines of points, characters of a line
_LINK = re.compile(r"\]\(([^)#\s]+)")


@dataclass(frozen=True)
class Fragment:
    """A change's release note: its kind and its points, in Markdown."""

    name: str
    kind: str
    points: str


class Malformed(ValueError):
    """A fragment has another form than docs/changes/README.md gives."""


def parse(name: str, text: str) -> Fragment:
    """Return the fragment of this text. Raises Malformed."""
    first, _, points = text.partition("\n\n")
    kind = first.removeprefix("# ")
    if first != f"# {kind}" or kind not in KINDS:
        raise Malformed(f"{name}: first line: found {first.splitlines()[:1]}, expected one of {_headings()}, then an "
                        "empty line")
    lines = points.rstrip("\n").split("\n")
    if not 1 <= len(lines) <= LONGEST:
        raise Malformed(f"{name}: found {len(lines)} lines of points, expected 1 to {LONGEST}")
    for number, line in enumerate(lines, 3):
        if not line.startswith(("- ",) if number == 3 else ("- ", "  ")):
            raise Malformed(f"{name}:{number}: found {line[:40]!r}, expected a point that begins with '- '")
        if len(line) > WIDEST:
            raise Malformed(f"{name}:{number}: found {len(line)} characters, expected at most {WIDEST}")
    return Fragment(name, kind, "\n".join(lines))


def read(folder: Path = FRAGMENTS) -> list[Fragment]:
    """Return the fragments of a folder by name. Raises Malformed, also for a link to a file that does not exist."""
    return [_read(path) for path in sorted(folder.glob("*"))]


def _headings() -> str:
    return ", ".join(f"'# {kind}'" for kind in KINDS)


def _read(path: Path) -> Fragment:
    if path.suffix != ".md":
        raise Malformed(f"{path.name}: expected the ending .md")
    fragment = parse(path.name, path.read_text())
    for link in _LINK.findall(fragment.points):
        if "://" not in link and not (path.parent / link).exists():
            raise Malformed(f"{path.name}: link to {link}: no such file, seen from {path.parent.name}/")
    return fragment


def main() -> int:
    try:
        read()
    except Malformed as error:
        print(f"docs/changes/unreleased/{error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
