"""Which rows train and which are held out, and in which order."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from hone.algorithms.topocurate.curation import TaskScore
from hone.algorithms.topocurate.manifest import Entry
from hone.environments.tasks import make, split_of
from hone.resolution import resolve
from hone.spec.run import TaskSource
from hone.store import manifests, objects
from hone.store.database import Database
from hone.store.objects import Objects
from hone.text.rules import TextRules
from hone.text.tokenizer import Tokenizer
from services.learner.driver import datasets
from services.learner.driver.datasets import TooManyBytes
from services.learner.driver.lease import RunLease
from services.learner.driver.manifests import Manifest
from services.learner.driver.peers import Peers, Task
from services.learner.driver.reporting import WaitingReason
from services.learner.driver.tasks import NoTasks, Tasks, UnknownDataset
from services.learner.driver.watch import Interrupted, Watch
from tests.unit.text.styles import STYLES, files

Row = dict[str, Any]
ROWS: list[Row] = [{"prompt": f"{a}+{b}=", "answer": str(a + b)} for a in range(20) for b in range(20)]
def drawn(first: int, count: int) -> list[Task]:
    return [Task({"environment": "sort_digits", "params": {}, "seed": 5, "item": None}, f"drawn {place}")
            for place in range(first, first + count)]


class Shelf:
    """A database with nothing but a tenant's datasets."""

    def __init__(self, store: Objects, datasets: dict[str, list[Row]]) -> None:
        self.recorded: list[str] = []
        self.waits: list[str] = []
        self.desired = "run"
        self._entries = {name: manifests.put_file(store, f"{name}/rows.jsonl", _lines(rows))
                         for name, rows in datasets.items()}

    @contextmanager
    def transaction(self) -> Iterator["Shelf"]:
        yield self

    def run(self, statement: str, run_id: str, tenant_id: str = "", message: str = "", **named: Any) -> int:
        if statement == "runs.set_waiting_for":
            self.waits.append(named["waiting_for"])
            return 1
        assert (statement, tenant_id, run_id) == ("events.add_bad_rows", "ten_1", "run_1")
        self.recorded.append(message)
        return 1

    def one(self, statement: str, tenant_id: str = "ten_1", name: str = "", **_: Any) -> Row | None:
        if statement == "runs.fence":
            return {}
        if statement == "runs.wanted":
            return {"desired": self.desired, "past_deadline": False}
        assert (statement, tenant_id) == ("artifacts.dataset", "ten_1")
        return {"manifest": {"files": {"rows.jsonl": self._entries[name]}}} if name in self._entries else None


class Simulation:
    """Draws tasks without end, or two tasks again and again, and remembers the requests."""

    def __init__(self) -> None:
        self.asked: list[tuple[str | None, str, int, int, int]] = []
        self.endless = True

    def draw(self, source: TaskSource, split: str, seed: int, first: int, count: int) -> list[Task]:
        self.asked.append((source.environment, split, seed, first, count))
        return drawn(first, count) if self.endless else drawn(0, 2)


class Scene:
    """The tasks of a run whose datasets are on a shelf."""

    def __init__(self, home: Path, **datasets: list[Row]) -> None:
        self.look_every_s = 60.0
        self.home, self._store = home, objects.connect(f"file://{home}")
        self.shelf, self.simulation = Shelf(self._store, datasets), Simulation()

    def tasks(self, **spec: Any) -> Tasks:
        raw = {"name": "x", "model": {"base": "b"}, "steps": 1, "task": {"dataset": "rows"}, "seed": 3, **spec}
        lease, database = RunLease("run_1", "ten_1", "mdl_1", 1, resolve(raw)), cast(Database, self.shelf)
        watch = Watch(database, lease, WaitingReason(database, lease, 1.0), threading.Event(), self.look_every_s)
        return Tasks(database, self._store, cast(Peers, self.simulation), lease, watch)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    held = [{"prompt": "0+1=", "answer": "other"}, {"prompt": "new", "answer": "1"}, {"prompt": "new", "answer": "2"}]
    return Scene(tmp_path, rows=ROWS, held=held, twins=ROWS + ROWS)


def _lines(rows: list[Row]) -> bytes:
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)


def _split(row: Row) -> str:
    return split_of(make("dataset", {}, 0, row).content_hash)


