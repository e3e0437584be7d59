"""A package of a hint is the same each time. Each of its tasks can be done, is not done by itself, and has one end."""

import copy
import json
from functools import cache
from typing import Any

import pytest

from hone.environments.packages.episode import PackageEpisode
from hone.environments.packages.local_runner import LocalRunner
from hone.environments.packages.package import Package, PackageTask, ToolUse
from hone.environments.packages.reading import read
from hone.environments.packages.state_check import mismatches
from hone.environments.synthesis.hints import NoWorld, theme_of
from hone.environments.synthesis.making import make_package
from hone.environments.synthesis.report import Made
from hone.environments.synthesis.rows import dangling
from hone.environments.synthesis.tasks import difficulty
from hone.environments.tools import ToolCall
from hone.sandbox.program import Ended, Program, Ran

HINTS = ("hotel", "library", "mountain bikes")


@cache
def made(hint: str) -> Made:
    return make_package(hint, seed=3, tasks=12)


def played(package: Package, task: PackageTask, uses: list[ToolUse], answer: str) -> PackageEpisode:
    """Play calls as a policy would, and answer."""
    episode = PackageEpisode(package, task, LocalRunner(), 40)
    episode.reset()
    for use in uses:
        episode.step(ToolCall(use.tool, use.arguments).action())
    episode.step(answer)
    return episode


def changing(package: Package, task: PackageTask) -> list[int]:
    """Return the places of the calls that change something."""
    writes = {tool.name for tool in package.manifest.tools if tool.writes}
    return [place for place, use in enumerate(task.chain) if use.tool in writes]


@pytest.mark.parametrize("hint", HINTS)
def test_the_chain_is_worth_one_nothing_zero_and_a_chain_without_a_change_zero(hint: str) -> None:
    package = read(made(hint).package.files)
    assert len(package.tasks) == 12
    for task in package.tasks[::3]:  # the making has replayed all of them
        answer = " ".join(task.communicate) or "done"
        assert played(package, task, task.chain, answer).verify() == 1.0
        assert played(package, task, [], "done").verify() == 0.0
        for place in changing(package, task):
            fewer = [use for other, use in enumerate(task.chain) if other != place]
            assert played(package, task, fewer, answer).verify() == 0.0
        if task.communicate:
            assert played(package, task, task.chain, "done").verify() == 0.0


@pytest.mark.parametrize("hint", HINTS)
def test_an_extra_write_to_any_cell_that_counts_is_worth_zero(hint: str) -> None:
    package = made(hint).package
    task = package.tasks[0]
    for table in package.manifest.tables:
        for column in table.columns:
            untouched = [key for key, row in task.truth[table.name].items() if task.initial[table.name].get(key) == row]
            if column.kind != "exempt" and column.name != table.key and untouched:
                final = copy.deepcopy(task.truth)
                final[table.name][untouched[0]][column.name] = "quite another text"
                assert mismatches(package.manifest, final, task.truth), f"{table.name}.{column.name}"


def test_the_same_calls_give_the_same_state_after_every_step() -> None:
    package = made("library").package
    task = max(package.tasks, key=lambda one: len(one.chain))
    episodes = [PackageEpisode(package, task, LocalRunner(), 40) for _ in range(2)]
    hashes = [[episode.reset().state_hash, *(
        episode.step(ToolCall(use.tool, use.arguments).action()).observation.state_hash for use in task.chain)]
        for episode in episodes]
    assert hashes[0] == hashes[1]
    assert len(set(hashes[0])) == len(task.chain) + 1


def test_another_generated_id_is_worth_one() -> None:
    package = made("hotel").package
    task = next(task for task in package.tasks if "book_room" in [use.tool for use in task.chain]
                and not any("_id" in str(use.arguments) and "boo_" in json.dumps(use.arguments) for use in task.chain))
    look = ToolUse(tool="find_rooms", arguments={"title": "Nowhere"})
    later = played(package, task, [look, look, *task.chain], " ".join(task.communicate) or "done")
    new = set(later.snapshot()["tables"]["bookings"]) - set(task.initial["bookings"])
    assert new.isdisjoint(task.truth["bookings"])
    assert later.verify() == 1.0


@pytest.mark.parametrize("hint", HINTS)
def test_instructions_name_no_id_and_rows_are_whole(hint: str) -> None:
    package = made(hint).package
    for task in package.tasks:
        keys = {key for rows in task.initial.values() for key in rows}
        assert not [key for key in keys if key in task.instruction]
        assert dangling(package.manifest.tables, task.initial) == []
        assert not [phrase for phrase in task.communicate if phrase in task.instruction]
        assert task.difficulty == difficulty(len(task.chain))


