"""Uploads in parts: side by side, each repeated when it fails, and on from where an earlier try was interrupted.

The gateway finds an upload again by its content. So the same call after a crash, of this process or of the gateway,
sends only the parts that are not stored yet.
"""

import hashlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

from hone.client import errors
from hone.client.transport import HttpTransport, rest_path
from hone.client.upload_resources import Upload, UploadedFile, length

LARGE = 16 * 2**20
"""Bytes beyond which files are sent in parts. Fewer are sent in one request."""

Content = Path | bytes
Phase = Literal["reading", "sending", "verifying"]
Progress = Callable[[Phase, int, int], None]
"""Is called with bytes done and bytes in all: files are read for their digests, sent, and verified by the gateway."""

_SIDE_BY_SIDE = 4
_TRIES = 5  # of a request, each with the attempts of the transport: a gateway that is started again is waited for
_ROUNDS = 3  # another client may begin a file anew beside this one
_COMPLETE_S = 3600.0
_PIECE_BYTES = 2**20


def size(content: Content) -> int:
    """Return the number of bytes."""
    return content.stat().st_size if isinstance(content, Path) else len(content)


class PartSender:
    """Sends the files of one model or dataset."""

    def __init__(self, transport: HttpTransport, progress: Progress | None = None) -> None:
        self._transport = transport
        self._progress: Progress = progress or (lambda *_: None)

    def send(
        self, kind: Literal["model", "dataset"], name: str, files: Mapping[str, Content], allow_bad_rows: bool = False,
    ) -> str:
        """Send the files and return the id of the artifact that they became.

        Raises Conflict if the name belongs to other content, Refused for content that cannot be used, TooLarge, Full,
        and OSError for a file that cannot be read to its end.
        """
        announced = {"kind": kind, "name": name, "files": self._announced(files), "allow_bad_rows": allow_bad_rows}
        for last in (False,) * (_ROUNDS - 1) + (True,):
            upload = self._ask("POST", rest_path("uploads"), json=announced)
            try:
                self._send_missing(upload, files)
                return self._completed(upload)
            except errors.Conflict:
                if last or not self._is_open(upload):
                    raise
        raise AssertionError("the last round returns or raises")

    def _announced(self, files: Mapping[str, Content]) -> list[dict[str, Any]]:
        total, done, announced = sum(map(size, files.values())), 0, []
        for name, content in sorted(files.items()):
            digest = hashlib.sha256()
            for piece in _pieces(content):
                digest.update(piece)
                done += len(piece)
                self._progress("reading", done, total)
            announced.append({"name": name, "bytes": size(content), "sha256": digest.hexdigest()})
        return announced

    def _is_open(self, upload: Upload) -> bool:
        return self._ask("GET", rest_path("uploads", upload.id)).state == "open"

    def _send_missing(self, upload: Upload, files: Mapping[str, Content]) -> None:
        if upload.state != "open":
            return
        missing = [(file, number) for file in upload.files for number in _missing(file)]
        sent = _Amount(self._progress, upload.sent, upload.bytes)
        workers = ThreadPoolExecutor(_SIDE_BY_SIDE, "hone-upload")
        try:
            _wait([workers.submit(self._send, upload.id, files[file.name], file, number, sent)
                   for file, number in missing])
        finally:
            workers.shutdown(wait=False, cancel_futures=True)

    def _send(self, upload_id: str, content: Content, file: UploadedFile, number: int, sent: "_Amount") -> None:
        part = _Part(content, (number - 1) * file.part_bytes, length(file, number))
        path = rest_path("uploads", upload_id, "files", file.name, "parts", number)
        self._request("PUT", path, params={"sha256": part.digest()}, content=part, headers={
            "Content-Type": "application/octet-stream", "Content-Length": str(part.length)})
        sent.add(part.length)

    def _completed(self, upload: Upload) -> str:
        """Wait until the gateway has verified and registered the files."""
        until, total = time.monotonic() + _COMPLETE_S, upload.bytes
        while upload.state != "done":
            self._progress("verifying", sum(file.bytes for file in upload.files if file.verified), total)
            if time.monotonic() > until:
                raise errors.Away({"title": "Unfinished", "detail": f"{upload.id} is not verified after "
                                   f"{_COMPLETE_S:.0f} s; the same call waits on"})
            upload = self._ask("POST", rest_path("uploads", upload.id, "complete"))
        self._progress("verifying", total, total)
        return str(upload.artifact_id)

    def _ask(self, method: str, path: str, **content: Any) -> Upload:
        return Upload.model_validate_json(self._request(method, path, **content))

    def _request(self, method: str, path: str, **content: Any) -> bytes:
        """Return the body of the answer. Each of _TRIES has all attempts of the transport."""
        for _ in range(_TRIES - 1):
            with suppress(errors.Away):
                return self._transport.request(method, path, **content).content
        return self._transport.request(method, path, **content).content


class _Amount:
    """The bytes that are sent; several threads add to them."""

    def __init__(self, progress: Progress, done: int, total: int) -> None:
        self._progress, self._done, self._total = progress, done, total
        self._lock = threading.Lock()
        progress("sending", done, total)

    def add(self, count: int) -> None:
        with self._lock:
            self._done += count
            self._progress("sending", self._done, self._total)


def _wait(futures: Iterable[Future[None]]) -> None:
    """Return when all are done. Raises the first error at once."""
    done, _ = wait(list(futures), return_when=FIRST_EXCEPTION)
    for future in done:
        future.result()


def _missing(file: UploadedFile) -> list[int]:
    return sorted({*range(1, file.parts + 1)} - {*file.received})


def _pieces(content: Content, begin: int = 0, end: int | None = None) -> Iterator[bytes]:
    """Yield the content from byte `begin` to byte `end` in pieces; a file is never in memory as a whole."""
    with BytesIO(content) if isinstance(content, bytes) else content.open("rb") as file:
        file.seek(begin)
        left = (size(content) if end is None else end) - begin
        while left > 0 and (piece := file.read(min(left, _PIECE_BYTES))):
            yield piece
            left -= len(piece)
        if left > 0:
            raise OSError(f"{content!s:.200} became shorter while it was sent: found {left} bytes too few")


@dataclass(frozen=True)
class _Part:
    """A part of a file as the body of a request, which may be repeated: it is read anew each time."""

    content: Content
    begin: int
    length: int

    def __iter__(self) -> Iterator[bytes]:
        return _pieces(self.content, self.begin, self.begin + self.length)

    def digest(self) -> str:
        digest = hashlib.sha256()
        for piece in self:
            digest.update(piece)
        return digest.hexdigest()
