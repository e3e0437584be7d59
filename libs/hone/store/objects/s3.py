"""Objects in an S3 bucket, on any server that speaks S3."""

import hashlib
import os
import re
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from io import BufferedRandom, BufferedReader, BytesIO
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

import urllib3
from minio import Minio
from minio.credentials.credentials import Credentials
from minio.deleteobjects import DeleteObject
from minio.error import InvalidResponseError, S3Error, ServerError
from urllib3.response import BaseHTTPResponse

from hone.store.objects.contract import (
    PIECE_BYTES,
    Content,
    ObjectCorrupt,
    ObjectMissing,
    StoreAway,
    StoreFull,
    Unfinished,
    room_in,
)
from hone.store.objects.multipart import Multipart

_DIGEST = "sha256"  # our own metadata: servers differ in which checksums they check
_REFUSALS = {"SignatureDoesNotMatch", "InvalidAccessKeyId", "AccessDenied"}
_MISSING = {"NoSuchKey", "NoSuchUpload"}
_FULL = {"QuotaExceeded", "XMinioStorageFull", "XMinioAdminBucketQuotaExceeded", "InsufficientCapacity"}
"""What Ceph, MinIO and others answer when a quota is used up or a disk is full."""
_INSUFFICIENT_STORAGE = 507
"""The status of the same answer. Some servers send it with a code of their own, or without a body."""
_BEYOND_END = "InvalidRange"
_STATUS = re.compile(r"Response code: (\d+)")  # an answer that is not S3's has its status in its text only


class StoreRefused(PermissionError):
    """The object store refuses these credentials, or they have too few rights."""


@dataclass(frozen=True)
class Place:
    """Where a bucket is: `s3://key:secret@host:port/bucket`, or `s3s://…` over TLS, and what not every server tells.

    `?region=eu-central-1` names the region, which a key without rights to the bucket's location cannot ask for.
    `?addressing=virtual` puts the bucket before the host's name, as some clouds demand; otherwise it is in the path.
    """

    host: str
    bucket: str
    key: str
    secret: str
    secure: bool
    region: str
    virtual: bool

    @classmethod
    def of(cls, url: str) -> "Place":
        """Read a URL. Raises ValueError for another one."""
        given = urlsplit(url)
        bucket, options = given.path.strip("/"), dict(parse_qsl(given.query, keep_blank_values=True))
        region, addressing = options.pop("region", ""), options.pop("addressing", "path")
        if given.scheme not in {"s3", "s3s"} or not given.hostname or not bucket or "/" in bucket:
            raise ValueError("objects_url: expected s3://key:secret@host:port/bucket or s3s://…")
        if options or addressing not in {"path", "virtual"}:
            found = next(iter(options), f"addressing={addressing}")
            raise ValueError(f"objects_url: found ?{found}, expected region=NAME or addressing=path|virtual")
        return cls(
            given.netloc.rpartition("@")[2],
            bucket,
            unquote(given.username or ""),
            unquote(given.password or ""),
            given.scheme == "s3s",
            region,
            addressing == "virtual",
        )

    @property
    def address(self) -> str:
        """URL below which the bucket's name, or with virtual addressing its keys, follow."""
        host = f"{self.bucket}.{self.host}" if self.virtual else self.host
        return f"{'https' if self.secure else 'http'}://{host}"


class Bucket:
    """Objects in one bucket, which is created if it does not exist. Raises StoreRefused at once for a wrong secret."""

    def __init__(self, client: Minio, parts: Multipart, name: str) -> None:
        self._client, self.parts, self._name = client, parts, name
        with _translated(name):
            _ensure(client, name)

    @classmethod
    def connect(cls, url: str) -> "Bucket":
        """Open the bucket of a URL, see Place. Raises ValueError for another URL."""
        place, http = Place.of(url), _http()
        client = Minio(
            place.host,
            access_key=place.key,
            secret_key=place.secret,
            secure=place.secure,
            region=place.region or None,
            http_client=http,
        )
        if place.virtual:
            client.enable_virtual_style_endpoint()  # type: ignore[no-untyped-call]
        parts = Multipart(
            place.address,
            "" if place.virtual else place.bucket,
            Credentials(place.key, place.secret),
            http,
            place.region,
        )
        return cls(client, parts, place.bucket)

    def put(self, key: str, content: Content) -> None:
        with _opened(content) as file, _translated(key):
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            length = file.seek(0, os.SEEK_END)
            file.seek(0)
            self._client.put_object(
                self._name, key, file, length, metadata={_DIGEST: digest}, num_parallel_uploads=1)

    def get(self, key: str) -> bytes:
        """Return the bytes under `key`. Raises ObjectMissing, and ObjectCorrupt if they differ from the stored ones."""
        with _translated(key):
            response = self._client.get_object(self._name, key)
            try:
                data, digest = response.read(), response.headers.get(f"x-amz-meta-{_DIGEST}")
            finally:
                response.close()
                response.release_conn()
        if digest and hashlib.sha256(data).hexdigest() != digest:
            raise ObjectCorrupt(f"{key}: the bytes do not have the stored sha256 {digest}")
        return data

    def read(self, key: str) -> Iterator[bytes]:
        """Return the bytes in pieces. Raises ObjectMissing, and ObjectCorrupt after the last piece if they differ."""
        with _translated(key):
            response = self._client.get_object(self._name, key)
        return _checked(key, response)

    def list(self, prefix: str, after: str = "") -> Iterator[str]:
        yield from (key for key, _ in self.list_sizes(prefix, after))

    def list_sizes(self, prefix: str, after: str = "") -> Iterator[tuple[str, int]]:
        begin = after if after and after >= prefix else None  # SeaweedFS lists nothing after a key before the prefix
        with _translated(prefix):
            for item in self._client.list_objects(self._name, prefix=prefix, recursive=True, start_after=begin):
                if item.object_name:
                    yield item.object_name, item.size or 0

    def delete(self, keys: Iterable[str]) -> None:
        with _translated(self._name):
            failures = list(self._client.remove_objects(self._name, (DeleteObject(key) for key in keys)))
        if failures:
            raise StoreAway(f"{self._name}: {failures[0].name} was not deleted: {failures[0].message}")

    def read_range(self, key: str, begin: int, length: int) -> bytes:
        if length <= 0:
            return b""
        try:
            with _translated(key):
                response = self._client.get_object(self._name, key, begin, length)
                try:
                    return response.read()
                finally:
                    response.close()
                    response.release_conn()
        except StoreAway as error:
            if isinstance(error.__cause__, S3Error) and error.__cause__.code == _BEYOND_END:
                return b""
            raise

    def begin(self, key: str, part_bytes: int, sha256: str) -> Unfinished:
        with _translated(key):
            return Unfinished(key, self.parts.begin(key, {f"x-amz-meta-{_DIGEST}": sha256}), part_bytes)

    def put_part(self, unfinished: Unfinished, number: int, content: bytes) -> str:
        with _translated(unfinished.key):
            return self.parts.put(unfinished.key, unfinished.id, number, content)

    def finish(self, unfinished: Unfinished, tags: Sequence[str]) -> None:
        with _translated(unfinished.key):
            try:
                self.parts.finish(unfinished.key, unfinished.id, tags)
            except S3Error as error:
                if error.code != "NoSuchUpload":
                    raise
                self._client.stat_object(self._name, unfinished.key)  # finished by an earlier call

    def abandon(self, unfinished: Unfinished) -> None:
        with suppress(ObjectMissing), _translated(unfinished.key):
            self.parts.abandon(unfinished.key, unfinished.id)

    def free_bytes(self) -> int | None:
        return None  # S3 has no call for it

    def discard_unfinished(self, age_s: float, spared: Collection[str] = ()) -> int:
        begun = datetime.now(UTC) - timedelta(seconds=age_s)
        with _translated(self._name):
            old = [one for one in self.parts.unfinished() if one.at and one.at < begun and one.id not in spared]
        for one in old:
            self.abandon(Unfinished(one.key, one.id, 0))
        return len(old)


