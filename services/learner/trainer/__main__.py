"""`python -m services.learner.trainer`: one trainer, of one process or of several ranks."""

import os

# Libraries read these as they load: one thread each, and sums whose order does not depend on memory addresses.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")

from hone.spec import settings
from services.learner.trainer import launch, malloc


def main() -> None:
    """Run a trainer until SIGTERM or SIGINT."""
    configuration = settings.load()
    if launch.needs_torchrun(configuration, os.environ):
        launch.become_torchrun(configuration)
    malloc.keep_freed_memory()
    from services.learner.trainer import process  # loads torch, which the process that becomes torchrun does without

    process.run(configuration)


if __name__ == "__main__":
    main()
