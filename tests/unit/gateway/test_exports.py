"""The archive of an export is a valid tar file of the announced length."""

import io
import tarfile

import pytest

from services.gateway.routes.exports import TAR_END, tar_member, tar_size


def test_a_file_may_be_larger_than_8_gib() -> None:
    header = next(tar_member("folder/model.safetensors", 9 * 2**30, iter([])))
    assert len(header) == tarfile.BLOCKSIZE
    assert tarfile.TarInfo.frombuf(header, "utf-8", "strict").size == 9 * 2**30


@pytest.mark.parametrize("lengths", [[], [0], [1], [511, 512, 513], [100_000]])
def test_streamed_archives(lengths: list[int]) -> None:
    files = {f"folder/{place}": bytes(range(256)) * (length // 256) + bytes(length % 256)
             for place, length in enumerate(lengths)}
    members = (tar_member(name, len(data), iter([data])) for name, data in files.items())
    archive = b"".join(chunk for member in members for chunk in member) + TAR_END
    assert len(archive) == tar_size(lengths)
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as tar:
        assert {one.name: (tar.extractfile(one) or io.BytesIO()).read() for one in tar.getmembers()} == files