@contextmanager
def _opened(content: Content) -> Iterator[BytesIO | BufferedReader | BufferedRandom]:
    """Open the content as a file. Pieces are written to a temporary file, because their digest is sent first."""
    if isinstance(content, bytes):
        yield BytesIO(content)
    elif isinstance(content, Path):
        with content.open("rb") as file:
            yield file
    else:
        with tempfile.TemporaryFile() as file:
            with room_in(Path(tempfile.gettempdir())):
                file.writelines(content)
                file.seek(0)
            yield file


def _checked(key: str, response: BaseHTTPResponse) -> Iterator[bytes]:
    digest, stored = hashlib.sha256(), response.headers.get(f"x-amz-meta-{_DIGEST}")
    try:
        with _translated(key):
            for piece in response.stream(PIECE_BYTES):
                digest.update(piece)
                yield piece
    finally:
        response.close()
        response.release_conn()
    if stored and digest.hexdigest() != stored:
        raise ObjectCorrupt(f"{key}: the bytes do not have the stored sha256 {stored}")


def _ensure(client: Minio, bucket: str) -> None:
    try:
        next(iter(client.list_objects(bucket)), None)  # unlike that of HEAD, its answer has the reason of a refusal
    except S3Error as error:
        if error.code != "NoSuchBucket":
            raise
        _make(client, bucket)


def _make(client: Minio, bucket: str) -> None:
    try:
        client.make_bucket(bucket)
    except S3Error as error:
        if error.code != "BucketAlreadyOwnedByYou":  # another process has created it
            raise


def _http() -> urllib3.PoolManager:
    retries = urllib3.Retry(total=3, backoff_factor=0.2, status_forcelist=[500, 502, 503, 504],
                            raise_on_status=False)  # the last answer has the reason
    return urllib3.PoolManager(timeout=urllib3.Timeout(connect=5, read=60), maxsize=16, retries=retries)


@contextmanager
def _translated(subject: str) -> Iterator[None]:
    """Raise the store's own errors for those of the client library."""
    try:
        yield
    except S3Error as error:
        raise _as_own(error, subject) from error
    except (ServerError, InvalidResponseError) as error:
        raise _of_status(error, subject) from error
    except urllib3.exceptions.HTTPError as error:
        raise StoreAway(f"the object store does not answer for {subject}: {error}") from error


def _of_status(error: ServerError | InvalidResponseError, subject: str) -> Exception:
    """Return our error for an answer without a readable body."""
    written = _STATUS.search(str(error))
    status = error.status_code if isinstance(error, ServerError) else int(written[1]) if written else 0
    if status == _INSUFFICIENT_STORAGE:
        return StoreFull(f"no space left in the object store: {subject}: status {status}")
    if status in {401, 403}:
        return StoreRefused(f"{subject}: {error}")
    return StoreAway(f"the object store does not answer for {subject}: {error}")


def _as_own(error: S3Error, subject: str) -> Exception:
    if error.code in _MISSING:
        return ObjectMissing(subject)
    if error.code in _FULL or error.response.status == _INSUFFICIENT_STORAGE:
        return StoreFull(f"no space left in the object store: {error.code}: {error.message}")
    if error.code in _REFUSALS:
        return StoreRefused(f"{subject}: the object store refused this key and secret ({error.code}: {error.message})")
    return StoreAway(f"{subject}: {error.code}: {error.message}")
