"""The builders of given completions: rows become a Parquet part like any wave's, with nothing sampled."""

from typing import Any

from hone import ids
from hone.spec.supervision import builder_of
from hone.store import manifests
from hone.store.database import Database
from hone.store.objects import Objects
from hone.trajectory import parts
from hone.trajectory.records import Call, Trajectory
from hone.trajectory.tokens import Tokenizer
from services.learner.driver.lease import RunLease


class Supervised:
    """Turns dataset rows into trajectories of one call each, tokenized with the base's tokenizer."""

    def __init__(self, database: Database, objects: Objects, lease: RunLease) -> None:
        self._database, self._objects, self._lease = database, objects, lease
        self._tokenizer: Tokenizer | None = None

    def store_part(self, rows: list[dict[str, Any]], first: int) -> str:
        """Store the rows at places `first …` as one part; return its key."""
        tokenizer = self._loaded_tokenizer()
        data = parts.encode([made for place, row in enumerate(rows)
                             for made in self._trajectories(row, first + place, tokenizer)])
        key = f"runs/{self._lease.run_id}/parts/{ids.new('part')}.parquet"
        self._objects.put(key, data)
        return key

    def _trajectories(self, row: dict[str, Any], place: int, tokenizer: Tokenizer) -> list[Trajectory]:
        """Return a row's completion, or its chosen and its rejected one."""
        given = ("chosen", "rejected") if builder_of(self._lease.spec.algorithm) == "pairs" else ("completion",)
        return [_trajectory(row, row[name], place, index, tokenizer) for index, name in enumerate(given)]

    def _loaded_tokenizer(self) -> Tokenizer:
        if self._tokenizer is None:
            row = self._database.one("driver.base_manifest", model_id=self._lease.model_id)
            files = row["manifest"]["files"] if row else {}
            named = {name: entry for name, entry in files.items() if name.endswith(".json") and "index" not in name}
            self._tokenizer = Tokenizer(manifests.get_files(self._objects, {"files": named}))
        return self._tokenizer


def _trajectory(row: dict[str, Any], text: str, place: int, index: int, tokenizer: Tokenizer) -> Trajectory:
    messages = row.get("messages") or [{"role": "user", "content": row["prompt"]}]
    completion = tokenizer.completion_ids(text)
    call = Call(
        index=0, prompt_ids=tokenizer.prompt_ids(messages), completion_ids=completion, logp_sample=[],
        finish_reason="stop", versions=[], text=text, train_mask=[True] * len(completion))
    return Trajectory(
        group_id=0, index=index, request_no=place, task={}, task_hash="", item=row, calls=[call], steps=[], status="ok",
        score=None, grade_id=None)
