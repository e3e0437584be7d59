"""Inputs of a preflight from the object store: the files of the base, and rows of datasets."""

import asyncio
import heapq
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from hone.client.preflight import EndToken, Tokens
from hone.environments.contract import Row as TaskRow
from hone.environments.rows import Sieve
from hone.models import architecture
from hone.models.architecture import Architecture
from hone.spec.problems import Problem
from hone.spec.run import RunSpec, TaskSource
from hone.store.manifests import get_file
from hone.store.objects import Objects
from hone.text.confined import ConfinedTokenizer
from hone.text.files import FILES
from hone.text.model_text import ModelText
from hone.text.rules import TextRules
from services.gateway.admission import task_rows, text_files
from services.gateway.admission.references import Base, find_base
from services.gateway.middleware.tenancy import TenantSession

CONFIG = "config.json"


class NoInput(Exception):
    """Something that a preflight would look at is not there or cannot be read. The message is for people."""


@dataclass(frozen=True)
class Model:
    """The base of a run: its limits, its tokenizer and its architecture."""

    base: Base
    tokenizer: ModelText
    architecture: Architecture

    def tokens(self, ids: Sequence[int]) -> Tokens:
        """Return the text of each token, with the places of control tokens."""
        texts = self.tokenizer.pieces(ids)
        control = [place for place, text in enumerate(texts) if text in self.tokenizer.control]
        return Tokens(ids=list(ids), texts=texts, control=control)

    def ends(self) -> list[EndToken]:
        """Return the tokens that end a completion."""
        return [EndToken(id=one.id, text=one.text, sources=one.sources) for one in self.tokenizer.ends]


async def model(session: TenantSession, objects: Objects, spec: RunSpec) -> Model | None:
    """Read the base that a spec names; None if there is none. Raises NoInput, and ValueError for an unreadable file."""
    name = spec.model.base
    async with session.transaction() as transaction:
        base = await find_base(transaction, name, "model.base")
        if isinstance(base, Problem):
            return None
        row = (await transaction.one("artifacts.named", kind="base_model", name=base.artifact_id) if base.artifact_id
               else await transaction.one("versions.manifest", version_id=base.version_id))
    if row is None:
        raise NoInput(f"the files of {name} are not stored any more")
    today = datetime.now(UTC).date().isoformat()
    rules = spec.chat.model_copy(update={"date": spec.chat.date or today})
    return await text_files.in_thread(_read, objects, base, row["manifest"]["files"], rules)


def _read(objects: Objects, base: Base, entries: dict[str, Any], rules: TextRules) -> Model:
    files = {name: get_file(objects, entries[name]) for name in FILES if name in entries}
    return Model(base, ConfinedTokenizer(files, rules), architecture.parse(json.loads(files[CONFIG])))


@dataclass(frozen=True)
class NumberedRow:
    """A row of a dataset and its number, counted from 1."""

    number: int
    row: TaskRow


@dataclass
class PickedRows:
    """Rows of a dataset that are tasks: evenly `spaced` ones, the `longest` others, and the number of all rows."""

    spaced: list[NumberedRow] = field(default_factory=list)
    longest: list[NumberedRow] = field(default_factory=list)
    total: int = 0


async def rows(
    session: TenantSession, objects: Objects, source: TaskSource, model: Model, most: int, longest: int,
) -> PickedRows:
    """Pick at most `most` spaced rows and `longest` long ones of a source's dataset, which the model can read.

    Raises NoInput.
    """
    async with session.transaction() as transaction:
        found = await transaction.one("artifacts.named", kind="dataset", name=source.dataset)
    if found is None:
        raise NoInput(f"there is no dataset {source.dataset}")
    manifest = found["manifest"]
    step = -(-manifest["rows"] // most)
    return await asyncio.to_thread(
        _picked, objects, manifest["files"][task_rows.FILE]["key"], source, model.tokenizer, max(1, step), longest)


def _picked(
    objects: Objects, key: str, source: TaskSource, tokenizer: ModelText, step: int, longest: int,
) -> PickedRows:
    picked, sieve = PickedRows(), Sieve(source.kind, source.params, lambda: tokenizer.lacks)
    long: list[tuple[int, int, TaskRow]] = []
    try:
        for number, row in enumerate(_tasks(objects, key, source, sieve), 1):
            if (number - 1) % step == 0:
                picked.spaced.append(NumberedRow(sieve.rows, row))
                continue
            heapq.heappush(long, (len(json.dumps(row)), -sieve.rows, row))
            if len(long) > longest:
                heapq.heappop(long)
    except task_rows.RowsLost as lost:
        raise NoInput(str(lost)) from lost
    picked.total = sieve.rows
    picked.longest = [NumberedRow(-number, row) for _, number, row in sorted(long, reverse=True)]
    return picked


def _tasks(objects: Objects, key: str, source: TaskSource, sieve: Sieve) -> Iterator[TaskRow]:
    return (row for row in task_rows.rows(objects, key, str(source.dataset)) if sieve.content_hash(row) is not None)
