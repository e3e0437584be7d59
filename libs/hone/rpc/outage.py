"""An outage of the database during a gRPC call, reported to the caller, who may try again.

The caller may be a tenant's, so the log alone tells what the database's driver says: it names hosts and ports.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from psycopg import OperationalError

from hone.rpc.errors import NotReady

_log = logging.getLogger(__name__)


@contextmanager
def reported() -> Iterator[None]:
    """Raise NotReady, with the reason, if the body raises psycopg.OperationalError."""
    try:
        yield
    except OperationalError as error:
        _log.warning("the database is away: %s", str(error).strip())
        raise NotReady("the database is away") from error
