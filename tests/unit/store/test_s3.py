"""How an S3 URL becomes credentials, and a server's answer an error of ours."""

from unittest.mock import MagicMock

import pytest
from minio.error import InvalidResponseError, S3Error, ServerError

from hone.store.objects import StoreAway, StoreFull, s3
from tests.servers.s3 import Server


@pytest.mark.parametrize("secret", ["plain", "a/b", "a+b", "a@b:c", "100%", "%2F", "ä ?#[]"])
def test_a_key_and_a_secret_of_any_characters_survive_the_url(monkeypatch: pytest.MonkeyPatch, secret: str) -> None:
    client = MagicMock()
    monkeypatch.setattr(s3, "Minio", client)
    s3.Bucket.connect(Server("127.0.0.1:9", f"key-{secret}", secret, durable=True).url("bucket"))
    assert client.call_args.args == ("127.0.0.1:9",)
    assert client.call_args.kwargs.items() >= {"access_key": f"key-{secret}", "secret_key": secret}.items()


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        ("?region=eu-west-3", "https://host/b/k%20y?uploads="),
        ("?region=eu-west-3&addressing=virtual", "https://b.host/k%20y?uploads="),
    ],
)
def test_a_url_names_region_and_addressing(monkeypatch: pytest.MonkeyPatch, options: str, asked: str) -> None:
    client, http = MagicMock(), MagicMock()
    http.urlopen.return_value = MagicMock(status=200, data=b"<R><UploadId>7</UploadId></R>")
    monkeypatch.setattr(s3, "Minio", client)
    monkeypatch.setattr(s3, "_http", lambda: http)
    bucket = s3.Bucket.connect(f"s3s://key:secret@host/b{options}")
    assert client.call_args.kwargs["region"] == "eu-west-3"
    assert client().enable_virtual_style_endpoint.called == ("virtual" in options)
    assert bucket.begin("k y", 5, "digest").id == "7"
    (call,) = http.urlopen.call_args_list
    assert call.args == ("POST", asked), "the region is not asked for"
    assert "/eu-west-3/s3/" in call.kwargs["headers"]["Authorization"]


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("s3s://key:secret@host/b?regoin=x", "?regoin"),
        ("s3://key:secret@host/b?addressing=host", "?addressing=host"),
        ("s3://key:secret@host", "expected s3://"),
        ("s3://key:secret@host/b/c", "expected s3://"),
    ],
)
def test_a_url_that_says_something_else_is_refused(url: str, found: str) -> None:
    with pytest.raises(ValueError, match="objects_url") as refused:
        s3.Bucket.connect(url)
    assert found in str(refused.value)
    assert "secret@" not in str(refused.value).replace("key:secret@host:port", "")


def _answer(code: str, status: int) -> S3Error:
    return S3Error(MagicMock(status=status), code, "words", "/b/k", "request", "host")


@pytest.mark.parametrize(("error", "kind"), [
    (_answer("XMinioStorageFull", 507), StoreFull), (_answer("SomethingNew", 507), StoreFull),
    (_answer("QuotaExceeded", 403), StoreFull), (_answer("SlowDown", 503), StoreAway),
    (InvalidResponseError(507, "text/plain", "full"), StoreFull),
    (InvalidResponseError(403, "text/plain", "no"), s3.StoreRefused), (ServerError("away", 502), StoreAway),
])
def test_a_server_without_room_is_full_and_not_away(error: Exception, kind: type[Exception]) -> None:
    with pytest.raises(kind) as found, s3._translated("key"):
        raise error
    assert type(found.value) is kind
    assert ("no space left in the object store" in str(found.value)) == (kind is StoreFull)
