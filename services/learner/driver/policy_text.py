"""The text rules of a run's policy: those of its base, which never change."""

from functools import cached_property
from typing import Any

from hone.spec.run import RunSpec
from hone.store import manifests
from hone.store.database import Database
from hone.store.objects import Objects
from hone.text.confined import ConfinedTokenizer
from hone.text.files import FILES
from hone.text.model_text import ModelText


class PolicyText:
    """Reads the tokenizer of a policy's base when it is first needed."""

    def __init__(self, database: Database, objects: Objects, model_id: str, spec: RunSpec) -> None:
        self._database, self._objects, self._model_id, self._rules = database, objects, model_id, spec.chat

    @cached_property
    def _manifest(self) -> dict[str, Any]:
        row = self._database.one("models.base_manifest", model_id=self._model_id)
        return row["manifest"] if row else {"files": {}}

    @property
    def positions(self) -> int:
        """Most tokens of a sequence of the policy; 0 if that is not known."""
        return int(self._manifest.get("max_positions", 0))

    @cached_property
    def tokenizer(self) -> ModelText:
        """The tokenizer. Raises TokenizerError when the base's files are none."""
        files = self._manifest["files"]
        named = {name: entry for name, entry in files.items() if name in FILES}
        return ConfinedTokenizer(manifests.get_files(self._objects, {"files": named}), self._rules)
