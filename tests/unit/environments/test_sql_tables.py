"""SQLite databases as rows hold them: scripts, and files in base64."""

import base64
import sqlite3
from pathlib import Path

import pytest

from hone.environments.sql_tables import made, read_tables
from hone.environments.sqlite import Sqlite, SqliteParams
from hone.environments.statements import StatementError
from hone.graders.judgement import judged
from hone.graders.specs import checked

SCRIPT = "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT); INSERT INTO t VALUES (1, 'x'), (2, 'y');"


def written(path: Path, mode: str = "delete") -> str:
    """Write a database file as a program would, and return it in base64, in lines."""
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA journal_mode = {mode}")
        connection.executescript(SCRIPT)
    connection.close()
    return base64.encodebytes(path.read_bytes()).decode()


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_file_is_the_database_that_a_script_makes(tmp_path: Path, mode: str) -> None:
    file = written(tmp_path / "a.sqlite", mode)
    assert read_tables(made(file), 9) == read_tables(made(SCRIPT), 9)
    grader = checked({"type": "sql", "perturbed": 0})
    item = {"database": file, "gold": "SELECT b FROM t WHERE a = 2"}
    assert [judged(grader, item, f"SELECT b FROM t WHERE a = {a}").score for a in (1, 2)] == [0.0, 1.0]
    row = {"prompt": "which b?", "database": file, "answer": "y"}
    episode = Sqlite().episode(SqliteParams(), 0, row)
    episode.reset()
    said = episode.step('{"tool": "query", "arguments": {"sql": "SELECT b FROM t"}}').observation.messages
    assert said[0]["content"] == "x\ny\n"


def test_a_file_that_is_cut_off_or_changed_is_refused(tmp_path: Path) -> None:
    file = base64.b64decode(written(tmp_path / "a.sqlite"))
    for bad in (file[:600], file[:4096] + b"\xff" * (len(file) - 4096)):
        with pytest.raises(StatementError):
            made(base64.b64encode(bad).decode())
    with pytest.raises(StatementError, match="not base64"):
        made(base64.b64encode(file).decode()[:-3] + "!")
