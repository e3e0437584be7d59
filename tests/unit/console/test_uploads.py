"""The part of a page about uploads: those of its kind that are open or refused."""

from datetime import UTC, datetime
from typing import Any

from hone.client.upload_resources import Upload, UploadedFile
from services.console.widgets import uploads

MIB = 2**20


def upload(name: str, **changed: Any) -> Upload:
    files = [
        UploadedFile(
            name=name, bytes=size, sha256="", part_bytes=10 * MIB, parts=parts, received=received, verified=False)
        for name, size, parts, received in (("w", 25 * MIB, 3, [1, 3]), ("x.bin", 99 * MIB, 0, []))]
    return Upload.model_validate({
        "id": "upl_1", "kind": "model", "name": name, "state": "open", "files": files,
        "created_at": datetime.now(UTC), **changed})


def test_amounts_leave_out_what_is_not_sent() -> None:
    assert (upload("a").sent, upload("a").bytes) == (15 * MIB, 25 * MIB)


def test_open_and_refused_uploads_of_the_kind_are_shown() -> None:
    shown = uploads.section([
        upload("going-on"), upload("wrong", state="refused", reason="layers: found 5, expected <4>"),
        upload("ended", state="done"), upload("rows", kind="dataset")], "model")
    assert all(text in shown for text in ("going-on", "60%", "wrong", "expected &lt;4&gt;"))
    assert not any(text in shown for text in ("ended", "rows"))
    assert uploads.section([upload("ended", state="expired")], "model") == ""
