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
