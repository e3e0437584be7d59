"""A model in the object store is checked like one on the disk, and its weights are fetched once."""

import io
from pathlib import Path

import pytest

from hone.models import toy
from hone.spec.problems import Invalid
from hone.store.objects import PIECE_BYTES
from hone.store.objects.directory import Directory
from services.gateway.admission.model_files import inspect
from services.gateway.admission.stored_folder import StoredFolder


class Counted(Directory):
    """A store that counts the bytes it gives away."""

    given = 0

    def read_range(self, key: str, begin: int, length: int) -> bytes:
        data = super().read_range(key, begin, length)
        self.given += len(data)
        return data


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return toy.write(tmp_path / "model", hidden=256, layers=4)


def _stored(tmp_path: Path, model: Path) -> tuple[Counted, StoredFolder]:
    objects, sizes = Counted(tmp_path / "store"), {}
    for path in model.iterdir():
        objects.put(f"up/{path.name}", path)
        sizes[path.name] = (f"up/{path.name}", path.stat().st_size)
    return objects, StoredFolder(objects, sizes)


def test_the_same_facts_with_the_weights_fetched_once(tmp_path: Path, model: Path) -> None:
    objects, folder = _stored(tmp_path, model)
    assert inspect(folder) == inspect(model)
    assert objects.given < (model / "model.safetensors").stat().st_size + 2 * PIECE_BYTES


def test_a_missing_file_is_named(tmp_path: Path, model: Path) -> None:
    (model / "tokenizer.json").unlink()
    _, folder = _stored(tmp_path, model)
    with pytest.raises(Invalid, match=r"tokenizer\.json"):
        inspect(folder)
    with pytest.raises(FileNotFoundError):
        (folder / "tokenizer.json").open()


def test_a_file_is_read_from_any_place(tmp_path: Path, model: Path) -> None:
    _, folder = _stored(tmp_path, model)
    whole = (model / "model.safetensors").read_bytes()
    with (folder / "model.safetensors").open() as file:
        assert file.seek(-5, io.SEEK_END) == len(whole) - 5
        assert file.read() == whole[-5:]
        assert file.seek(100) == 100
        assert (file.read(7), file.tell()) == (whole[100:107], 107)
    assert (folder / "model.safetensors").read_bytes() == whole