def _prompts(tasks: list[Task]) -> list[str]:
    return [task.body["item"]["prompt"] for task in tasks]


TRAINED = [row for row in ROWS if _split(row) == "train"]
HELD = [row for row in ROWS if _split(row) == "held_out"]


def test_a_dataset_holds_its_own_split_out_of_training(scene: Scene) -> None:
    tasks = scene.tasks()
    assert len(HELD) > 10
    assert sorted(_prompts(tasks.held_out)) == sorted(row["prompt"] for row in HELD)
    trained = tasks.train(0, 3 * len(TRAINED))
    assert sorted(set(_prompts(trained))) == sorted(row["prompt"] for row in TRAINED)
    assert {split_of(task.content_hash) for task in trained} == {"train"}
    assert scene.simulation.asked == []


@pytest.mark.parametrize("count", [2, 3, 10, 17])
def test_a_small_dataset_has_both_sides(tmp_path: Path, count: int) -> None:
    for first in range(0, 200, count):
        rows = ROWS[first:first + count]
        tasks = Scene(tmp_path / str(first), rows=rows).tasks()
        held, trained = set(_prompts(tasks.held_out)), {row["prompt"] for row in tasks.train_rows(0, 3 * count)}
        assert held
        assert trained
        assert held | trained == {row["prompt"] for row in rows}
        assert not held & trained


def test_training_never_draws_what_an_evaluation_has_no_room_for(scene: Scene) -> None:
    tasks = scene.tasks(eval={"prompts": 2})
    assert len(tasks.held_out) == 2
    assert {_split(row) for row in tasks.train_rows(0, len(TRAINED))} == {"train"}
    few = scene.tasks(eval={"prompts": 1, "source": {"dataset": "held"}})
    assert len(few.held_out) == 1
    assert ROWS[1] not in few.train_rows(0, len(ROWS))


def test_without_an_evaluation_every_row_trains(scene: Scene) -> None:
    tasks = scene.tasks(eval=None)
    assert tasks.held_out == []
    assert sorted(map(str, tasks.train_rows(0, len(ROWS)))) == sorted(map(str, ROWS))


def test_all_of_an_evaluation_dataset_is_held_out_and_what_asks_the_same_does_not_train(scene: Scene) -> None:
    tasks = scene.tasks(eval={"source": {"dataset": "held"}})
    assert sorted(_prompts(tasks.held_out)) == ["0+1=", "new"]
    assert [task.body["item"]["answer"] for task in tasks.held_out if task.body["item"]["prompt"] == "new"] == ["1"]
    seen = tasks.train_rows(0, len(ROWS) - 1)
    assert sorted(map(str, seen)) == sorted(str(row) for row in ROWS if row["prompt"] != "0+1=")


def test_beside_an_evaluation_environment_every_row_trains(scene: Scene) -> None:
    tasks = scene.tasks(eval={"prompts": 7, "seed": 9, "source": {"environment": "sort_digits"}})
    assert tasks.held_out == drawn(0, 7)
    assert sorted(map(str, tasks.train_rows(0, len(ROWS)))) == sorted(map(str, ROWS))
    assert scene.simulation.asked == [("sort_digits", "HELD_OUT", 9, 0, 16)]


def test_an_environment_draws_both_splits(scene: Scene) -> None:
    tasks = scene.tasks(task={"environment": "sort_digits"}, eval={"prompts": 7, "seed": 9})
    assert (tasks.train(32, 16), tasks.held_out) == (drawn(32, 16), drawn(0, 7))
    assert scene.simulation.asked == [("sort_digits", "TRAIN", 3, 32, 16), ("sort_digits", "HELD_OUT", 9, 0, 16)]


def test_many_tasks_are_drawn_in_pieces(scene: Scene) -> None:
    tasks = scene.tasks(task={"environment": "sort_digits"}, eval={"prompts": 1500})
    assert (tasks.train(5, 2000), tasks.held_out) == (drawn(5, 2000), drawn(0, 1500))
    assert [one[3:] for one in scene.simulation.asked] == [(5, 1024), (1029, 976), (0, 1024), (1024, 1024)]


