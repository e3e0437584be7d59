"""The SDK: every operation of the REST surface as a typed method.

    with Client("http://127.0.0.1:8470", key) as hone:
        run = hone.create_run({"name": "sort", "model": {"base": "my-base"}, …})
        for event in hone.follow(run.id):
            print(event.message)
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import httpx

from hone.client import uploads
from hone.client.administration import Administration
from hone.client.artifact_resources import Dataset, Model
from hone.client.asking import Asking
from hone.client.audiences import Audiences
from hone.client.benchmarks import Benchmarks
from hone.client.collection_resources import Collection, CollectionItem, PromptOutcomes
from hone.client.deletion_resources import Deletion
from hone.client.findings import Findings
from hone.client.grade_resources import Regrades
from hone.client.judges import Judges
from hone.client.knowledge import KnowledgeStore
from hone.client.nouns import Catalog, Deleting, Listing, Reading
from hone.client.packages import Packages
from hone.client.plays import Plays
from hone.client.preflight import PreflightReport
from hone.client.resources import (
    Algorithm,
    Checkpoint,
    Desired,
    DryRun,
    Engine,
    Environment,
    Event,
    Export,
    Health,
    Metrics,
    Page,
    Point,
    Run,
    RunCounts,
    RunState,
    RunSummary,
    StartingSpec,
    Trajectory,
    TrajectoryRow,
    TrajectoryTokens,
    Usage,
)
from hone.client.routing import Routing
from hone.client.storage_resources import Retained, Storage
from hone.client.transport import ATTEMPTS, HttpTransport, follow, rest_path
from hone.client.upload_resources import Upload
from hone.client.uploads import PartSender, Progress

Item = TypeVar("Item")

_PREFLIGHT_SPARE_S = 60.0
"""Seconds that a preflight may take besides the time for its samples."""


class Client(Administration, Asking, Audiences, Benchmarks, Findings, Judges, KnowledgeStore, Packages, Plays,
             Routing):
    """A client of one gateway with one API key. Every method raises hone.client.errors.HoneError.

    Failed requests are repeated, at most `attempts` times in all. Creating is safe to repeat too, because each call
    sends a new idempotency key. Pass `idempotency_key` to repeat a call across restarts of your own program.
    """

    def __init__(
        self, base_url: str, key: str, timeout_s: float = 60.0, transport: httpx.BaseTransport | None = None,
        attempts: int = ATTEMPTS,
    ) -> None:
        self._transport = HttpTransport(base_url, key, timeout_s, transport, attempts=attempts)

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def register_model(self, name: str, directory: Path | str, idempotency_key: str | None = None) -> Model:
        """Register a model directory that has the same path on the gateway's machine."""
        body = {"name": name, "directory": str(Path(directory).resolve())}
        return self._post(Model, "/v1/models", idempotency_key, json=body)

    def upload_model(
        self, name: str, directory: Path | str, idempotency_key: str | None = None, progress: Progress | None = None,
    ) -> Model:
        """Upload the files of a model directory, large ones in parts.

        The same call after an interruption sends the parts that are missing; parts need no idempotency key. Raises
        Conflict if the name belongs to other content, Refused for files that are no model, TooLarge, Full.
        """
        paths = sorted(path for path in Path(directory).iterdir() if path.is_file())
        if sum(map(uploads.size, paths)) > uploads.LARGE:
            sent = PartSender(self._transport, progress).send("model", name, {path.name: path for path in paths})
            return self.model(sent)
        files = [("files", (path.name, path.read_bytes())) for path in paths]
        return self._post(Model, "/v1/models", idempotency_key, data={"name": name}, files=files)

    def models(self, limit: int = 50, after: str | None = None) -> Page[Model]:
        """List registered models, newest first."""
        return self._get(Page[Model], "/v1/models", limit=limit, after=after, registered="true")

    model = Reading(Model, "models")
    """Return the model of a name of docs/asking.md: a registered model, or a version of a run."""

    def upload_dataset(
        self, name: str, rows: Path | str | bytes, allow_bad_rows: bool = False, idempotency_key: str | None = None,
        progress: Progress | None = None,
    ) -> Dataset:
        """Upload JSONL from a file or as bytes, a large one in parts, as upload_model does.

        Raises Refused with a problem for each bad row.
        """
        content = rows if isinstance(rows, bytes) else Path(rows)
        if uploads.size(content) > uploads.LARGE:
            sender = PartSender(self._transport, progress)
            return self.dataset(sender.send("dataset", name, {"rows.jsonl": content}, allow_bad_rows))
        data = content if isinstance(content, bytes) else content.read_bytes()
        fields = {"name": name, "allow_bad_rows": str(allow_bad_rows).lower()}
        files = {"file": ("rows.jsonl", data)}
        return self._post(Dataset, "/v1/datasets", idempotency_key, data=fields, files=files)

    def uploads(self, limit: int = 50, after: str | None = None, state: str | None = None) -> Page[Upload]:
        """List uploads in parts, newest first: those that are open, and those that ended lately."""
        return self._get(Page[Upload], "/v1/uploads", limit=limit, after=after, state=state)

    def abort_upload(self, upload_id: str) -> Upload:
        """End an upload and delete what was sent. Raises Conflict if it has become a model or dataset."""
        return self._send(Upload, "DELETE", rest_path("uploads", upload_id))

    datasets = Listing(Page[Dataset], "datasets")
    """List datasets, newest first."""

    dataset = Reading(Dataset, "datasets")
    """Return a dataset by name or id."""

    def create_run(self, spec: Mapping[str, Any], idempotency_key: str | None = None) -> Run:
        """Create a run. Raises Refused with every problem of the spec."""
        return self._post(Run, "/v1/runs", idempotency_key, json=dict(spec))

    def resolve(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        """Return the resolved spec, and create nothing. Raises Refused with every problem of the spec."""
        return self.dry_run(spec).spec

    def dry_run(self, spec: Mapping[str, Any]) -> DryRun:
        """Return the resolved spec with notes on its datasets, and create nothing. Raises Refused as `resolve` does."""
        return self._post(DryRun, "/v1/runs", None, json=dict(spec), params={"dry_run": "true"})

    def preflight(self, spec: Mapping[str, Any], samples: int = 8, deadline_s: float = 120.0) -> PreflightReport:
        """Have the base answer the first tasks of a spec, and return a report about the run that it describes.

        No run is created. `deadline_s` bounds the time for the `samples` samples, two of each task. Raises Refused for
        a spec that cannot be read; everything else that is wrong with it is a finding.
        """
        query = {"dry_run": "deep", "samples": samples, "deadline_s": deadline_s}
        return self._send(PreflightReport, "POST", "/v1/runs", json=dict(spec), params=query,
                          timeout=deadline_s + _PREFLIGHT_SPARE_S)

    def runs(
        self, limit: int = 50, after: str | None = None, state: RunState | None = None, like: str | None = None,
        search: str | None = None, base: Iterable[str] = (),
    ) -> Page[RunSummary]:
        """List runs, newest first.

        `like` is the id of a run: only runs whose specs differ from its spec in seed and name alone. `search` is a part
        of a name, an id or a base; upper and lower case are the same. `base`: only runs whose spec names one of these.
        """
        return self._get(Page[RunSummary], "/v1/runs", limit=limit, after=after, state=state, like=like, search=search,
                         base=list(base) or None)

    def run_counts(self) -> RunCounts:
        """Return the number of runs in each state."""
        return self._get(RunCounts, "/v1/runs/counts")

    def run(self, run_id: str) -> Run:
        """Return a run with its state, what it waits for, its committed steps and latest metrics."""
        return self._get(Run, rest_path("runs", run_id))

    def want(self, run_id: str, desired: Desired) -> Run:
        """Set the desired state of a run: run, pause or cancel. Raises Conflict when the run has ended."""
        return self._send(Run, "PATCH", rest_path("runs", run_id), json={"desired": desired})

    def pause(self, run_id: str) -> Run:
        """Pause a run after its present step."""
        return self.want(run_id, "pause")

    def resume(self, run_id: str) -> Run:
        """Resume a paused run."""
        return self.want(run_id, "run")

    def cancel(self, run_id: str) -> Run:
        """Cancel a run for good. Its checkpoints stay."""
        return self.want(run_id, "cancel")

    def events(self, run_id: str, after: int = 0, limit: int = 100, newest: bool = False) -> Page[Event]:
        """Return events with ids greater than `after`, oldest first; with `newest` the last of them."""
        return self._get(Page[Event], rest_path("runs", run_id, "events"), after=after, limit=limit,
                         newest=str(newest).lower())

    def follow(self, run_id: str, after: int = 0) -> Iterator[Event]:
        """Yield events as they happen until the run has ended. A broken connection is made again."""
        return follow(self._transport, rest_path("runs", run_id, "events"), after)

    def metrics(self, run_id: str, names: Iterable[str] = (), after_step: int = -1) -> Metrics:
        """Return whole series of metrics by step; all of them when `names` is empty."""
        wanted, found = list(names) or None, dict[str, list[Point]]()
        left: int | None = after_step
        while left is not None:
            page = self._get(Metrics, rest_path("runs", run_id, "metrics"), names=wanted, after_step=left)
            for name, points in page.series.items():
                found.setdefault(name, []).extend(points)
            left = page.next
        return Metrics(series=dict(sorted(found.items())))

    def collections(self, run_id: str) -> list[Collection]:
        """List what a run gathered while it trained, by name."""
        return self._get(Page[Collection], rest_path("runs", run_id, "collections")).data

    def collection_items(
        self, run_id: str, name: str, limit: int = 100, after: str | None = None
    ) -> Page[CollectionItem]:
        """List the items of a run's collection, oldest first."""
        return self._get(Page[CollectionItem], rest_path("runs", run_id, "collections", name), limit=limit, after=after)

    def outcomes(
        self, run_id: str, limit: int = 100, after: str | None = None, purpose: str | None = None,
        step: int | None = None, prompt: str | None = None, version: str | None = None, similar_to: str | None = None,
    ) -> PromptOutcomes:
        """List what a run's policy achieved, group by group; `prompt` is the content hash of a task.

        With `similar_to` the prompts nearest to this text come first, each with its newest group, on one page.
        """
        return self._get(PromptOutcomes, rest_path("runs", run_id, "outcomes"), limit=limit, after=after,
                         purpose=purpose, step=step, prompt=prompt, version=version, similar_to=similar_to)

    def checkpoints(self, run_id: str, limit: int = 50, after: str | None = None) -> Page[Checkpoint]:
        """List the versions of a run's policy, newest first."""
        return self._get(Page[Checkpoint], rest_path("runs", run_id, "checkpoints"), limit=limit, after=after)

    def trajectories(
        self, run_id: str, limit: int = 50, after: str | None = None, purpose: str | None = None,
        step: int | None = None, status: str | None = None, min_score: float | None = None,
        max_score: float | None = None, text: str | None = None, source: str | None = None,
    ) -> Page[TrajectoryRow]:
        """List a run's samples that fit every given filter."""
        return self._get(
            Page[TrajectoryRow], rest_path("runs", run_id, "trajectories"), limit=limit, after=after, purpose=purpose,
            step=step, status=status, min_score=min_score, max_score=max_score, text=text,
            source=source)

    def trajectory(self, run_id: str, group_id: int, index: int) -> Trajectory:
        """Return one whole sample."""
        return self._get(Trajectory, rest_path("runs", run_id, "trajectories", group_id, index))

    def grade_again(
        self, run_id: str, grader: Mapping[str, Any], purpose: str | None = None, limit: int = 20, after: int = 0,
    ) -> Regrades:
        """Grade stored samples of a run by another grader, at most `limit` groups; the first grades stay."""
        wanted = {"grader": dict(grader), "purpose": purpose, "limit": limit, "after": after}
        return self._post(Regrades, rest_path("runs", run_id, "grades"), None, json=wanted)

    def trajectory_tokens(self, run_id: str, group_id: int, index: int) -> TrajectoryTokens:
        """Return the text and the advantage of each token of a sample."""
        return self._get(TrajectoryTokens, rest_path("runs", run_id, "trajectories", group_id, index, "tokens"))

    def create_export(
        self, run_id: str, version_id: str | None = None, idempotency_key: str | None = None,
    ) -> Export:
        """Export a version as files, the newest one by default."""
        body = {"version_id": version_id}
        return self._post(Export, rest_path("runs", run_id, "exports"), idempotency_key, json=body)

    def exports(self, run_id: str, limit: int = 50, after: str | None = None) -> Page[Export]:
        """List a run's exports, newest first."""
        return self._get(Page[Export], rest_path("runs", run_id, "exports"), limit=limit, after=after)

    def export(self, export_id: str) -> Export:
        """Return an export: queued, done or failed."""
        return self._get(Export, rest_path("exports", export_id))

    def export_file(self, export_id: str, name: str) -> bytes:
        """Download one file of an export. Raises Conflict while the export is not done."""
        return self._transport.request("GET", rest_path("exports", export_id, "files", name)).content

    def export_pieces(self, export_id: str, name: str | None = None) -> Iterator[bytes]:
        """Yield one file of an export in pieces, or without a name all files as a tar archive.

        A broken download is not repeated. Raises Conflict while the export is not done.
        """
        inside = ("archive",) if name is None else ("files", name)
        with self._transport.pieces(rest_path("exports", export_id, *inside)) as pieces:
            yield from pieces

    def export_archive(self, export_id: str) -> bytes:
        """Download all files of an export as a tar archive."""
        return self._transport.request("GET", rest_path("exports", export_id, "archive")).content

    def delete_run(self, run_id: str, force: bool = False) -> Deletion:
        """Delete a run with its samples, metrics, events, checkpoints and exports. `force` cancels it first.

        Raises Conflict if the run has not ended, or if an open run starts from one of its versions.
        """
        return self._send(Deletion, "DELETE", rest_path("runs", run_id), params={"force": str(force).lower()})

    def delete_samples(self, run_id: str) -> Deletion:
        """Delete the samples and grades of a run that has ended; the run stays. Raises Conflict if it is open."""
        return self._send(Deletion, "DELETE", rest_path("runs", run_id, "samples"))

    def delete_checkpoint(self, run_id: str, version_id: str) -> Deletion:
        """Delete the weights of a version. Raises Conflict while something needs them."""
        return self._send(Deletion, "DELETE", rest_path("runs", run_id, "checkpoints", version_id))

    def delete_export(self, export_id: str) -> Deletion:
        """Delete an export and its files."""
        return self._send(Deletion, "DELETE", rest_path("exports", export_id))

    delete_model = Deleting(Deletion, "models")
    """Delete a registered model by name or id. Raises Conflict if an open run uses it."""

    delete_dataset = Deleting(Deletion, "datasets")
    """Delete a dataset by name or id. Raises Conflict if an open run uses it."""

    deletions = Listing(Page[Deletion], "deletions")
    """List deletions, newest first."""

    def deletion(self, subject_id: str) -> Deletion:
        """Return the deletion of what had this id or name."""
        return self._get(Deletion, rest_path("deletions", subject_id))

    def usage(
        self, by: str = "run", since: datetime | None = None, until: datetime | None = None, run_id: str | None = None,
        limit: int = 50, after: str | None = None,
    ) -> Page[Usage]:
        """Sum tokens, seconds and grades by "run" or by "key", the newest run or key first."""
        moments = {"since": since and since.isoformat(), "until": until and until.isoformat()}
        return self._get(Page[Usage], "/v1/usage", by=by, run_id=run_id, limit=limit, after=after, **moments)

    def storage(self, limit: int = 50) -> Storage:
        """Return the storage of this tenant: the sum, and the largest items."""
        return self._get(Storage, "/v1/storage", limit=limit)

    retention = Catalog(Page[Retained], "retention")
    """Return the stored data by kind, how long it is kept, and the objects that are deleted next."""

    def health(self) -> Health:
        """Return the health of every service, as the gateway sees it."""
        return self._get(Health, "/v1/health")

    environments = Catalog(Page[Environment], "environments")
    """List environments with the JSON Schema of their parameters."""

    engines = Catalog(Page[Engine], "engines")
    """List inference engines with the models of this tenant that they hold."""

    algorithms = Catalog(Page[Algorithm], "algorithms")
    """List the presets with the method in each slot."""

    def starting_spec(self, preset: str, base: str = "", dataset: str = "", environment: str = "") -> StartingSpec:
        """Return a complete spec of a preset to begin with. Raises Refused for a preset that no run can have yet."""
        given = {"base": base, "dataset": dataset, "environment": environment}
        return self._get(StartingSpec, rest_path("algorithms", preset, "spec"), **given)


def every(pages: Callable[..., Page[Item]], **filters: Any) -> Iterator[Item]:
    """Yield every item of a method that lists pages: `every(client.runs, state="running")`."""
    page = pages(**filters)
    yield from page.data
    while page.next is not None:
        page = pages(**filters, after=page.next)
        yield from page.data
