"""Addresses, as host:port. An IPv6 host is in brackets: [::]:8470."""


def parts(address: str) -> tuple[str, int]:
    """Return host and port for a socket, which knows no brackets. Raises ValueError without a port."""
    host, _, port = address.rpartition(":")
    return host.removeprefix("[").removesuffix("]"), int(port)