def test_of_a_split_with_few_tasks_all_are_held_out(scene: Scene) -> None:
    scene.simulation.endless = False
    assert scene.tasks(task={"environment": "sort_digits"}, eval={"prompts": 300}).held_out == drawn(0, 2)
    assert len(scene.simulation.asked) < 1500


def test_each_epoch_is_a_permutation_of_its_own(scene: Scene) -> None:
    tasks, size = scene.tasks(eval=None), len(ROWS)
    first, second = tasks.train_rows(0, size), tasks.train_rows(size, size)
    assert sorted(map(str, first)) == sorted(map(str, second))
    assert first != second
    assert first == [ROWS[place] for place in np.random.default_rng([3, 0]).permutation(size)]
    assert second == [ROWS[place] for place in np.random.default_rng([3, 1]).permutation(size)]


def test_a_place_has_one_row_however_it_is_reached(scene: Scene) -> None:
    tasks, size = scene.tasks(eval=None), len(ROWS)
    whole = tasks.train_rows(0, 2 * size)
    assert scene.tasks(eval=None).train_rows(size - 5, 10) == whole[size - 5:size + 5]
    assert tasks.train_rows(7, 1) == whole[7:8]
    assert scene.tasks(eval=None, seed=4).train_rows(0, size) != whole[:size]


def test_the_held_out_draw_depends_on_its_own_seed_alone(scene: Scene) -> None:
    drawn = scene.tasks(eval={"prompts": 8, "seed": 1}).held_out
    assert drawn == scene.tasks(eval={"prompts": 8, "seed": 1}, seed=11).held_out
    assert drawn != scene.tasks(eval={"prompts": 8, "seed": 2}).held_out


def test_equal_rows_are_one_held_out_task(scene: Scene) -> None:
    held = scene.tasks(task={"dataset": "twins"}).held_out
    assert len(held) == len({task.content_hash for task in held}) == len(HELD)


@pytest.mark.parametrize(("rows", "words"), [(HELD, "every one is held out of training"), ([], "has 0 rows")])
def test_a_dataset_without_a_training_row_is_named(tmp_path: Path, rows: list[Row], words: str) -> None:
    with pytest.raises(NoTasks, match=f"dataset 'rows' .*{words}"):
        Scene(tmp_path, rows=rows).tasks(eval={"source": {"dataset": "rows"}}).train(0, 1)


def test_a_run_that_is_not_to_go_on_gives_up_its_dataset(scene: Scene) -> None:
    scene.look_every_s = 0.0
    tasks = scene.tasks()
    first = tasks.train_rows(0, 4)
    assert "the driver, which reads dataset 'rows': 399 rows so far" in scene.shelf.waits
    scene.shelf.desired = "cancel"
    with pytest.raises(Interrupted):
        scene.tasks().train_rows(0, 4)
    scene.shelf.desired = "run"
    assert scene.tasks().train_rows(0, 4) == first


def test_rows_of_a_step_have_a_bound_together(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "MOST_BYTES", 100)
    assert len(scene.tasks().train_rows(0, 2)) == 2
    with pytest.raises(TooManyBytes, match=r"dataset 'rows': 9 rows .* expected at most 100: lower batch.prompts"):
        scene.tasks().train_rows(0, 9)


def test_the_order_of_rows_is_that_of_numpy(scene: Scene) -> None:
    order = np.random.default_rng([3, 0]).permutation(len(ROWS))
    assert scene.tasks(eval=None).train_rows(0, len(ROWS)) == [ROWS[place] for place in order]


def test_a_dataset_without_a_held_out_row_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoTasks, match="dataset 'rows' holds no row out; expected an evaluation source, or eval: null"):
        _ = Scene(tmp_path, rows=TRAINED[:1]).tasks().held_out


def test_an_absent_dataset_is_named(scene: Scene) -> None:
    with pytest.raises(UnknownDataset, match="'gone' does not exist"):
        scene.tasks(task={"dataset": "gone"}).train(0, 1)


def test_a_row_may_hold_what_other_readers_take_for_the_end_of_a_line(tmp_path: Path) -> None:
    row = {"prompt": "a\u2028b\x85c", "answer": "1"}
    assert Scene(tmp_path, rows=[row]).tasks(eval=None).train_rows(0, 1) == [row]


