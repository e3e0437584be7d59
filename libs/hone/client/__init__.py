"""The SDK: `from hone.client import Client`."""

from hone.client.client import Client, every
from hone.client.errors import HoneError

__all__ = ["Client", "HoneError", "every"]
