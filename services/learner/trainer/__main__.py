"""`python -m services.learner.trainer`: one trainer process."""

import os

# Read by libraries as they load: no threads but those asked for, and sums in an order that no memory address decides.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")

import signal
import socket

import torch

from hone.spec import settings
from hone.telemetry import process
from services.learner.trainer.process import Trainer


def main() -> None:
    """Run a trainer until SIGTERM or SIGINT."""
    configuration = settings.load()
    process.begin("trainer", configuration)
    torch.set_num_threads(1)  # for each of its threads
    trainer = Trainer(configuration, configuration.process_name or f"{socket.gethostname()}:{os.getpid()}")
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: trainer.stop())
    trainer.run()


if __name__ == "__main__":
    main()
