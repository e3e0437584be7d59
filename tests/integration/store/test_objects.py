"""The contract of an object store: the same tests on a directory and on a real S3 bucket."""

import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import cast

import pytest
from minio import Minio

from hone.store.objects import PIECE_BYTES, SMALLEST_PART, ObjectCorrupt, ObjectMissing, Objects, StoreAway, connect
from hone.store.objects.directory import Directory
from hone.store.objects.s3 import Bucket, StoreRefused
from tests.servers.s3 import Server


@pytest.fixture(params=["directory", "bucket"])
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> Objects:
    if request.param == "directory":
        return connect(f"file://{tmp_path}/objects")
    return connect(request.getfixturevalue("s3").url(f"contract-{secrets.token_hex(6)}"))


def test_connect_returns_the_store_of_the_url(objects: Objects) -> None:
    assert isinstance(objects, Directory | Bucket)


@pytest.mark.parametrize("data", [b"", b"\x00\xff", b"x" * (6 * 2**20 + 1)], ids=["empty", "bytes", "6 MiB"])
def test_gets_the_stored_bytes(objects: Objects, data: bytes) -> None:
    objects.put("models/m/versions/v/model.safetensors", data)
    assert objects.get("models/m/versions/v/model.safetensors") == data


def test_a_key_may_hold_any_text(objects: Objects) -> None:
    objects.put("artifacts/ä b+c%2F?#&/rows.jsonl", b"1")
    assert objects.get("artifacts/ä b+c%2F?#&/rows.jsonl") == b"1"
    assert list(objects.list("artifacts/")) == ["artifacts/ä b+c%2F?#&/rows.jsonl"]


@pytest.mark.parametrize("key", ["absent", "runs/absent", "runs"])
def test_a_missing_object_is_named(objects: Objects, key: str) -> None:
    objects.put("runs/r/part", b"1")
    with pytest.raises(ObjectMissing, match=key):
        objects.get(key)


@pytest.mark.parametrize(("prefix", "expected"), [
    ("", ["a", "runs/1/x", "runs/1/y", "runs/10/x"]),
    ("runs/", ["runs/1/x", "runs/1/y", "runs/10/x"]),
    ("runs/1", ["runs/1/x", "runs/1/y", "runs/10/x"]),
    ("runs/1/", ["runs/1/x", "runs/1/y"]),
    ("runs/1/x", ["runs/1/x"]),
    ("none/", []),
])
def test_lists_keys_by_prefix_in_order(objects: Objects, prefix: str, expected: list[str]) -> None:
    for key in ("runs/10/x", "runs/1/y", "a", "runs/1/x"):
        objects.put(key, b"1")
    assert list(objects.list(prefix)) == expected


def test_lists_more_keys_than_one_page_of_the_server_holds(s3: Server) -> None:
    objects = Bucket.connect(s3.url("hone-pages"))
    for number in range(1001):
        objects.put(f"many/{number:04}", b"")
    assert list(objects.list("many/")) == [f"many/{number:04}" for number in range(1001)]


def test_deletes_keys_and_ignores_absent_ones(objects: Objects) -> None:
    for key in ("a", "b", "c"):
        objects.put(key, b"1")
    objects.delete(["a", "never", "b"])
    objects.delete([])
    assert list(objects.list("")) == ["c"]


def test_a_file_and_pieces_are_stored_and_read_in_pieces(objects: Objects, tmp_path: Path) -> None:
    data = bytes(range(256)) * (6 * 2**12 + 1)  # more than one part of an upload
    (tmp_path / "file").write_bytes(data)
    objects.put("file", tmp_path / "file")
    objects.put("pieces", (data[begin : begin + 2**20] for begin in range(0, len(data), 2**20)))
    objects.put("nothing", iter(()))
    for key, wanted in (("file", data), ("pieces", data), ("nothing", b"")):
        assert objects.get(key) == wanted
        assert b"".join(objects.read(key)) == wanted
    assert max(map(len, objects.read("file"))) <= PIECE_BYTES
    with pytest.raises(ObjectMissing, match="absent"):
        objects.read("absent")


def test_pieces_that_break_off_leave_nothing(objects: Objects, tmp_path: Path) -> None:
    def broken() -> Iterator[bytes]:
        yield b"x" * (6 * 2**20)
        raise ConnectionError("the sender is gone")

    with pytest.raises(ConnectionError, match="the sender is gone"):
        objects.put("models/m/part", broken())
    with pytest.raises(FileNotFoundError):
        objects.put("models/m/file", tmp_path / "absent")
    assert list(objects.list("")) == []
    assert objects.discard_unfinished(0) == 0


