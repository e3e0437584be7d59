"""`hone doctor SPEC` on a terminal."""

import io

import pytest
from rich.console import Console

from hone.cli.preflight import show
from tests.support.client.preflight import REPORT


def test_a_report_is_printed_with_findings_last(capsys: pytest.CaptureFixture[str]) -> None:
    written = io.StringIO()
    show(Console(file=written, width=200), REPORT)
    lines = written.getvalue().strip().splitlines()
    assert lines[-2:] == ["error    ends of samples: 8 of 8", "         mend: raise it"]
    assert "row 1, 2 tokens: 1 2" in lines
    assert "score 0 (no_answer), 2 tokens, ended by length: no box" in lines
    tables = capsys.readouterr().out
    assert "1 > 8 (the model's positions)" in tables
    assert "1.0 GiB" in tables
    assert "2.5 s" in tables
