"""Which folders a gateway reads by path."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from hone.spec.problems import Invalid
from hone.spec.settings import Settings
from services.gateway.admission import local_folders


def _settings(**given: Any) -> Settings:
    return Settings(objects_url="file:///srv/objects", broker_url="filesystem:///srv/broker", **given)


def test_own_places_are_directories_of_this_machine(tmp_path: Path) -> None:
    assert list(local_folders.own_places(_settings())) == [Path("/srv/objects"), Path("/srv/broker")]
    away = Settings(objects_url="s3://key:secret@host:9000/bucket", broker_url="amqp://guest:guest@host//")
    assert not list(local_folders.own_places(away))
    assert tmp_path in local_folders.own_places(_settings(state=tmp_path))


def test_a_path_into_the_state_is_refused_through_links(tmp_path: Path) -> None:
    (tmp_path / "state" / "logs").mkdir(parents=True)
    (tmp_path / "model").mkdir()
    settings = _settings(state=tmp_path / "state", model_root=tmp_path)
    assert local_folders.opened(str(tmp_path / "model"), settings) == tmp_path / "model"
    (tmp_path / "model" / "config.json").symlink_to(tmp_path / "state" / "stack.json")
    for path in (tmp_path / "state", tmp_path / "state" / "logs", tmp_path / "model" / ".." / "state",
                 tmp_path / "model"):
        with pytest.raises(Invalid, match="outside the directories of the stack itself"):
            local_folders.opened(str(path), settings)


def test_a_cache_of_links_below_the_root_is_read(tmp_path: Path) -> None:
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / "abc").write_text("{}")
    (tmp_path / "snapshots").mkdir()
    (tmp_path / "snapshots" / "config.json").symlink_to(Path("..") / "blobs" / "abc")
    assert local_folders.opened(str(tmp_path / "snapshots"), _settings(model_root=tmp_path)) == tmp_path / "snapshots"
    with pytest.raises(Invalid, match="below"):
        local_folders.opened(str(tmp_path / "snapshots"), _settings(model_root=tmp_path / "snapshots"))


class _Session:
    def __init__(self, only: bool) -> None:
        self._only = only

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator["_Session"]:
        yield self

    async def one(self, name: str) -> dict[str, bool]:
        assert name == "tenants.is_only"
        return {"only": self._only}


async def test_paths_need_a_root_or_one_tenant(tmp_path: Path) -> None:
    await local_folders.allow(_Session(True), _settings())  # type: ignore[arg-type]
    await local_folders.allow(_Session(False), _settings(model_root=tmp_path))  # type: ignore[arg-type]
    with pytest.raises(Invalid, match="HONE_MODEL_ROOT"):
        await local_folders.allow(_Session(False), _settings())  # type: ignore[arg-type]
