"""General365's experiment: 3,000 synthetic answers by math-verify alone, by a judge alone, and by both in a cascade.

    python -m benchmarks.short_answers [--answers N] [--seeds N] [--out FILE]

The answers are of eight kinds and several ways of writing; half of them are wrong. The judge is a stub that is right
97 % of the time. The cascade is the grader `hybrid_equivalence` in this process.
"""

import argparse
import asyncio
import hashlib
import json
import statistics
import time
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from benchmarks.machine import provenance
from benchmarks.results import RESULTS, store
from hone.graders.contract import Result
from hone.graders.drawn_answers import Answer, answers
from hone.graders.judgement import grades
from hone.graders.questions import Asked, JudgeFailed, Reply
from hone.graders.sample import Sample, World
from hone.graders.scenes import Scene
from hone.graders.specs import Spec, checked
from hone.sandbox.program import Program, Ran

JUDGED_RIGHT = 0.97
GRADER = {"type": "hybrid_equivalence", "model": "stub", "answer_type": "{{ item.kind }}"}


class StubJudge:
    """A judge that knows what is right, and says it 97 % of the time. Equal answers get one verdict."""

    def __init__(self, spec: Spec) -> None:
        self._spec, self.calls = spec, 0
        self.right = False

    def says(self, one: Answer) -> bool:
        drawn = hashlib.sha256(json.dumps([one.kind, one.reference, one.text]).encode()).digest()[0] / 256
        return one.right == (drawn < JUDGED_RIGHT)

    async def graded(self, asked: Sequence[tuple[str, Sample]]) -> list[Result]:
        return [(await grades(self._spec.inner[path], [sample], self))[0] for path, sample in asked]

    async def asked(self, questions: Sequence[Asked]) -> list[Reply | JudgeFailed]:
        self.calls += len(questions)
        return [Reply(json.dumps({"accuracy": self.right}), "stub")] * len(questions)

    async def ran(self, programs: Sequence[Program]) -> list[Ran]:
        raise NotImplementedError

    def entered(self, world: World) -> AbstractAsyncContextManager[Scene]:
        raise NotImplementedError


def by_cascade(drawn: Sequence[Answer]) -> tuple[float, int]:
    """Return the share of right verdicts, and how often the judge was asked."""
    spec = checked(GRADER)
    judge, right = StubJudge(spec), 0
    for one in drawn:
        judge.right = judge.says(one)
        item = {"question": "?", "answer": one.reference, "kind": one.kind}
        [result] = asyncio.run(grades(spec, [Sample(item, one.text)], judge))
        right += result.score == float(one.right)
    return right / len(drawn), judge.calls


def by_algebra(drawn: Sequence[Answer]) -> float:
    """Return the share of right verdicts of math-verify, reference first, both in boxes where they have none."""
    from math_verify import parse, verify

    def boxed(text: str) -> str:
        return text if "\\boxed" in text else rf"\boxed{{{text}}}"

    return statistics.fmean(
        bool(verify(parse(boxed(one.reference)), parse(one.text))) == one.right for one in drawn)


def measured(count: int, seed: int) -> dict[str, Any]:
    """Return the accuracies of the three ways on the same answers, the judge's calls, and the seconds of both rules."""
    drawn = answers(count, seed)
    judge = StubJudge(checked(GRADER))
    began = time.perf_counter()
    cascade, calls = by_cascade(drawn)
    between = time.perf_counter()
    algebra = by_algebra(drawn)
    return {"seed": seed, "cascade": cascade, "calls": calls / count, "algebra": algebra,
            "judge": statistics.fmean(judge.says(one) == one.right for one in drawn),
            "cascade_s": between - began, "algebra_s": time.perf_counter() - between}


def main() -> None:
    """Measure all seeds and write one JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=int, default=3000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=RESULTS / "short_answers.json")
    args = parser.parse_args()
    began = provenance()
    found = [measured(args.answers, seed) for seed in range(args.seeds)]
    store(args.out, {**began, "answers": args.answers, "judged_right": JUDGED_RIGHT, "seeds": found})


if __name__ == "__main__":
    main()
