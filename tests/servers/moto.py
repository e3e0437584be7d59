"""moto's S3 server, for machines without Ceph.

It checks signatures. It keeps everything in memory and checks neither presigned requests nor digests, so tests of
durability and of those checks need Ceph.
"""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from hone.stack import ports
from tests.servers.children import Children

_UNCHECKED_CALLS = 3  # enough to create the user; after these calls every signature is checked
_EVERYTHING = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}


def absent() -> str | None:
    """Return why moto cannot be started here, or None."""
    return None if find_spec("moto") and find_spec("flask") else "moto is not installed (pip install -e .[moto])"


@contextmanager
def running(directory: Path) -> Iterator[tuple[str, str, str]]:
    """Run moto and yield host:port, access key and secret key of its only user."""
    port = ports.pick(1)[0]
    environment = {**os.environ, "INITIAL_NO_AUTH_ACTION_COUNT": str(_UNCHECKED_CALLS)}
    with Children(directory) as children:
        command = [sys.executable, "-m", "tests.servers.moto_server", "-H", "127.0.0.1", "-p", str(port)]
        children.start("moto", command, env=environment)
        children.wait("moto", lambda: ports.answers(f"127.0.0.1:{port}"), timeout_s=60)
        yield f"127.0.0.1:{port}", *_make_user(f"http://127.0.0.1:{port}")


def _make_user(endpoint: str) -> tuple[str, str]:
    import boto3

    iam = boto3.client("iam", endpoint_url=endpoint, region_name="us-east-1",
                       aws_access_key_id="bootstrap", aws_secret_access_key="bootstrap")
    iam.create_user(UserName="hone")
    key = iam.create_access_key(UserName="hone")["AccessKey"]
    iam.put_user_policy(UserName="hone", PolicyName="everything", PolicyDocument=json.dumps(_EVERYTHING))
    return key["AccessKeyId"], key["SecretAccessKey"]
