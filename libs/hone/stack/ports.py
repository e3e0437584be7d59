"""TCP ports of this machine."""

import random
import socket

from hone import addresses

# Below Linux' ephemeral range: no outgoing connection takes a port while its server restarts.
RANGE = range(20_000, 32_000)


def is_free(port: int) -> bool:
    """Return whether a server could listen on 127.0.0.1:`port` now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def pick(count: int) -> list[int]:
    """Return `count` different ports that are free now. Raises OSError if the range has fewer."""
    chosen: list[int] = []
    for port in random.SystemRandom().sample(RANGE, len(RANGE)):
        if len(chosen) == count:
            break
        if is_free(port):
            chosen.append(port)
    if len(chosen) < count:
        raise OSError(f"found {len(chosen)} free ports in {RANGE.start}-{RANGE.stop - 1}, expected {count}")
    return chosen


def answers(address: str, timeout_s: float = 0.2) -> bool:
    """Return whether a server accepts connections at host:port."""
    try:
        socket.create_connection(addresses.parts(address), timeout=timeout_s).close()
    except OSError:
        return False
    return True
