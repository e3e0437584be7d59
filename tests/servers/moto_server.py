"""moto's server with two answers of S3 that moto 5.2 lacks: python -m tests.servers.moto_server -H HOST -p PORT

- A part of an upload that was abandoned is refused with NoSuchUpload. moto answers 500.
- The list of unfinished uploads says when each began. moto says 2010, so that a sweep of old uploads deletes all.
"""

from datetime import UTC, datetime
from typing import Any, NoReturn

from moto.core.responses import ActionResult
from moto.s3.exceptions import NoSuchUpload
from moto.s3.models import FakeMultipart, MultipartDict
from moto.s3.responses import S3Response
from moto.server import main

_make, _serialize = FakeMultipart.__init__, S3Response.serialized
_begun: dict[str, datetime] = {}
"""When each upload began, by its id."""


def _make_with_time(self: FakeMultipart, *arguments: Any, **named: Any) -> None:
    _make(self, *arguments, **named)
    _begun[self.id] = datetime.now(UTC)


def _refuse(_: MultipartDict, upload: str) -> NoReturn:
    raise NoSuchUpload(upload_id=upload)


def _serialize_with_times(self: S3Response, action_result: ActionResult) -> Any:
    uploads = action_result.result.get("Uploads", ()) if isinstance(action_result.result, dict) else ()
    for upload in uploads:
        upload["Initiated"] = _begun[upload["UploadId"]].isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return _serialize(self, action_result)


if __name__ == "__main__":
    for owner, name, method in ((FakeMultipart, "__init__", _make_with_time), (MultipartDict, "__missing__", _refuse),
                                (S3Response, "serialized", _serialize_with_times)):
        setattr(owner, name, method)
    main()
