"""A taught model is made once for a state of the code, and anew when the code or an argument is another."""

from pathlib import Path

import pytest

from tests.support import taught


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(taught, "KEPT", tmp_path / "kept")
    return tmp_path


class One:
    """An argument that is code."""


class Other:
    """Another one."""


def counted(directory: Path, times: int = 0, kind: type = One) -> None:
    directory.mkdir()
    (directory / "made").write_text(f"{times} {kind.__name__}")


def test_equal_arguments_have_one_directory_which_is_written_once() -> None:
    first = taught.directory(counted, times=1)
    (first / "made").write_text("kept")
    assert taught.directory(counted, times=1) == first
    assert (first / "made").read_text() == "kept"


def test_other_arguments_code_in_them_and_code_that_teaches_have_others(
    monkeypatch: pytest.MonkeyPatch, place: Path,
) -> None:
    found = [taught.directory(counted, times=1), taught.directory(counted, times=2),
             taught.directory(counted, times=1, kind=One), taught.directory(counted, times=1, kind=Other)]
    monkeypatch.setattr(taught, "TEACHES", [*taught.TEACHES, "tests/unit/test_taught.py"])
    taught._code.cache_clear()
    found.append(taught.directory(counted, times=1))
    taught._code.cache_clear()
    assert len(set(found)) == 5
    assert (found[3] / "made").read_text() == "1 Other"
    assert place in found[0].parents


def test_what_teaches_is_there() -> None:
    assert [name for name in taught.TEACHES if not (taught.ROOT / name).exists()] == []
