"""A process in the place of a service. It listens on the service's address and ends by a signal."""

import os
import socket
import time


def address() -> str | None:
    """Return the address of this process from its name: HONE_REWARD_ADDRESS for reward-0."""
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
