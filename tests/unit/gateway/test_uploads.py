"""What an upload may hold, and how a store or a disk without room is answered."""

import errno
import os
from pathlib import Path

import pytest

from hone.spec.problems import Invalid
from hone.spec.settings import Settings
from hone.store.objects import StoreAway, StoreFull
from hone.store.objects.directory import Directory
from services.gateway.admission import uploads
from services.gateway.admission.uploads import AnnouncedFile, NewUpload, PlannedFile
from services.gateway.middleware.errors import NoRoom, UploadTooLarge, refusal

MIB = 2**20


class Small(Directory):
    """A store with 10 MiB left."""

    def free_bytes(self) -> int:
        return 10 * MIB


def planned(size: int, key: str | None = "key") -> list[PlannedFile]:
    return [PlannedFile("a", size, "", 16 * MIB, key)]


def test_a_store_that_holds_less_than_is_announced_is_full(tmp_path: Path) -> None:
    store, settings = Small(tmp_path), Settings()
    uploads._expect_room(store, settings, planned(10 * MIB), "base_model")
    uploads._expect_room(store, settings, planned(2**40, key=None), "base_model")  # is never sent
    with pytest.raises(NoRoom) as full:
        uploads._expect_room(store, settings, planned(10 * MIB + 1), "base_model")
    assert full.value.status_code == 507
    assert full.value.problems[0].found == f"{10 * MIB + 1} bytes in all"


def test_a_limit_is_named_with_its_setting(tmp_path: Path) -> None:
    with pytest.raises(UploadTooLarge) as large:
        uploads._expect_room(Small(tmp_path), Settings(max_upload_gb=0.001), planned(2 * MIB), "base_model")
    assert "HONE_MAX_UPLOAD_GB" in large.value.problems[0].expected
    uploads._expect_room(Small(tmp_path), Settings(max_dataset_gb=0.001), planned(2 * MIB), "base_model")
    with pytest.raises(UploadTooLarge) as large:
        uploads._expect_room(Small(tmp_path), Settings(max_dataset_gb=0.001), planned(2 * MIB), "dataset")
    assert "HONE_MAX_DATASET_GB" in large.value.problems[0].expected


@pytest.mark.parametrize(("size", "part_mb", "parts"), [
    (0, 16, 1), (1, 16, 1), (16 * MIB, 16, 1), (16 * MIB + 1, 16, 2), (160_000 * MIB, 16, 10_000),
    (160_000 * MIB + 1, 17, 9412), (640_000 * MIB, 64, 10_000),
])
def test_parts_grow_with_a_file_that_would_have_too_many(size: int, part_mb: int, parts: int) -> None:
    file = AnnouncedFile(name="a", bytes=size, sha256="0" * 64)
    wanted = NewUpload(kind="model", name="m", files=[file])
    found = uploads._planned(file, wanted, Settings(), "art_1")
    assert (found.part_bytes, found.parts) == (part_mb * MIB, parts)


def test_a_file_that_no_store_holds_is_refused() -> None:
    file = AnnouncedFile(name="a", bytes=640_000 * MIB + 1, sha256="0" * 64)
    with pytest.raises(Invalid, match="at most 671088640000 bytes in a file"):
        uploads._planned(file, NewUpload(kind="model", name="m", files=[file]), Settings(), "art_1")


@pytest.mark.parametrize(("name", "sent"), [
    ("model.safetensors", True), ("chat_template.jinja", True), ("pytorch_model.bin", False), ("model.gguf", False),
])
def test_weights_that_nothing_reads_are_not_sent(name: str, sent: bool) -> None:
    file = AnnouncedFile(name=name, bytes=1, sha256="0" * 64)
    found = uploads._planned(file, NewUpload(kind="model", name="m", files=[file]), Settings(), "art_1")
    assert (found.key is not None) == sent


@pytest.mark.parametrize(("error", "status", "detail"), [
    (StoreFull("key: no space"), 507, "The object store is full"),
    (StoreAway("key: away"), 503, "The object store does not answer"),
    (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), 507, "no space left in"),
    (OSError(errno.EIO, "broken"), 500, "An unexpected error"),
])
def test_full_is_another_answer_than_away(error: Exception, status: int, detail: str) -> None:
    found = refusal(error)
    assert found.status_code == status
    assert detail in str(found.detail)
