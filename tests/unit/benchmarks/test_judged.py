"""Labelled answers of the benchmark of judged runs, and how its judges are asked."""

from collections import Counter

from benchmarks.tables import judged_run
from benchmarks.through_services import judged
from benchmarks.through_services import judged_run as runs
from hone.graders.specs import checked
from hone.models import toy
from hone.text.tokenizer import Tokenizer


def test_half_of_the_answers_are_right_and_each_is_labelled_by_what_it_is() -> None:
    pairs = list(judged.pairs(400, seed=0))
    assert all(pair.right == (pair.output == "".join(sorted(pair.item["prompt"][1:-1]))) for pair in pairs)
    assert 180 < sum(pair.right for pair in pairs) < 260
    assert len(Counter(pair.kind for pair in pairs)) == 6
    shown = {row["prompt"] for row in judged.labelled(50)}
    assert not shown & {pair.item["prompt"] for pair in pairs}, "it is checked on tasks that it was not shown"


def test_a_judge_reads_its_instructions_and_says_its_verdict_in_a_token_each() -> None:
    assert checked(judged.grader("some-run")).judges == {"some-run": "chat"}
    files = toy.files(**judged.POLICY)
    tokenizer = Tokenizer({name: data for name, data in files.items() if name.endswith(".json")})
    [row] = judged.demonstrations(1)
    system, user = (message["content"] for message in row["messages"])
    assert len(tokenizer.encode(system)) == len(tokenizer.encode(row["completion"])) == 1
    assert toy.UNK not in tokenizer.encode(system + user)


def test_what_runs_reached_is_in_the_table_by_grader() -> None:
    series = {"eval/sampled": [(0, 0.5), (2, 0.75)], "eval/greedy": [(0, 0.5), (2, 1.0)],
              "completion/tokens": [(1, 40.0), (2, 40.0)], "completion/mean_tokens": [(1, 5.0), (2, 5.0)],
              "reward/mean": [(1, 0.5), (2, 1.0)], "reward/masked": [(1, 4.0), (2, 0.0)]}
    reached = runs.reached(series)
    assert (reached["sampled"], reached["area"], reached["paid"], reached["masked"]) == (0.75, 0.625, 0.75, 0.25)
    raw = [{"seed": 0, "questions": 8, "known": 0.5, **reached}]
    arms = {name: {"mean": runs.means(raw), "raw": raw} for name in ("rule", "judge")}
    judges = {"judge": {"false_accepts": 0.25, "false_refusals": 0.0, "gap": 0.75}}
    lines = judged_run([{"arms": arms, "judges": judges}]).splitlines()
    assert lines[2] == "| rule | – | – | – | 0.750 (0.750 to 0.750) | 0.625 | 0.750 | 25% | – | – |"
    assert lines[3].startswith("| judge | 0.250 | 0.000 | 0.750 |")
    assert lines[3].endswith("| 25% | 8 | 50% |")
