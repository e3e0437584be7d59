"""An address or a key that no request can have is refused when it is set, not at the first question."""

import pytest
from pydantic import ValidationError

from hone.client.judge_resources import WantedJudge, header_text


@pytest.mark.parametrize("url", [
    "http://h:99999", "http://h:0", "http://h:-1", "http://h:x", "http://h i", " http://h", "http://h\r\nHost: i",
    "http://h\\i", "http://[::1", "http://\u2100.com", "http://u:p@h", "file:///etc/passwd", "http://", "http://h/?q=1"])
def test_an_address_that_no_request_can_have(url: str) -> None:
    with pytest.raises(ValidationError, match=r"expected (a web address|http://|an address without a password)"):
        WantedJudge(url=url, model="m")


@pytest.mark.parametrize("url", ["http://h", "https://h:443/v1", "http://[::1]:80/v1", "http://例え.jp/v1"])
def test_an_address(url: str) -> None:
    assert WantedJudge(url=f"{url}/", model="m").url == url


@pytest.mark.parametrize("value", ["", " a", "a ", "a\r\nX: b", "clé", "a\0", "\t"])
def test_a_key_that_no_header_can_hold_is_refused_without_showing_it(value: str) -> None:
    with pytest.raises(ValueError, match="printable ASCII") as refused:
        header_text(value)
    assert "X: b" not in str(refused.value)


@pytest.mark.parametrize("value", ["a", "sk-1", "user:pass word", "~!"])
def test_a_key(value: str) -> None:
    assert header_text(value) == value
