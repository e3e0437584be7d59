"""A page that is written from code: `--write` on the command line writes it, without it the page is compared."""

import sys
from pathlib import Path


def main(page: Path, text: str, command: str) -> int:
    """Write or compare the page; return the exit status. `command` is the one that writes it."""
    if "--write" in sys.argv[1:]:
        page.write_text(text)
    if page.exists() and page.read_text() == text:
        return 0
    print(f"{page.name} is not what the models say: run {command}", file=sys.stderr)
    return 1
