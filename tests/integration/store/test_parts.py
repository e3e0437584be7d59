"""Objects that arrive in parts, and ranges of objects: the same tests on a directory and on a real S3 bucket."""

import errno
import hashlib
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hone.store.objects import (
    SMALLEST_PART,
    ObjectCorrupt,
    ObjectMissing,
    Objects,
    StoreAway,
    StoreFull,
    Unfinished,
    connect,
)
from hone.store.objects.directory import Directory

KEY = "artifacts/art_1/model.safetensors"
WHOLE = secrets.token_bytes(SMALLEST_PART) + bytes(SMALLEST_PART) + b"the end"
PARTS = [WHOLE[begin:begin + SMALLEST_PART] for begin in range(0, len(WHOLE), SMALLEST_PART)]


@pytest.fixture(params=["directory", "bucket"])
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> Objects:
    if request.param == "directory":
        return connect(f"file://{tmp_path}/objects")
    return connect(request.getfixturevalue("s3").url(f"parts-{secrets.token_hex(6)}"))


def _begun(objects: Objects, whole: bytes = WHOLE) -> Unfinished:
    return objects.begin(KEY, SMALLEST_PART, hashlib.sha256(whole).hexdigest())


def test_parts_in_any_order_and_twice_become_one_object(objects: Objects) -> None:
    begun = _begun(objects)
    objects.put_part(begun, 2, b"x" * SMALLEST_PART)
    tags = {number: objects.put_part(begun, number, PARTS[number - 1]) for number in (3, 2, 1)}
    assert list(objects.list("")) == []
    with pytest.raises(ObjectMissing):
        objects.read(KEY)
    objects.finish(begun, [tags[number] for number in (1, 2, 3)])
    objects.finish(begun, [tags[number] for number in (1, 2, 3)])  # by a second process
    assert objects.get(KEY) == WHOLE
    assert b"".join(objects.read(KEY)) == WHOLE
    assert objects.discard_unfinished(0) == 0


def test_a_reader_of_other_bytes_than_promised_learns_it(objects: Objects) -> None:
    if isinstance(objects, Directory):
        pytest.skip("files keep no digest; manifests do")
    begun = _begun(objects, b"something else")
    objects.finish(begun, [objects.put_part(begun, number, part) for number, part in enumerate(PARTS, 1)])
    with pytest.raises(ObjectCorrupt):
        list(objects.read(KEY))


def test_what_was_abandoned_takes_no_parts(objects: Objects) -> None:
    begun = _begun(objects)
    tag = objects.put_part(begun, 1, PARTS[2])
    objects.abandon(begun)
    objects.abandon(begun)
    with pytest.raises(ObjectMissing):
        objects.put_part(begun, 1, PARTS[2])
    with pytest.raises((ObjectMissing, StoreAway)):
        objects.finish(begun, [tag])
    assert objects.discard_unfinished(0) == 0


def test_the_sweep_spares_what_is_named(objects: Objects) -> None:
    kept, _ = _begun(objects, PARTS[2]), _begun(objects)
    time.sleep(1.1)  # servers report whole seconds
    assert objects.discard_unfinished(1, {kept.id}) == 1
    objects.finish(kept, [objects.put_part(kept, 1, PARTS[2])])
    assert objects.get(KEY) == PARTS[2]


@pytest.mark.parametrize(("begin", "length", "expected"), [
    (0, 4, b"0123"), (3, 4, b"3456"), (8, 10, b"89"), (10, 5, b""), (50, 5, b""), (2, 0, b""),
])
def test_reads_a_range(objects: Objects, begin: int, length: int, expected: bytes) -> None:
    objects.put("rows", b"0123456789")
    assert objects.read_range("rows", begin, length) == expected


def test_a_range_of_a_missing_object_is_named(objects: Objects) -> None:
    with pytest.raises(ObjectMissing, match="absent"):
        objects.read_range("absent", 0, 4)


def test_a_directory_says_how_much_it_holds(tmp_path: Path) -> None:
    free = Directory(tmp_path).free_bytes()
    assert free is not None
    assert 0 < free <= os.statvfs(tmp_path).f_blocks * os.statvfs(tmp_path).f_frsize


def test_a_full_disk_is_called_full(tmp_path: Path) -> None:
    def broken() -> Iterator[bytes]:
        yield b"x"
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(StoreFull, match=f"no space left in {tmp_path}"):
        Directory(tmp_path).put("key", broken())
