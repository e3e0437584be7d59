"""How an S3 URL becomes credentials."""

from unittest.mock import MagicMock

import pytest

from hone.store.objects import s3
from tests.servers.s3 import Server


@pytest.mark.parametrize("secret", ["plain", "a/b", "a+b", "a@b:c", "100%", "%2F", "ä ?#[]"])
def test_a_key_and_a_secret_of_any_characters_survive_the_url(monkeypatch: pytest.MonkeyPatch, secret: str) -> None:
    client = MagicMock()
    monkeypatch.setattr(s3, "Minio", client)
    s3.Bucket.connect(Server("127.0.0.1:9", f"key-{secret}", secret, durable=True).url("bucket"))
    assert client.call_args.args == ("127.0.0.1:9",)
    assert client.call_args.kwargs.items() >= {"access_key": f"key-{secret}", "secret_key": secret}.items()
