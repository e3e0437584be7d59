"""Checks the migrations of the tables: old processes run on beside the new tables, so a migration only adds.

`python -m checks.migrations` refuses a file of libs/hone/store/migrations that is misnamed or leaves a number out, a
statement that takes something away or that old processes do not expect, unless a comment `-- breaking: REASON` stands
before it, and a new table without rights. It also refuses a change of schema.sql, which databases have run already.
"""

import hashlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from hone.store import schema

ROOT = Path(__file__).resolve().parent.parent
STORE = ROOT / "libs" / "hone" / "store"
BASELINE_SHA256 = "43a9199a1262bb28a5a5d1a12bd5fb2eed4f48705b89ad54bc1b3f76fffa5e62"
BREAKING = re.compile(r"^-- breaking: \S+", re.MULTILINE)

_QUOTED = re.compile(r"\$(\w*)\$.*?\$\1\$|'(?:[^']|'')*'", re.DOTALL)
_COMMENT = re.compile(r"--[^\n]*")
_REFUSED = {
    r"\bDROP\b": "takes away what old processes use",
    r"\bRENAME\b|\bSET\s+SCHEMA\b": "takes a name away that old processes use",
    r"\bALTER\s+(?:COLUMN\s+)?\w+\s+(?:SET\s+DATA\s+)?TYPE\b": "changes a type that old processes expect",
    r"\bSET\s+NOT\s+NULL\b": "refuses rows of old processes",
    r"^ALTER\s.*\bADD\s+(?:CONSTRAINT|CHECK|UNIQUE|PRIMARY|FOREIGN|EXCLUDE)\b": "refuses rows of old processes",
    r"\bTRUNCATE\b|\bDELETE\s+FROM\b": "deletes rows",
    r"^REVOKE\b": "takes rights away that old processes use",
    r"^DO\b": "hides its statements from this check",
}
_NEVER = r"^(?:BEGIN|START|COMMIT|ROLLBACK|VACUUM)\b|\bCONCURRENTLY\b"
_NEW_COLUMN = re.compile(r"\bADD\s+(?:COLUMN\s+)?(?:IF\s+NOT\s+EXISTS\s+)?\w+\s(?:[^,(]|\([^)]*\))*", re.IGNORECASE)
_UNIQUE_INDEX = re.compile(r"^CREATE\s+UNIQUE\s+INDEX\s.*?\bON\s+(\w+)", re.IGNORECASE | re.DOTALL)
_NEW_TABLE = re.compile(r"^CREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?(\w+)", re.IGNORECASE)


def breaches(store: Path = STORE) -> list[str]:
    """Return one line for every rule that is broken, saying where, and what is expected."""
    found = list(_baseline((store / "schema.sql").read_bytes()))
    files = sorted((store / "migrations").iterdir())
    for number, path in enumerate(files, schema.BASELINE + 1):
        if path.name != f"{number:03}.sql":
            found.append(f"migrations/{path.name}: expected the name {number:03}.sql, the next number")
        found += [f"migrations/{path.name}: {breach}" for breach in migration(path.read_text())]
    return found


def migration(text: str) -> Iterator[str]:
    """Yield what a migration's text breaks."""
    if not re.match(r"-- [A-Z].*\.\n", text):
        yield "first line: expected a comment with one sentence: '-- Adds ….'"
    every = list(_statements(text))
    made = {match[1] for bare, _ in every if (match := _NEW_TABLE.match(bare))}
    for bare, explained in every:
        yield from _statement(bare, explained, made)
    yield from _rights(made, [bare for bare, _ in every])


def _baseline(content: bytes) -> Iterator[str]:
    if hashlib.sha256(content).hexdigest() != BASELINE_SHA256:
        yield (f"schema.sql: databases have run it as version {schema.BASELINE}; take the change back, and write "
               f"migrations/{schema.VERSION + 1:03}.sql")


def _statements(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each statement without comments and quoted text, and whether `-- breaking:` stands before it or in it."""
    for part in _QUOTED.sub(lambda quoted: "''" if quoted[0][0] == "'" else "$$ $$", text).split(";"):
        if bare := " ".join(_COMMENT.sub("", part).split()):
            yield bare, bool(BREAKING.search(part))


def _statement(bare: str, explained: bool, made: set[str]) -> Iterator[str]:
    place = f"'{bare[:60]}'"
    if re.search(_NEVER, bare, re.IGNORECASE):
        yield f"{place}: a migration is one transaction; this statement cannot be in it"
    if explained:
        return
    for pattern, why in _REFUSED.items():
        if re.search(pattern, bare, re.IGNORECASE):
            yield f"{place} {why}: add instead, or say '-- breaking: REASON' before it"
    for column in _NEW_COLUMN.findall(bare) if bare.upper().startswith("ALTER TABLE") else []:
        if re.search(r"\bNOT NULL\b", column, re.IGNORECASE) and not re.search(
                r"\b(?:DEFAULT|GENERATED)\b", column, re.IGNORECASE):
            yield f"{place} refuses rows of old processes: give the column a default, or let it be null"
    index = _UNIQUE_INDEX.match(bare)
    if index and index[1] not in made:
        yield f"{place} refuses rows of old processes: add instead, or say '-- breaking: REASON' before it"


def _rights(made: set[str], every: list[str]) -> Iterator[str]:
    grants = [bare for bare in every if bare.upper().startswith("GRANT") and "hone_worker" in bare]
    for table in sorted(made):
        if not any(re.search(rf"\b{table}\b", bare) for bare in grants):
            yield f"table {table}: expected GRANT … ON {table} TO hone_worker: new tables have no rights"
        if not any(re.match(rf"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY", bare, re.IGNORECASE) for bare in every):
            yield f"table {table}: expected ALTER TABLE {table} ENABLE ROW LEVEL SECURITY, and policies for both roles"


def main() -> int:
    found = breaches()
    for line in found:
        print(f"libs/hone/store/{line}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