def test_tables_that_a_task_touches_hold_rows_that_distract() -> None:
    package = made("hotel").package
    task = next(task for task in package.tasks if [use.tool for use in task.chain][1:] == ["top_up_balance"])
    email = next(word for word in task.instruction.split() if "@" in word).strip("().")
    guests = task.initial["guests"].values()
    [person] = [row for row in guests if row["email"] == email]
    assert len(guests) == 6 + 3 + 2 * 2
    assert sum(row["name"] == person["name"] for row in guests) >= 3
    assert len(task.initial["bookings"]) == 9


def test_the_same_hint_and_seed_make_the_same_package_and_others_another() -> None:
    again = make_package("hotel", seed=3, tasks=12)
    assert again == made("hotel")
    others = [make_package("hotel", seed, 4).package for seed in (3, 4)]
    assert len({package.digest for package in (again.package, *others)}) == 3
    assert read(again.package.files).digest == again.package.digest


def test_the_report_says_what_was_tried_and_kept() -> None:
    for hint in HINTS:
        package, report = made(hint).package, made(hint).report
        assert (report.tools_kept, report.tools_dropped, report.dead_ends) == (len(package.manifest.tools), {}, 0)
        assert (report.tasks_accepted, report.solvable) == (12, 1.0)
        assert report.tasks_tried == 12 + sum(report.tasks_rejected.values())
        assert sum(report.difficulties.values()) == 12
        assert json.loads(json.dumps(report.as_json()))["domain"] == package.manifest.domain


def test_a_package_ends_before_it_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    size = sum(map(len, make_package("gym", 0, 2).package.files.values()))
    monkeypatch.setattr("hone.environments.synthesis.making.MOST_BYTES", size + 25_000)
    report = make_package("gym", 0, 30).report
    assert 2 <= report.tasks_accepted < 6
    assert report.tasks_rejected["a package has at most 0 MiB"] == 1


class Without(LocalRunner):
    """A runner in which tools raise that use one of these names."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def run(self, program: Program) -> Ran:
        broken = program.source
        for name in self.names:
            broken = broken.replace(f"def {name}(db", f"def {name}(nothing")
        return super().run(Program(broken, function=program.function, calls=program.calls))


def test_a_tool_that_fails_is_dropped_with_all_that_needs_it() -> None:
    report = make_package("hotel", 3, 4, Without("find_rooms")).report
    assert "find_rooms" in report.tools_dropped
    assert report.dead_ends == 0
    lost = make_package("hotel", 3, 4, Without("find_guest"))
    assert lost.report.tools_dropped["book_room"] == "no tool gives what it needs"
    assert not any(tool.needs == ["guest_id"] for tool in lost.package.manifest.tools)
    with pytest.raises(NoWorld, match="no tool passed its tests"):
        make_package("hotel", 3, 4, Failing())


class Failing:
    """A runner whose programs never run."""

    def run(self, _: Program) -> Ran:
        return Ran(Ended.MEMORY_LIMIT, "too much")


@pytest.mark.parametrize(("hint", "domain"), [
    ("hotel", "hotel"), ("A small HOTEL by the sea!", "hotel"), ("something with patients", "clinic"),
    ("car rental", "car_rental"), ("films", "cinema"), ("bee keeping", "bee_keeping"), ("Zoo", "zoo"),
    ("a delivery service", "delivery_service"),
    ("a world about dragon eggs", "dragon_eggs"), ("a shop that rents out bicycles", "shop_bicycles"),
    ("café", "cafe"), ("hotel and library", "hotel")])
def test_a_hint_names_a_domain_or_derives_one(hint: str, domain: str) -> None:
    assert theme_of(hint).domain == domain
    assert theme_of(hint) == theme_of(hint)


@pytest.mark.parametrize("hint", ["", "   ", "?!", "12 34", "日本", "a of the", "\x00"])
def test_a_hint_that_says_nothing_fails_with_what_was_tried(hint: str) -> None:
    with pytest.raises(NoWorld, match="the hint names nothing") as failed:
        theme_of(hint)
    assert failed.value.tried[0].startswith("a known domain: library")


@pytest.mark.parametrize("hint", ["class", "payments stock", "x" * 500])
def test_awkward_words_still_make_a_package(hint: str) -> None:
    done: Any = make_package(hint, 0, 2)
    assert done.report.solvable == 1.0
    assert read(done.package.files) == done.package
