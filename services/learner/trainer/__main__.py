"""`python -m services.learner.trainer`: one trainer, of one process or of several ranks."""

import os

# Read by libraries as they load: no threads but those asked for, and sums in an order that no memory address decides.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")

from hone.spec import settings
from services.learner.trainer import launch, malloc


def main() -> None:
    """Run a trainer until SIGTERM or SIGINT."""
    configuration = settings.load()
    if launch.must_divide(configuration, os.environ):
        launch.divide(configuration)
    malloc.keep_freed_memory()
    from services.learner.trainer import roles  # loads torch, which torchrun's own process does by itself

    roles.play(configuration)


if __name__ == "__main__":
    main()
