"""The models whose ids are read are kept: few of them, for a while, and each starts one process."""

import psutil
import pytest

from hone.models import toy
from hone.text.files import FILES, Files, TokenizerError
from hone.text.kept import KeptTexts


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def files() -> Files:
    return {name: data for name, data in toy.files().items() if name in FILES}


def test_a_model_is_opened_once_and_its_process_has_ended() -> None:
    kept, opened, before = KeptTexts(2, 60.0), list[int](), psutil.Process().children()

    def read() -> Files:
        opened.append(1)
        return files()

    text = kept.of("a", read)
    assert kept.of("a", read) is text
    assert (len(opened), psutil.Process().children()) == (1, before)
    assert text.pieces([3, 4]) == [text.decode([3]), text.decode([4])]


def test_few_are_kept_and_none_that_is_not_used() -> None:
    clock = Clock()
    kept = KeptTexts(2, 60.0, clock)
    first = kept.of("a", files)
    for key in "bac":
        kept.of(key, files)
    assert (len(kept), kept.of("a", files)) == (2, first)
    clock.now = 61.0
    kept.of("d", files)
    assert len(kept) == 1


def test_files_that_are_no_tokenizer_are_not_kept() -> None:
    kept = KeptTexts(2, 60.0)
    with pytest.raises(TokenizerError):
        kept.of("a", lambda: {"tokenizer.json": b"{}"})
    assert len(kept) == 0
