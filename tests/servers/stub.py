"""A process that stands in for a service: it listens where the service would, and ends when told to."""

import os
import socket
import time


def address() -> str | None:
    """Return the address this process was given, by its slot: HONE_REWARD_ADDRESS for reward-0."""
    kind = os.environ["HONE_PROCESS_NAME"].rpartition("-")[0]
    setting = "learner" if kind == "driver" else kind
    return os.environ.get(f"HONE_{setting.upper()}_ADDRESS")


def main() -> None:
    where = address()
    with socket.socket() as server:
        if where:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            server.bind(("127.0.0.1", int(where.rpartition(":")[2])))
            server.listen()
        while True:
            time.sleep(3600)


if __name__ == "__main__":
    main()
