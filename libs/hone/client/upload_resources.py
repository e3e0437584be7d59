"""The resources of uploads in parts. Times are UTC."""

from datetime import datetime
from typing import Literal

from hone.client.resources import Resource


class UploadedFile(Resource):
    """A file of an upload, whose part `number` begins at byte (number - 1) * part_bytes.

    `received` lists the parts that are stored. `parts` is 0 for a file that nothing would read: it is not sent.
    """

    name: str
    bytes: int
    sha256: str
    part_bytes: int
    parts: int
    received: list[int]
    verified: bool


class Upload(Resource):
    """Files on their way to become a model or dataset.

    `state`: open takes parts; refused says in `reason` what is wrong, and is open again once its files are announced
    anew; done has become `artifact_id`; aborted; expired, because no part came until `expires_at`.
    """

    id: str
    kind: Literal["model", "dataset"]
    name: str
    state: Literal["open", "refused", "done", "aborted", "expired"]
    reason: str | None = None
    artifact_id: str | None = None
    files: list[UploadedFile]
    created_at: datetime
    expires_at: datetime | None = None

    @property
    def bytes(self) -> int:
        """Bytes that are to be sent."""
        return sum(file.bytes for file in self.files if file.parts)

    @property
    def sent(self) -> int:
        """Bytes of the parts that are stored."""
        return sum(length(file, number) for file in self.files for number in file.received)


def length(file: UploadedFile, number: int) -> int:
    """Return the bytes of a part of a file."""
    return min(file.part_bytes, file.bytes - (number - 1) * file.part_bytes)
