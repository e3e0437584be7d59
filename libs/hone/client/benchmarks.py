"""Methods about benchmarks: have a model examined, and compare checkpoints."""

from collections.abc import Mapping
from typing import Any

from hone.client.benchmark_resources import Benchmark, Examination, Leaderboard
from hone.client.nouns import Catalog
from hone.client.requests import Requests
from hone.client.resources import Page, Run
from hone.client.transport import rest_path


class Benchmarks(Requests):
    """Methods about frozen tasks that checkpoints are compared by."""

    benchmarks = Catalog(Page[Benchmark], "benchmarks")
    """Return every benchmark."""

    def examine(
        self, benchmark: str, model: str, samples: int = 1, max_tokens: int = 256, name: str | None = None,
        harness: Mapping[str, Any] | None = None, noise: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
    ) -> Run:
        """Have a model examined by a run that trains nothing. Raises Refused with every wrong field."""
        return self._post(Run, rest_path("benchmarks", benchmark, "examinations"), idempotency_key, json={
            "model": model, "samples": samples, "max_tokens": max_tokens, "name": name, "harness": harness,
            "noise": noise})

    def leaderboard(self, benchmark: str, series: str = "sampled", evaluations: str = "newest") -> Leaderboard:
        """Return the checkpoints that were evaluated on a benchmark, the best first."""
        return self._get(Leaderboard, rest_path("benchmarks", benchmark, "leaderboard"), series=series,
                         evaluations=evaluations)

    def examination(
        self, benchmark: str, run_id: str, step: int | None = None, series: str = "sampled",
    ) -> Examination:
        """Return the answers of one evaluation; without a step the run's newest one."""
        return self._get(Examination, rest_path("benchmarks", benchmark, "examinations", run_id), step=step,
                         series=series)
