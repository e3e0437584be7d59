"""The prose of the tree, and proof that each rule about it can be broken."""

from pathlib import Path

import pytest

from checks.prose import Prose, breaches, lowered, read

SOURCE = '''
"""A module of two sentences. It has one word."""
# What stands here
# and there is one comment.
ONE = 1  # one. Two.
"""Which value it is."""

def made() -> str:
    """Return what was made: `one`."""
    return "the others"
'''
PAGE = """# One title

Two lines
of a sentence. [Another](one.md)!

```
what one
```
- those `ones`
- a line

| head | others |
|---|---|
| cell | cell |

<!-- The table is written by `python -m checks.made --write`. -->
| those others |
<!-- End of the table. -->
"""


def write(root: Path, name: str, text: str) -> Prose:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)
    return read(root / name, root)


def with_words(path: str, vague: int, sentences: int = 1) -> Prose:
    return Prose(path, sentences, vague)


def test_docstrings_and_comments_are_counted_and_code_is_not(tmp_path: Path) -> None:
    file = write(tmp_path, "libs/hone/made.py", SOURCE)
    assert (file.sentences, file.vague) == (7, 5)
    assert file.nameless == ((6, "Which value it is."), (9, "Return what was made: `one`."))


def test_a_page_is_counted_without_code_addresses_and_what_a_program_wrote(tmp_path: Path) -> None:
    file = write(tmp_path, "docs/page.md", PAGE)
    assert (file.sentences, file.vague, file.nameless) == (7, 3, ())


@pytest.mark.parametrize(("sentences", "allowed"), [(1, 1), (10, 1), (11, 2), (20, 2)])
def test_one_word_is_allowed_for_each_ten_sentences_begun(sentences: int, allowed: int) -> None:
    assert breaches([with_words("docs/a.md", allowed, sentences)], {}) == []
    assert breaches([with_words("docs/a.md", allowed + 1, sentences)], {}) == [
        f"docs/a.md: found {allowed + 1} of the words one, ones, those, others, what in {sentences} sentences, "
        f"expected at most {allowed}"]


def test_a_listed_file_may_not_get_worse() -> None:
    kept = {"docs/a.md": (3, 0)}
    assert breaches([with_words("docs/a.md", 3)], kept) == []
    assert breaches([with_words("docs/a.md", 4)], kept) == [
        "docs/a.md: found 4 of the words one, ones, those, others, what in 1 sentences, expected at most 3"]


def test_a_listed_file_keeps_its_count_when_it_moves_and_only_then() -> None:
    kept = {"libs/a/rules.py": (3, 0)}
    assert breaches([with_words("libs/b/rules.py", 3)], kept) == []
    assert breaches([with_words("libs/b/rules.py", 3), with_words("libs/a/rules.py", 3)], kept) != []


def test_a_docstring_that_begins_with_a_vague_word_is_refused() -> None:
    file = Prose("libs/a.py", 9, 0, ((4, "Which way to go."), (9, "What it is.")))
    assert breaches([file], {"libs/a.py": (0, 2)}) == []
    assert breaches([file], {})[0] == (
        "libs/a.py:4: found a docstring that begins with 'Which way', expected its subject")
    assert breaches([file], {"libs/a.py": (0, 1)})[1] == (
        "libs/a.py:9: found a docstring that begins with 'What it', expected its subject (at most 1 such in this file)")


def test_counts_are_lowered_and_never_raised() -> None:
    found = [with_words("fell", 3), with_words("rose", 9), with_words("mended", 1), with_words("new", 8)]
    assert lowered(found, {"fell": (5, 0), "rose": (4, 0), "mended": (4, 0), "gone": (2, 0)}) == {
        "fell": (3, 0), "rose": (4, 0)}