DATABASE = {"prompt": "how many?", "database": "CREATE TABLE t (a);", "answer": "0"}


def test_rows_that_are_no_tasks_are_left_out_and_named(tmp_path: Path) -> None:
    good = [{**DATABASE, "prompt": f"how many of {place}?"} for place in range(3)]
    bad: list[Row] = [{**DATABASE, "answer": ""}, {**DATABASE, "answer": 3}, {**DATABASE, "database": None}]
    scene = Scene(tmp_path, rows=[good[0], *bad, *good[1:]])
    tasks = scene.tasks(task={"environment": "sqlite", "dataset": "rows"}, eval=None)
    assert sorted(_prompts(tasks.train(0, 3))) == [row["prompt"] for row in good]
    assert scene.shelf.recorded == [
        "dataset 'rows': 3 of 6 rows are left out: row 2: item.answer: found '', expected a text that is not empty; "
        "row 3: item.answer: found 3, expected a text that is not empty; "
        "row 4: item.database: found None, expected a text that is not empty"]


def test_a_dataset_of_which_no_row_is_a_task_is_named_with_the_first(tmp_path: Path) -> None:
    scene = Scene(tmp_path, rows=[{**DATABASE, "answer": 3}])
    with pytest.raises(NoTasks, match=r"has 1 rows and none is a task of sqlite: row 1: item.answer: found 3"):
        scene.tasks(task={"environment": "sqlite", "dataset": "rows"}, eval=None).train(0, 1)