def test_leftovers_of_a_killed_writer_are_deleted_when_old(objects: Objects) -> None:
    _leave_unfinished(objects)
    assert list(objects.list("")) == []
    assert objects.discard_unfinished(60) == 0
    time.sleep(1.1)  # servers report whole seconds
    assert objects.discard_unfinished(1) == 1
    assert objects.discard_unfinished(0) == 0


def _leave_unfinished(objects: Objects) -> None:
    """Leave the unfinished part of a large object, as a killed writer does."""
    if isinstance(objects, Bucket):
        objects.put_part(objects.begin("models/m/large ä+", SMALLEST_PART, "0" * 64), 1, b"half")
    else:
        code = ("import sys, os; from pathlib import Path; from hone.store.objects.directory import Directory\n"
                "def halves():\n    yield b'half'\n    os.kill(os.getpid(), 9)\n"
                "Directory(sys.argv[1]).put('models/m/large', halves())")
        root = cast(Directory, objects)._root
        assert subprocess.run([sys.executable, "-c", code, root], check=False).returncode == -9


@pytest.mark.parametrize(("prefix", "after", "expected"), [
    ("", "a", ["b/c", "b/d/e", "b/f", "b0"]),
    ("b", "b/d/e", ["b/f", "b0"]),
    ("b/", "b/c", ["b/d/e", "b/f"]),
    ("b/", "b/d/", ["b/d/e", "b/f"]),
    ("b/", "b/e", ["b/f"]),
    ("b/", "c", []),
    ("b/", "a", ["b/c", "b/d/e", "b/f"]),
])
def test_lists_go_on_after_a_key(objects: Objects, prefix: str, after: str, expected: list[str]) -> None:
    for key in ("a", "b/f", "b/d/e", "b0", "b/c"):
        objects.put(key, b"1")
    assert list(objects.list(prefix, after)) == expected


def test_opens_a_bucket_that_exists(s3: Server) -> None:
    Bucket.connect(s3.url("hone-again")).put("key", b"1")
    assert Bucket.connect(s3.url("hone-again")).get("key") == b"1"


def test_a_wrong_secret_is_refused_by_name(s3: Server) -> None:
    with pytest.raises(StoreRefused, match="SignatureDoesNotMatch"):
        Bucket.connect(s3.url("hone-refused", secret="not-the-secret"))


def test_an_unknown_key_is_refused_by_name(s3: Server) -> None:
    with pytest.raises(StoreRefused, match="InvalidAccessKeyId"):
        Bucket.connect(replace(s3, access_key="nobody").url("hone-refused"))


def test_changed_bytes_are_detected(s3: Server) -> None:
    bucket = Bucket.connect(s3.url("hone-corrupt"))
    client = Minio(s3.endpoint, s3.access_key, s3.secret_key, secure=False)
    client.put_object("hone-corrupt", "key", BytesIO(b"bad"), 3, metadata={"sha256": "0" * 64})
    with pytest.raises(ObjectCorrupt, match="key"):
        bucket.get("key")


def test_an_absent_server_is_away() -> None:
    with pytest.raises(StoreAway, match="does not answer"):
        Bucket.connect("s3://key:secret@127.0.0.1:9/bucket")


@pytest.mark.parametrize("url", ["s3://key:secret@127.0.0.1:9", "http://127.0.0.1/bucket", "s3:///bucket"])
def test_a_url_that_names_no_bucket_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="expected s3://key:secret@host:port/bucket"):
        Bucket.connect(url)


@pytest.mark.parametrize("key", ["../out", "", "a/../../out"])
def test_a_directory_keeps_its_keys_inside(tmp_path: Path, key: str) -> None:
    with pytest.raises(ValueError, match="leaves the store"):
        Directory(tmp_path).put(key, b"1")


def test_a_disk_in_trouble_is_a_store_that_is_away(tmp_path: Path) -> None:
    store = Directory(tmp_path)
    (tmp_path / "folder").write_bytes(b"no folder")
    with pytest.raises(StoreAway, match="folder/key"):
        store.put("folder/key", b"1")
    with pytest.raises(StoreAway, match="folder/key"):
        store.get("folder/key")
    store.put("other", b"1")
    assert store.get("other") == b"1"
