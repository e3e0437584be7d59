"""Errors of commands: lines of words, and exit code 1."""

import pytest
import typer
from typer.testing import CliRunner

from hone.cli.output import Commands
from hone.client import HoneError

WRONG = {"field": "limit", "found": "0", "expected": "at least 1"}


@pytest.mark.parametrize(("document", "line"), [
    ({"status": 422, "detail": "wrong", "request_id": "req_1", "errors": [WRONG]},
     "error: limit: found 0, expected at least 1"),
    ({"status": 404, "detail": "There is no run x.", "request_id": "req_1"}, "error: There is no run x."),
    ({"status": 500, "detail": "The log knows.", "request_id": "req_1"}, "error: The log knows. (req_1)"),
])
def test_a_refusal_is_a_line_and_exit_code_1(document: dict[str, object], line: str) -> None:
    app = typer.Typer(cls=Commands)

    @app.command()
    def first() -> None:
        raise HoneError(document)

    @app.command()
    def second() -> None:
        pass

    ended = CliRunner().invoke(app, ["first"])
    assert (ended.exit_code, ended.stderr.strip()) == (1, line)