def test_rows_that_are_too_long_for_the_model_do_not_train(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded: list[tuple[str, str]] = []
    monkeypatch.setattr("services.learner.driver.tasks.record_once",
                        lambda _transaction, _lease, event: recorded.append((event.kind, event.message)))
    tokenizer = Tokenizer(files(STYLES["qwen3"]), TextRules(date="2026-01-31"))
    rows = [{"prompt": "a", "completion": "1"}, {"prompt": "b", "completion": "1 " * 90}]
    shown = Scene(scene.home / "shown", rows=rows).tasks(algorithm="sft")
    shown.text = cast(Any, SimpleNamespace(tokenizer=tokenizer, positions=64, lacks={}))
    assert shown.train_rows(0, 3) == rows[:1] * 3
    assert [kind for kind, _ in recorded] == ["long_rows"]
    assert "dataset 'rows': 1 of 2 rows are left out of supervised training" in recorded[0][1]
    shown = Scene(scene.home / "long", rows=rows[1:]).tasks(algorithm="sft")
    shown.text = cast(Any, SimpleNamespace(tokenizer=tokenizer, positions=64, lacks={}))
    with pytest.raises(NoTasks, match="1 of 1 rows are left out of supervised training, longer than the 64 positions"):
        shown.train_rows(0, 1)


MIXTURE = [{"name": "sort", "weight": 1, "environment": "sort_digits"},
           {"name": "rows", "weight": 3, "dataset": "rows"},
           {"name": "held", "weight": 1, "dataset": "twins"}]


def test_a_mixture_draws_its_sources_by_place_and_each_goes_on_by_itself(scene: Scene) -> None:
    mixed = {"task": {"mixture": MIXTURE}, "eval": None}
    whole = scene.tasks(**mixed).train(0, 600)
    assert scene.tasks(**mixed).train(250, 50) == whole[250:300]
    by_source = {name: [task for task in whole if task.source == name] for name in ("sort", "rows", "held")}
    assert sum(map(len, by_source.values())) == 600
    assert len(by_source["rows"]) / 600 == pytest.approx(0.6, abs=0.07)
    alone = scene.tasks(eval=None).train(0, len(by_source["rows"]))
    assert [task.body for task in by_source["rows"]] == [task.body for task in alone]
    assert [task.content_hash for task in by_source["sort"]] == [
        f"drawn {place}" for place in range(len(by_source["sort"]))]


def test_a_mixture_without_weights_is_drawn_by_the_rows_that_train(scene: Scene) -> None:
    mixture = [{"name": "few", "dataset": "rows"}, {"name": "many", "dataset": "twins"}]
    for temperature, share in ((None, 1 / 3), (1e6, 1 / 2)):
        tasks = scene.tasks(task={"mixture": mixture, "temperature": temperature}, eval=None).train(0, 3000)
        assert sum(task.source == "few" for task in tasks) / 3000 == pytest.approx(share, abs=0.03)


def test_every_source_of_a_mixture_holds_its_own_split_out_of_all_of_them(scene: Scene) -> None:
    mixture = [{"name": "rows", "weight": 1, "dataset": "rows"}, {"name": "few", "weight": 1, "dataset": "held"}]
    tasks = scene.tasks(task={"mixture": mixture})
    held = {name: _prompts([task for task in tasks.held_out if task.source == name]) for name in ("rows", "few")}
    assert sorted(held["rows"]) == sorted(row["prompt"] for row in HELD)
    assert len(held["few"]) == 1
    trained = set(_prompts(tasks.train(0, 2000)))
    assert not trained & {*held["rows"], *held["few"]}
    assert trained == ({row["prompt"] for row in ROWS} | {"new"}) - {*held["rows"], *held["few"]}


def test_an_evaluation_may_have_sources_of_its_own_beside_those_of_the_mixture(scene: Scene) -> None:
    own = [{"name": "rows"}, {"name": "other", "dataset": "held"}, {"name": "sort", "environment": "sort_digits"}]
    tasks = scene.tasks(task={"mixture": MIXTURE}, eval={"prompts": 4, "sources": own})
    assert [task.source for task in tasks.held_out] == ["rows"] * 4 + ["other"] * 2 + ["sort"] * 4
    assert ROWS[1] not in [task.body["item"] for task in tasks.train(0, 2000)]


def manifest(*tasks: tuple[str, Row | None, float], version: int = 4) -> Manifest:
    return Manifest("manifest", version, [
        Entry(content_hash, "", body, TaskScore(8, rate, 0.5, 0.5, 1.0, few=False))
        for content_hash, body, rate in tasks])


def by_manifest(scene: Scene, explore: float, **spec: Any) -> Tasks:
    sampler = {"name": "topocurate", "params": {"explore": explore}}
    return scene.tasks(algorithm={"sampler": sampler}, batch={"prompts": 2}, **spec)


def test_a_manifest_chooses_among_the_training_rows_of_a_dataset(scene: Scene) -> None:
    hashes = [make("dataset", {}, 0, row).content_hash for row in (*TRAINED[:3], HELD[0])]
    chosen = manifest(*((one, None, 0.5) for one in hashes[:2]), (hashes[2], None, 1.0), (hashes[3], None, 0.5),
                      ("ab" * 32, None, 0.5))
    drawn = by_manifest(scene, 0.0).train(0, 6, chosen)
    assert [{one.content_hash for one in drawn[place:place + 2]} for place in (0, 2, 4)] == [set(hashes[:2])] * 3
    assert {one.body["item"]["prompt"] for one in drawn} == {row["prompt"] for row in TRAINED[:2]}
    assert drawn[0].sampled == {"version": 4.0, "score": 1.0, "pass_rate": 0.5, "error_branches": 0.5,
                                "heterogeneity": 0.5}
    tasks = by_manifest(scene, 0.5)
    mixed, plain = tasks.train(10, 40, chosen), tasks.train(10, 40)
    assert mixed == by_manifest(scene, 0.5).train(0, 50, chosen)[10:], "a place has its task, whatever was asked before"
    assert [one for one in mixed if one.sampled is None] == [
        one for one, other in zip(plain, mixed, strict=True) if other.sampled is None]
    assert 10 < sum(one.sampled is None for one in mixed) < 30
    assert tasks.train(10, 40, manifest(("ab" * 32, None, 0.5))) == plain, "no task of the manifest is one of the run"


def test_a_manifest_holds_the_tasks_that_environments_make(scene: Scene) -> None:
    tasks = by_manifest(scene, 0.0, task={"environment": "sort_digits"})
    own = resolve({"name": "x", "model": {"base": "b"}, "steps": 1, "task": {"environment": "sort_digits"}}).task.params
    body = {"environment": "sort_digits", "params": own, "seed": 9, "item": None}
    [drawn] = tasks.train(3, 1, manifest(("aa" * 32, body, 0.5), ("bb" * 32, {**body, "params": {"digits": 99}}, 0.5)))
    assert (drawn.body, drawn.content_hash) == (body, "aa" * 32)
