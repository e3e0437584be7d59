"""What a base that copies is shown: lists of made-up names and the same names again; and that it learns from them."""

import random
import re
from pathlib import Path

from benchmarks.through_services import copying, domains
from hone.models import toy

PIECES = ["ka", "lo", "mi", "ne", "tu"]


def test_a_text_repeats_its_names_as_they_were_written() -> None:
    chance = random.Random(0)
    for _ in range(50):
        first, second = copying.text(chance, PIECES, 1)
        assert first == f"{second}\n"
        parts = re.split(r"[_ .:-]", second)
        assert 1 <= len(parts) <= 3
        assert all(re.fullmatch(r"\d\d|(ka|lo|mi|ne|tu){1,4}[a-z]?", part) for part in parts)
    first, second = copying.text(chance, PIECES, 4)
    assert sorted(first) == sorted(f"{second}\n")
    for listed, name in copying.fresh(PIECES, 5, 0):
        assert name in listed.splitlines()
        assert len(listed.splitlines()) == copying.MOST_NAMES


def test_a_copier_learns_and_its_weights_are_kept(tmp_path: Path) -> None:
    symbols = domains.symbols(PIECES)
    toy.write(tmp_path, 0, symbols=symbols, vocab_size=len(symbols), hidden=16, ffn=16, heads=1)
    copier, texts = copying.Copier(tmp_path), [("kalo\n", "kalo"), ("mine tu\n", "mine tu")]
    assert copier.copies(texts) == 0.0
    for _ in range(60):
        right = copier.learn(texts, 1e-2)
    assert right == 1.0
    assert copier.copies(texts) == 1.0
    copier.save()
    assert copying.Copier(tmp_path).copies(texts) == 1.0
