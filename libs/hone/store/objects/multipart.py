"""S3's calls about objects that arrive in parts. The library signs them; it has public calls for whole objects only."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from http import HTTPStatus
from urllib.parse import quote, urlencode, urlsplit, urlunsplit
from xml.etree import ElementTree

import urllib3
from minio.credentials.credentials import Credentials
from minio.error import InvalidResponseError, S3Error
from minio.signer import sign_v4_s3
from minio.time import from_iso8601utc, to_amz_date, utcnow
from urllib3.response import BaseHTTPResponse

_FIRST_REGION = "us-east-1"
_OLD_NAMES = {"": _FIRST_REGION, "EU": "eu-west-1"}


@dataclass(frozen=True)
class Begun:
    """An object that was begun, by the server's name of this beginning. `at` is None if the server does not say."""

    key: str
    id: str
    at: datetime | None


class Multipart:
    """The unfinished objects of one bucket, at `address` (http://host:port).

    `bucket` is empty if the address has its name. Without a `region` the server is asked for it.

    Methods raise S3Error for what the server refuses, InvalidResponseError for an answer that is not S3's, and the
    errors of urllib3.
    """

    def __init__(
        self, address: str, bucket: str, credentials: Credentials, http: urllib3.PoolManager, region: str = ""
    ) -> None:
        self._address, self._bucket, self._credentials, self._http = address, bucket, credentials, http
        self._given_region = region

    def begin(self, key: str, headers: Mapping[str, str]) -> str:
        """Begin an object that will have these headers, and return the server's name of the beginning."""
        return _text(self._asked("POST", key, {"uploads": ""}, headers=headers), "UploadId")

    def put(self, key: str, begun: str, number: int, content: bytes) -> str:
        """Store one part and return its tag."""
        answer = self._call("PUT", key, {"partNumber": str(number), "uploadId": begun}, content)
        return answer.headers["etag"].strip('"')

    def finish(self, key: str, begun: str, tags: Sequence[str]) -> None:
        """Make one object of the parts whose tags these are, in order."""
        parts = "".join(f"<Part><PartNumber>{number}</PartNumber><ETag>&quot;{tag}&quot;</ETag></Part>"
                        for number, tag in enumerate(tags, 1))
        body = f"<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>".encode()
        self._asked("POST", key, {"uploadId": begun}, body, {"Content-Type": "application/xml"})

    def abandon(self, key: str, begun: str) -> None:
        """Delete the parts."""
        self._call("DELETE", key, {"uploadId": begun})

    def unfinished(self) -> Iterator[Begun]:
        """Yield every beginning that was neither finished nor abandoned."""
        after: dict[str, str] = {}
        while True:
            page = self._asked("GET", "", {"uploads": "", **after})
            for one in page.iterfind("{*}Upload"):
                key, begun = _text(one, "Key"), _text(one, "UploadId")
                yield Begun(key, begun, _time(one.findtext("{*}Initiated")) or self._newest_part(key, begun))
            if page.findtext("{*}IsTruncated") != "true":
                return
            after = {"key-marker": _text(page, "NextKeyMarker"), "upload-id-marker": _text(page, "NextUploadIdMarker")}

    def _newest_part(self, key: str, begun: str) -> datetime | None:
        """Return the time of the newest of the first parts, for servers that keep no time of a beginning."""
        try:
            parts = self._asked("GET", key, {"uploadId": begun}).iterfind("{*}Part")
        except S3Error as error:
            if error.code != "NoSuchUpload":
                raise
            return None  # it was finished meanwhile
        return max((at for part in parts if (at := _time(part.findtext("{*}LastModified")))), default=None)

    @cached_property
    def _region(self) -> str:
        if self._given_region:
            return self._given_region
        place = self._sent(_FIRST_REGION, "GET", "", {"location": ""}, b"", {})
        name = ElementTree.fromstring(place.data).text or ""
        return _OLD_NAMES.get(name, name)

    def _asked(self, method: str, key: str, query: Mapping[str, str], body: bytes = b"",
               headers: Mapping[str, str] | None = None) -> ElementTree.Element:
        """Return the XML of the answer. S3 may report an error after it has sent the status 200."""
        answer = self._call(method, key, query, body, headers)
        try:
            root = ElementTree.fromstring(answer.data)
        except ElementTree.ParseError:
            raise _unreadable(answer) from None
        if root.tag.endswith("Error"):
            raise _refusal(answer, root)
        return root

    def _call(self, method: str, key: str, query: Mapping[str, str], body: bytes = b"",
              headers: Mapping[str, str] | None = None) -> BaseHTTPResponse:
        return self._sent(self._region, method, key, query, body, headers or {})

    def _sent(self, region: str, method: str, key: str, query: Mapping[str, str], body: bytes,
              headers: Mapping[str, str]) -> BaseHTTPResponse:
        path = "/".join(filter(None, (quote(self._bucket), quote(key, safe="/~"))))
        url = urlsplit(f"{self._address}/{path}?{urlencode(sorted(query.items()), quote_via=quote, safe='~')}")
        digest, now = hashlib.sha256(body).hexdigest(), utcnow()
        signed = sign_v4_s3(
            method=method, url=url, region=region, credentials=self._credentials, content_sha256=digest, date=now,
            headers={**headers, "Host": url.netloc, "x-amz-content-sha256": digest, "x-amz-date": to_amz_date(now)})
        answer = self._http.urlopen(method, urlunsplit(url), body=body, headers=signed)
        if answer.status >= HTTPStatus.MULTIPLE_CHOICES:
            raise _error(answer)
        return answer


def _text(element: ElementTree.Element, name: str) -> str:
    return element.findtext(f"{{*}}{name}") or ""


def _time(text: str | None) -> datetime | None:
    return from_iso8601utc(text) if text else None


def _error(answer: BaseHTTPResponse) -> Exception:
    try:
        return _refusal(answer, ElementTree.fromstring(answer.data))
    except ElementTree.ParseError:
        return _unreadable(answer)


def _refusal(answer: BaseHTTPResponse, root: ElementTree.Element) -> S3Error:
    code, message, resource, request, host = (
        _text(root, name) for name in ("Code", "Message", "Resource", "RequestId", "HostId"))
    return S3Error(answer, code, message, resource, request, host)


def _unreadable(answer: BaseHTTPResponse) -> InvalidResponseError:
    body = answer.data[:1000].decode(errors="replace")
    return InvalidResponseError(answer.status, answer.headers.get("content-type"), body)
