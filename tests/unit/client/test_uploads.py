"""Parts of a file as bodies of requests: they can be read again, and a file that changes is named."""

import hashlib
from pathlib import Path

import pytest

from hone.client.uploads import Content, _Part, _pieces


@pytest.fixture(params=["bytes", "file"])
def content(request: pytest.FixtureRequest, tmp_path: Path) -> Content:
    data = bytes(range(256)) * 9000
    if request.param == "bytes":
        return data
    (tmp_path / "file").write_bytes(data)
    return tmp_path / "file"


@pytest.mark.parametrize(("begin", "length"), [(0, 0), (0, 2_304_000), (5, 2_000_000), (2_303_999, 1)])
def test_a_part_is_read_again_for_each_try(content: Content, begin: int, length: int) -> None:
    part, expected = _Part(content, begin, length), (bytes(range(256)) * 9000)[begin:begin + length]
    assert b"".join(part) == b"".join(part) == expected
    assert part.digest() == hashlib.sha256(expected).hexdigest()
    assert max(map(len, part), default=0) <= 2**20


def test_a_file_that_became_shorter_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"0123")
    with pytest.raises(OSError, match="file became shorter while it was sent: found 6 bytes too few"):
        list(_pieces(tmp_path / "file", 0, 10))
