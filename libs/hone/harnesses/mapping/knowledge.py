"""Knowledge of an environment beyond an episode: action grammar, rules and errors, K_g of MAP.

An item of the collection is {"kind": "action" | "rule" | "error", "text", "task"}: the task from which it was learned.
Items that were learned from a task alone are not read in that task. arXiv 2605.13037; the form of items, and that they
are joined without a model, are a reconstruction.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hone.harnesses.mapping.facts import normal
from hone.harnesses.offers import MOST_OF_CALL, cut
from hone.harnesses.seat import Kept

HEADINGS: Mapping[str, str] = {"action": "Actions:", "rule": "Rules:", "error": "Errors:"}
_LINE = re.compile(r"(action|rule|error)\s*:\s*(\S.*)", re.IGNORECASE)
_TEXT_BYTES = 400


@dataclass(frozen=True)
class Known:
    """One text of the knowledge, and how many different tasks taught it."""

    kind: str
    text: str
    tasks: int
    place: int  # of its first item


@dataclass(frozen=True)
class Knowledge:
    """Knowledge in a sample: texts, the id of the newest item, and how many texts its own task alone taught."""

    known: tuple[Known, ...] = ()
    version: str | None = None
    withheld: int = 0

    @property
    def text(self) -> str:
        """The knowledge in words; "" where nothing is known."""
        lines = list[str]()
        for kind, heading in HEADINGS.items():
            texts = [f"- {one.text}" for one in self.known if one.kind == kind]
            lines += [heading, *texts] if texts else []
        return "\n".join(lines)


def knowledge(items: Sequence[Kept], task: str, most: int) -> Knowledge:
    """Return the knowledge for a task, without items that this task alone taught; at most `most` characters of texts.

    Equal texts are one. Of too many those stay that most tasks taught, of equal ones the older.
    """
    taught = dict[tuple[str, str], tuple[str, set[str], int]]()
    for place, one in enumerate(items):
        body = one.body
        _, tasks, _ = taught.setdefault((body["kind"], normal(body["text"])), (body["text"], set(), place))
        tasks.add(body["task"])
    own = {task} if task else set[str]()
    read = [Known(kind, text, len(tasks), place) for (kind, _), (text, tasks, place) in taught.items() if tasks - own]
    kept = sorted(_fitting(read, most), key=lambda one: one.place)
    return Knowledge(tuple(kept), items[-1].id if items else None, len(taught) - len(read))


def _fitting(read: Iterable[Known], most: int) -> Iterator[Known]:
    for one in sorted(read, key=lambda one: (-one.tasks, one.place)):
        most -= len(one.text) + 3
        if most >= 0:
            yield one


def distilled(text: str, task: str, known: Knowledge) -> list[dict[str, Any]]:
    """Return the items that a distilled text offers: its lines `action: …`, `rule: …`, `error: …`.

    What is known already is offered again, as another task that teaches it; at most as many as a call may offer.
    """
    before = {(one.kind, normal(one.text)): one.text for one in known.known}
    made = dict[tuple[str, str], dict[str, Any]]()
    for line in text.splitlines():
        if found := _LINE.fullmatch(line.strip(" \t-*•")):
            kind, said = found[1].casefold(), found[2].strip()
            key = kind, normal(said)
            if key[1]:
                made.setdefault(key, {"kind": kind, "text": before.get(key, cut(said, _TEXT_BYTES)), "task": task})
    return list(made.values())[:MOST_OF_CALL]
