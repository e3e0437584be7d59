"""Refuses prose that is hard to read: `python -m checks.prose [--write]`.

A docstring names its subject first: it does not begin with "What", "Which" or "Return what". Docstrings and comments
of libs and services, and the pages under docs, have at most one of the words one, ones, those, others and what for each
ten sentences begun. Files that broke a rule when the check was made stand in checks/prose.txt with two counts, of such
words and of such docstrings. The counts may only fall: `--write` lowers them and drops files that keep both rules.
"""

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
LISTED = "checks/prose.txt"
SOURCES = ("libs", "services")
GENERATED = ("libs/hone/api/", "docs/measured/")  # code from proto/; pages that programs write, with figures
SENTENCES_A_WORD = 10
_VAGUE = re.compile(r"\b(?:ones?|those|others|what)\b", re.IGNORECASE)
_BEGINNING = re.compile(r"(?:What|Which|Return what)\b")
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)")
_COMMENT = re.compile(r"(?:^|\s)#\s?(.*)$")
_FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"``.+?``|`[^`]*`")
_TARGET = re.compile(r"\]\([^)]*\)")  # of a link
_WRITTEN = re.compile(r"^<!-- .* is written by .*?^<!-- End .*?-->", re.DOTALL | re.MULTILINE)
"""A part of a page that a program writes, from docstrings that count themselves."""

Counts = Mapping[str, tuple[int, int]]


@dataclass(frozen=True)
class Prose:
    """Sentences and vague words of one file, and the docstrings that begin with a vague word, with their lines."""

    path: str
    sentences: int
    vague: int
    nameless: tuple[tuple[int, str], ...] = ()

    @property
    def allowed(self) -> int:
        """Number of vague words that so many sentences may have."""
        return -(-self.sentences // SENTENCES_A_WORD)


def read(path: Path, root: Path = ROOT) -> Prose:
    """Read one file of Python or Markdown. Raises SyntaxError."""
    name, text = path.relative_to(root).as_posix(), path.read_text()
    if path.suffix == ".md":
        return _counted(name, list(_paragraphs(text)))
    docstrings = list(_docstrings(ast.parse(text, name)))
    nameless = tuple((node.lineno, _first_line(node)) for node in docstrings if _BEGINNING.match(_first_line(node)))
    texts = [block for node in docstrings for block in str(node.value).split("\n\n")]
    return _counted(name, [*texts, *_comments(text, docstrings)], nameless)


def files(root: Path = ROOT) -> list[Prose]:
    """Read every file whose prose people write."""
    found = [path for source in SOURCES for path in sorted((root / source).rglob("*.py"))]
    found += sorted((root / "docs").rglob("*.md"))
    return [read(path, root) for path in found if not path.relative_to(root).as_posix().startswith(GENERATED)]


def listed(root: Path = ROOT) -> Counts:
    """Return the counts of checks/prose.txt by path: vague words, and docstrings with a vague beginning."""
    lines = (line.split() for line in (root / LISTED).read_text().splitlines())
    return {path: (int(vague), int(nameless)) for path, vague, nameless in lines}


def breaches(found: list[Prose], kept: Counts) -> list[str]:
    """Return one line for every rule that is broken, saying where, what was found and what was expected."""
    return [line for file, limits in _limited(found, kept) for line in _of_file(file, *limits)]


def lowered(found: list[Prose], kept: Counts) -> Counts:
    """Return the counts to keep: none rises, and files that keep the rules are left out."""
    counts = {file.path: (_least(file.vague, vague, file.allowed), _least(len(file.nameless), nameless, 0))
              for file, (vague, nameless) in _limited(found, kept)}
    return {path: count for path, count in counts.items() if any(count)}


def _limited(found: list[Prose], kept: Counts) -> Iterator[tuple[Prose, tuple[int, int]]]:
    """Yield each file with its listed counts. A file that moved keeps them: it is found by its name without folders."""
    present = {file.path for file in found}
    moved = {PurePosixPath(path).name: counts for path, counts in kept.items() if path not in present}
    for file in found:
        yield file, kept.get(file.path) or moved.get(PurePosixPath(file.path).name, (0, 0))


def _of_file(file: Prose, vague: int, nameless: int) -> Iterator[str]:
    if file.vague > max(vague, file.allowed):
        yield (f"{file.path}: found {file.vague} of the words one, ones, those, others, what in {file.sentences} "
               f"sentences, expected at most {max(vague, file.allowed)}")
    if len(file.nameless) > nameless:
        for line, text in file.nameless:
            beginning = " ".join(text.split()[:2])
            yield (f"{file.path}:{line}: found a docstring that begins with {beginning!r}, expected its subject"
                   f"{f' (at most {nameless} such in this file)' if nameless else ''}")


def _least(count: int, limit: int, allowed: int) -> int:
    return 0 if count <= allowed else min(count, limit)


def _counted(name: str, texts: list[str], nameless: tuple[tuple[int, str], ...] = ()) -> Prose:
    texts = [_CODE.sub("x", text) for text in texts if text.strip()]
    sentences = sum(max(1, len(_SENTENCE_END.findall(text.rstrip()))) for text in texts)
    return Prose(name, sentences, sum(len(_VAGUE.findall(text)) for text in texts), nameless)


def _docstrings(node: ast.AST) -> Iterator[ast.Constant]:
    """Yield the texts that stand alone in the body of a module, of a class or of a function."""
    for statement in getattr(node, "body", ()):
        match statement:
            case ast.Expr(value=ast.Constant(value=str()) as text):
                yield text
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from _docstrings(statement)


def _first_line(node: ast.Constant) -> str:
    return str(node.value).strip().partition("\n")[0]


def _comments(text: str, docstrings: list[ast.Constant]) -> Iterator[str]:
    """Yield each comment; lines of a comment that follow each other are together."""
    inside = {line for node in docstrings for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    block: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        found = _COMMENT.search(line) if "#" in line and number not in inside else None
        alone = found is not None and line.lstrip().startswith("#")
        if block and not alone:
            yield " ".join(block)
            block = []
        if found and alone:
            block.append(found[1])
        elif found:
            yield found[1]
    yield " ".join(block)


def _paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs, lines of lists and rows of tables of a page, without code and addresses."""
    block: list[str] = []
    for line in [*_TARGET.sub("]", _WRITTEN.sub("", _FENCE.sub("", text))).splitlines(), ""]:
        if not line.strip() or line.lstrip().startswith(("|", "- ", "* ", "#")) or re.match(r"\s*\d+\. ", line):
            yield " ".join(block)
            block = []
        if not set(line) <= set("|-: "):
            block.append(line)
    yield " ".join(block)


def main(arguments: list[str]) -> int:
    found, kept = files(), listed()
    if "--write" in arguments:
        kept = lowered(found, kept)
        lines = (f"{path} {vague} {nameless}\n" for path, (vague, nameless) in sorted(kept.items()))
        (ROOT / LISTED).write_text("".join(lines))
    wrong = breaches(found, kept)
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
