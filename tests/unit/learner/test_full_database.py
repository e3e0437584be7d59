"""A database without room for a row: the run and the trainer's operations say so, and the same work is tried again."""

import threading
from types import SimpleNamespace
from typing import Any, cast

from psycopg.errors import DiskFull

from services.learner.driver.run_thread import RunThread
from services.learner.trainer.process import Trainer

WORDS = "no space left on the database's disk: could not extend file"


class Full:
    """Work that finds no room the first two times."""

    def __init__(self) -> None:
        self.tries, self.explained = 0, list[str]()
        self.lease = SimpleNamespace(model_id="mod_1", run_id="run_1")

    def advance(self) -> bool:
        self.tries += 1
        if self.tries <= 2:
            raise DiskFull("could not extend file\nHINT: check free disk space")
        return False

    def explain(self, reason: str) -> None:
        self.explained.append(reason)

    def run(self, name: str, *, model_id: str, waiting_for: str) -> None:
        """Stand in for the database that still takes the reason."""
        assert (name, model_id) == ("operations.set_waiting_for", "mod_1")
        self.explained.append(waiting_for)


def test_a_run_says_what_it_waits_for_and_goes_on() -> None:
    run = Full()
    thread = RunThread(cast(Any, None), cast(Any, run.lease), cast(Any, None), threading.Lock(), threading.Event(), 0.0,
                       cast(Any, None))
    assert [thread._advance(cast(Any, run)) for _ in range(3)] == [False, False, True]
    assert run.explained == [WORDS, WORDS]


def test_a_trainer_says_what_a_model_waits_for_and_goes_on() -> None:
    work = Full()
    trainer = Trainer.__new__(Trainer)
    trainer._database = cast(Any, work)
    assert [trainer._advance(cast(Any, work)) for _ in range(3)] == [False] * 3, "nothing is left to do the third time"
    assert work.explained == [WORDS, WORDS]
