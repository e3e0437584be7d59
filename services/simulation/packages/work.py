"""One job that has a model write something: a thread of its own asks it, tries what it says, and ends with the job."""

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict
from functools import partial
from typing import Any, TypeVar

from hone.environments.contract import Row as DatasetRow
from hone.environments.desk.authored import AuthoredTasks
from hone.environments.desk.hints import Tried, created
from hone.environments.packages.package import Package
from hone.environments.synthesis.authored import AuthoredPackage
from hone.environments.synthesis.hints import NoWorld
from hone.environments.synthesis.model_author import ModelAuthor
from hone.environments.synthesis.report import Made
from hone.environments.synthesis.trail import Trail
from hone.environments.synthesis.trials import admitted, trial_report
from hone.environments.written_lives.authored import AuthoredLives
from hone.judges.asking import AskedJudges
from hone.remembering.lives import Sizes
from hone.spec.guidelines import GuidelineSpec
from hone.spec.roles import AuthorSpec, TrialSpec
from hone.store.database import Row
from services.simulation.packages.generator import generated
from services.simulation.packages.guidelines import GuidelineSearch
from services.simulation.packages.shelf import PackageShelf
from services.simulation.packages.trials import TrialPlay
from services.simulation.packages.workshop import Workshop, turn_of

_SHOWN = 20
Result = TypeVar("Result")


class PastDeadline(Exception):
    """A job's time is over. The message says how far it had come."""


class MakingWork:
    """Make it on the running loop."""

    def __init__(self, job: Row, judges: AskedJudges, shelf: PackageShelf) -> None:
        self._job, self._trail = job, Trail()
        self.author = AuthorSpec.model_validate(job["author"]) if job["author"] else None
        turn = turn_of(job["id"], job["tenant_id"], job["key_id"])
        self._workshop = Workshop(judges, shelf, self.author, turn) if self.author else None
        validator = AuthorSpec.model_validate(job["validator"]) if job["validator"] else None
        self._reader = Workshop(judges, shelf, validator, turn) if validator else self._workshop
        self._rows: AuthoredTasks | AuthoredLives | GuidelineSearch | None = None
        if self.author and self._workshop and job["guideline"]:
            spec = GuidelineSpec.model_validate(job["guideline"])
            self._rows = GuidelineSearch(judges, shelf, self.author, self._workshop, spec, turn, job["seed"],
                                         self._trail)
        self._drafts: tuple[Tried, ...] = ()
        trial = TrialSpec.model_validate(job["trial"]) if job["trial"] else None
        self._play = TrialPlay(judges, shelf, trial, turn, job["seed"]) if trial else None
        self._trials = dict[str, Any]()
        self._until = asyncio.get_running_loop().time() + max(0.0, job["left_s"])

    @property
    def progress(self) -> dict[str, Any]:
        """How far the making is; while the seeded generator works nothing is known."""
        return self._trail.progress if self._workshop or self._trail.phase == "trials" else {}

    @property
    def report(self) -> dict[str, Any]:
        """Tries so far."""
        trials = {"trials": self._trials} if self._trials else {}
        if self._workshop is None or self.author is None:
            return {**trials, **({"drafts": [asdict(one) for one in self._drafts]} if self._drafts else {})}
        return {"author": {"name": self.author.named, "models": sorted(self._workshop.models),
                           "asked": self._workshop.asked}, **self._trail.as_json(), **trials,
                **(self._rows.as_json() if self._rows else {})}

    async def made(self) -> tuple[Package, dict[str, Any]]:
        """Return the package that the generator or the model makes, and the report.

        Raises NoWorld, ChildProcessError, and what its thread raises.
        """
        if self._workshop is None:
            return await generated(self._job)
        found = await self._written(self._author_all)
        return found.package, {**found.report.as_json(), **self.report}

    async def rows(self) -> list[DatasetRow]:
        """Return the tasks of the desk, the lives, or the guideline for noise that the model or a seed makes.

        Raises what its thread raises.
        """
        if self._workshop is None:
            return await self._written(self._seeded)
        assert self._reader is not None
        seed, wanted = self._job["seed"], self._job["tasks"]
        if isinstance(self._rows, GuidelineSearch):
            self._trail.at("scenes", 0, wanted)
        elif self._job["environment"] == "desk":
            self._rows = AuthoredTasks(self._workshop, self._reader, seed, self._trail)
            self._trail.at("tasks", 0, wanted)
        else:
            sizes = Sizes.model_validate(self._job["sizes"] or {})
            self._rows = AuthoredLives(self._workshop, self._reader, sizes, seed, self._trail)
            self._trail.at("lives", 0, wanted)
        return await self._written(partial(self._rows.made, self._job["hint"], wanted))

    async def _written(self, work: Callable[[], Result]) -> Result:
        """Return the result of a thread. No question of it outlives the job."""
        try:
            return await self._in_thread(work)
        finally:
            search = self._rows.workshops if isinstance(self._rows, GuidelineSearch) else ()
            for one in (self._workshop, self._reader, *search):
                if one is not None:
                    one.stop()

    async def tried(self, found: Package, report: dict[str, Any]) -> tuple[Package, dict[str, Any]]:
        """Return a package with the tasks that tell policies apart, if some are to try it, and the report with figures.

        Raises NoWorld where no task is left, ModelAway and EpisodeLost.
        """
        if self._play is None:
            return found, report
        trials = await self._play.trials(found, self._trail)
        self._trials = {"name": self._play.name, **trial_report(trials)}
        left = admitted(found, trials)
        if not left.tasks:
            raise NoWorld("no task tells a policy with all tools from one with half of them", [
                f"{name}: {one.strong:.2f} and {one.weak:.2f}" for name, one in list(trials.items())[:_SHOWN]])
        return left, {**report, "trials": self._trials}

    @asynccontextmanager
    async def in_time(self) -> AsyncIterator[None]:
        """End with the job's deadline. Raises PastDeadline."""
        try:
            async with asyncio.timeout_at(self._until) as deadline:
                yield
        except TimeoutError as late:
            if not deadline.expired():
                raise
            where = f"{self._trail.phase}, {self._trail.done} of {self._trail.of}" if self.progress else (
                "the seeded generator was at work")
            raise PastDeadline(f"its {self._job['within_s']} s are over: {where}") from late

    async def _in_thread(self, make: Callable[[], Result]) -> Result:
        """Return the result of a thread, which ends with this. It is no thread of the pool, as it waits for minutes."""
        loop, ended = asyncio.get_running_loop(), asyncio.get_running_loop().create_future()
        context = contextvars.copy_context()

        def work() -> None:
            try:
                found: Any = partial(ended.set_result, context.run(make))
            except BaseException as error:  # whatever it is, who waits for the thread has it
                found = partial(ended.set_exception, error)
            loop.call_soon_threadsafe(lambda: ended.done() or found())

        threading.Thread(target=work, name=f"package {self._job['id']}", daemon=True).start()
        return await ended  # type: ignore[no-any-return]

    def _seeded(self) -> list[DatasetRow]:
        """Return tasks of the desk that a seed draws. Raises NoWorld where the hint leads to none."""
        found = created(self._job["hint"], self._job["seed"], self._job["tasks"])
        self._drafts = found.tried
        if found.reason is not None:
            raise NoWorld(found.reason)
        return list(found.rows)

    def _author_all(self) -> Made:
        assert self._workshop is not None
        assert self.author is not None
        author = ModelAuthor(self._workshop, self._job["seed"])
        return AuthoredPackage(author, self._workshop, f"model {self.author.named}", self._trail).made(
            self._job["hint"], self._job["seed"], self._job["tasks"])
