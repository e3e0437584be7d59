"""An S3 server that is full or overloaded: it is told by its own word, and what failed succeeds later, twice."""

import secrets
from dataclasses import replace

import pytest

from hone.store.objects import SMALLEST_PART, StoreAway, StoreFull, connect
from tests.servers import gate as gates
from tests.servers.s3 import Server


def test_writes_fail_with_the_servers_word_and_succeed_later(s3: Server) -> None:
    with gates.before(s3.endpoint) as gate:
        store = connect(replace(s3, endpoint=gate.endpoint).url(f"contract-{secrets.token_hex(6)}"))
        begun = store.begin("parts", SMALLEST_PART, "0" * 64)
        for time in range(2):
            for code, status, kind in (("XMinioStorageFull", 507, StoreFull), ("QuotaExceeded", 403, StoreFull),
                                       ("SlowDown", 503, StoreAway)):
                gate.refusal = code, status
                with pytest.raises(kind, match=code) as one:
                    store.put("key", b"before")
                with pytest.raises(kind, match=code):
                    store.put_part(begun, 1, b"part")
                assert ("no space left in the object store" in str(one.value)) == (kind is StoreFull)
                gate.refusal = None
                store.put("key", f"{code} {time}".encode())
                assert store.get("key") == f"{code} {time}".encode()
                assert store.put_part(begun, 1, b"part")
        store.abandon(begun)
