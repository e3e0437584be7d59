"""The kept state of an earlier release, upgraded: a run that ended, a paused run and a run in the middle of a step.

kept/NNN.tar.xz is what scripts/kept_state.py made with the release whose tables have version NNN: a backup, the runs,
and the gateway's answers of then. Processors round differently, so nothing here depends on the machine that made the
archive: the run that goes on is compared with a single process that goes on from the same snapshot on this machine.
"""

import json
import tarfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, LiteralString

import httpx
import psycopg
import pytest

from hone.stack import backup, embedded
from hone.stack.embedded import Stack
from hone.stack.processes import KINDS
from hone.store import manifests, schema
from hone.store.objects.directory import Directory
from tests.acceptance import oracle
from tests.acceptance.scene import Scene, open_scene

MANIFESTS: dict[str, LiteralString] = {
    "base": "SELECT a.manifest FROM runs r JOIN models m ON m.id = r.policy_model_id "
            "JOIN artifacts a ON a.id = m.base_artifact_id WHERE r.id = %s",
    "snapshot": "SELECT m.snapshot FROM runs r JOIN models m ON m.id = r.policy_model_id WHERE r.id = %s"}
"""What the oracle begins with: the base's configuration and tokenizer, the run's last snapshot."""
ARCHIVES = sorted((Path(__file__).parent / "kept").glob("*.tar.xz"))


@dataclass(frozen=True)
class Kept:
    """A backup of an earlier release, and the content of expected.json."""

    folder: Path
    version: int
    ids: dict[str, str]
    specs: dict[str, dict[str, Any]]
    answers: dict[str, Any]
    committed: int

    @classmethod
    def unpacked(cls, archive: Path, folder: Path) -> "Kept":
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
        found = json.loads((folder / "expected.json").read_text())
        assert found.pop("states") == {"finished": "succeeded", "paused": "paused", "running": "running"}
        return cls(folder, int(archive.name.partition(".")[0]), **found)

    def restored(self, state: Path) -> None:
        """Bring the backup into a new stack, and move its clocks: the upgrade comes right after the backup."""
        with Stack(state, counts=dict.fromkeys(KINDS, 0)) as stack:
            owner = embedded.owner_url(stack.state)
            label = backup.restore(owner, stack.record().objects_url, self.folder)
            assert label.schema == self.version < schema.VERSION
            passed = datetime.now(UTC) - datetime.fromisoformat(label.made_at)
            with psycopg.connect(owner) as connection:
                for name, query in MANIFESTS.items():
                    self._write(name, connection.execute(query, (self.ids["running"],)).fetchone())
                connection.execute("UPDATE runs SET deadline = deadline + %s WHERE ended_at IS NULL", (passed,))
                connection.execute("UPDATE groups SET deadline = deadline + %s WHERE state = 'requested'", (passed,))

    def undisturbed(self) -> list[str]:
        """Return the digests of the running run's versions, from the last one of the backup on, by one process."""
        return oracle.digests_from(
            self.folder / "base", self.folder / "snapshot", self.committed, self.specs["running"])

    def _write(self, name: str, row: tuple[dict[str, Any], ...] | None) -> None:
        """Write the files of a manifest to a folder of this name."""
        assert row is not None
        (self.folder / name).mkdir()
        for file, data in manifests.get_files(Directory(self.folder / "objects"), row[0]).items():
            (self.folder / name / file).write_bytes(data)


def test_archives_are_of_releases_that_this_one_upgrades() -> None:
    assert ARCHIVES
    assert all(schema.BASELINE <= int(archive.name.partition(".")[0]) < schema.VERSION for archive in ARCHIVES)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda archive: archive.name)
def test_runs_of_an_earlier_release_go_on_after_the_upgrade(archive: Path, tmp_path: Path) -> None:
    kept, state = Kept.unpacked(archive, tmp_path / "kept"), tmp_path / "state"
    kept.restored(state)
    scene = open_scene(state, {"lease_s": 2.0}, {})
    try:
        check_answers(scene, kept.answers)
        running, paused = kept.ids["running"], kept.ids["paused"]
        scene.finished(running)
        assert scene.client.run(paused).state == "paused"
        scene.client.resume(paused)
        expected = kept.undisturbed()
        assert scene.weights(running)[kept.committed:] == expected
        assert len(set(expected)) > 2, "its steps change the weights"
        assert scene.finished(paused).step == kept.specs["paused"]["steps"]
    finally:
        scene.stack.stop()


def check_answers(scene: Scene, answers: dict[str, Any]) -> None:
    """Hold what the gateway says now against what it said before the upgrade. New fields may have come."""
    record = scene.stack.record()
    with httpx.Client(base_url=record.gateway_url, headers={"Authorization": f"Bearer {record.api_key}"}) as http:
        for path, before in answers.items():
            assert differences(before, http.get(path).raise_for_status().json()) == [], path


def differences(before: Any, now: Any, place: str = "") -> list[str]:
    """Return the places at which an answer lost or changed something."""
    if isinstance(before, dict) and isinstance(now, dict):
        return [each for key in before
                for each in differences(before[key], now.get(key, "(missing)"), f"{place}.{key}")]
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        return [each for n, (one, two) in enumerate(zip(before, now, strict=True))
                for each in differences(one, two, f"{place}[{n}]")]
    return [] if before == now else [f"{place}: {before!r} became {now!r}"]
