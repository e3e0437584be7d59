"""Checks the rows of supervised stages against the model: what it cannot be trained on is left out, and said before."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime

from hone.algorithms import presets
from hone.algorithms.slots import BUILDERS
from hone.environments.rows import Sieve
from hone.environments.trainable import TrainableRows
from hone.spec.problems import Problem
from hone.spec.run import RunSpec
from hone.store.manifests import get_file
from hone.store.objects import ObjectMissing, Objects
from hone.text.confined import ConfinedTokenizer
from hone.text.files import TokenizerError
from hone.text.model_text import ModelText
from services.gateway.admission import references, task_rows
from services.gateway.admission.references import Base
from services.gateway.admission.task_rows import RowsLost
from services.gateway.middleware.tenancy import TenantSession

_LONGEST_S = 10.0
"""Time after which the rest of a dataset is left to the driver, which looks at every row."""


@dataclass(frozen=True)
class TrainedRows:
    """The findings on the rows of a supervised part: events of kind and message, and whether no row can be used."""

    at: str
    dataset: str
    events: tuple[tuple[str, str], ...] = ()
    none: bool = False
    unreadable: str = ""  # why the model's text cannot be made

    def problems(self) -> list[Problem]:
        """Return why the run cannot train on the dataset; empty if at least one row can be used."""
        if self.unreadable:
            return [Problem("model.base", self.unreadable, f"a model that can read the rows of {self.dataset!r}")]
        return [Problem(f"{self.at}.dataset", message.removeprefix("dataset "), "at least one row to train on")
                for _, message in self.events if self.none]


async def check(session: TenantSession, objects: Objects, spec: RunSpec) -> list[TrainedRows]:
    """Check the rows of each supervised part of the spec. A missing base or dataset is reported elsewhere."""
    parts = [(one.at, one.spec) for one in task_rows.parts(spec) if presets.supervised(one.spec.algorithm)]
    if not parts:
        return []
    async with session.transaction() as transaction:
        base = await references.find_base(transaction, spec.model.base, "model.base")
    found = list[TrainedRows]()
    for at, part in parts:
        stored = await task_rows.files(session, part.task)
        if stored is not None and isinstance(base, Base) and base.text_files:
            key = stored[task_rows.FILE]["key"]
            found.append(await task_rows.read_apart(session.tenant_id, _findings, objects, key, at, part, base))
    return found


def _findings(objects: Objects, key: str, at: str, part: RunSpec, base: Base) -> TrainedRows:
    dataset = str(part.task.dataset)
    try:
        texts = {name: get_file(objects, entry) for name, entry in base.text_files.items()}
        date = part.chat.date or datetime.now(UTC).date().isoformat()
        tokenizer = ConfinedTokenizer(texts, part.chat.model_copy(update={"date": date}))
        sieve = TrainableRows(BUILDERS[presets.builder_of(part.algorithm)].columns, tokenizer, base.max_positions)
        whole = _looked_at(sieve, objects, key, part, tokenizer)
    except (RowsLost, ObjectMissing):  # reported with the rows, or by the driver as the run's failure
        return TrainedRows(at, dataset)
    except TokenizerError as error:
        return TrainedRows(at, dataset, unreadable=str(error))
    more = "" if whole else f" (the first {sieve.rows} rows were looked at)"
    events = tuple((kind, f"{message}{more}") for kind, message in sieve.messages(dataset))
    return TrainedRows(at, dataset, events, sieve.none and whole)


def _looked_at(sieve: TrainableRows, objects: Objects, key: str, part: RunSpec, tokenizer: ModelText) -> bool:
    """Look at the rows that are tasks; return whether there was time for all of them."""
    tasks, begun = Sieve(part.task.kind, part.task.params, lambda: tokenizer.lacks), time.monotonic()
    for number, row in enumerate(task_rows.rows(objects, key, str(part.task.dataset)), 1):
        if time.monotonic() - begun > _LONGEST_S:
            return False
        if tasks.content_hash(row) is not None:
            sieve.takes(number, row)
    return True
