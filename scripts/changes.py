"""Renders the page of a release from its fragments: `python -m scripts.changes VERSION [--print]`."""

import argparse
import re
import sys
from pathlib import Path

from checks.changes import FRAGMENTS, KINDS, Fragment, read


def page(version: str, fragments: list[Fragment]) -> str:
    """Return a release's page in Markdown. Its links are relative to docs/changes, one folder above the fragments."""
    parts = [f"# {version}"]
    for kind in KINDS:
        points = [fragment.points.replace("](../", "](") for fragment in fragments if fragment.kind == kind]
        parts += [f"## {kind}", "\n".join(points)] if points else []
    return "\n\n".join(parts) + "\n"


def release(version: str, fragments: Path = FRAGMENTS) -> Path:
    """Write the page beside the folder of fragments and delete them. Raises FileExistsError, Malformed."""
    text, path = page(version, read(fragments)), fragments.parent / f"{version}.md"
    with path.open("x") as file:
        file.write(text)
    for fragment in fragments.glob("*.md"):
        fragment.unlink()
    return path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version")
    parser.add_argument("--print", action="store_true", help="show the page and change nothing")
    arguments = parser.parse_args()
    if not re.fullmatch(r"\d+\.\d+\.\d+", arguments.version):
        parser.error(f"version: found {arguments.version!r}, expected three numbers, 0.1.0 for instance")
    if arguments.print:
        print(page(arguments.version, read()), end="")
    else:
        print(release(arguments.version))
    return 0


if __name__ == "__main__":
    sys.exit(main())
