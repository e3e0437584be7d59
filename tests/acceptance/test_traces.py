"""One trace from the REST request to the gradient step, as a collector receives it from a stack; and its metrics."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.acceptance import toy
from tests.acceptance.scene import Scene, open_scene, wait_for
from tests.servers import collector as collectors
from tests.servers.collector import Collector, Span

STEPS, TRACED, PROMPTS = 5, [1, 2, 3], 16
HELD_OUT = 2 * 32  # groups of the base's evaluation: each held-out prompt greedily and sampled
SERVER, CLIENT, CONSUMER = 2, 3, 5  # opentelemetry.proto.trace.v1.Span.SpanKind
SLOW = {"type": "slowed", "grader": {"type": "exact"}, "seconds": 1.0}  # leaves time to kill between two steps
ROUTES = ("POST /v1/runs",)  # our client sends no span of its own
SECOND = 10**9


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with collectors.running() as found:
        yield found


@pytest.fixture(scope="module")
def scene(
    alone: None, collector: Collector, shared_directory: Path, bases: Callable[..., Path],  # noqa: ARG001
) -> Iterator[Scene]:
    settings = {"otlp_endpoint": collector.url, "trace_steps": 0, "metrics_address": "127.0.0.1:0",
                "sweep_s": 0.5}
    opened = open_scene(shared_directory / "traces", settings, {})
    opened.client.upload_model("digits-base", bases())
    yield opened
    opened.stack.stop()


class Trace:
    """The spans of a run's trace."""

    def __init__(self, spans: list[Span]) -> None:
        self.spans = spans
        self._by_id = {span.span_id: span for span in spans}

    def named(self, service: str, name: str) -> list[Span]:
        return [span for span in self.spans if (span.service, span.name) == (service, name)]

    def below(self, top: str, service: str, name: str) -> list[Span]:
        """Return the spans of a name that have `top` above them."""
        return [span for span in self.named(service, name) if top in self.chain(span)]

    def chain(self, span: Span) -> list[str]:
        """Return `service name` of a span and of all spans above it, up to the root."""
        found = [f"{span.service} {span.name}"]
        while span.parent_id:
            span = self._by_id[span.parent_id]
            found.append(f"{span.service} {span.name}")
        return found

    def check(self, *chain: str) -> None:
        """Raise AssertionError unless each span with the chain's first name has exactly this chain above it."""
        service, _, name = chain[0].partition(" ")
        found = self.named(service, name)
        assert found, chain[0]
        kinds = {" < ".join(self.chain(span)) for span in found if {chain[1], chain[-2]} <= set(self.chain(span))}
        assert kinds == {" < ".join(chain)}


def trace_of(scene: Scene, run_id: str) -> str:
    return str(scene.one("SELECT traceparent FROM runs WHERE id = %s", run_id)).split("-")[1]


def arrived(scene: Scene, collector: Collector, run_id: str, complete: Callable[[Trace], object]) -> Trace:
    """Return the run's trace once it is complete: processes send their spans every second."""
    trace_id = trace_of(scene, run_id)
    found = wait_for("the run's spans", lambda: _if(complete, Trace(collector.spans(trace_id))), 120)
    assert isinstance(found, Trace)
    return found


def _if(complete: Callable[[Trace], object], trace: Trace) -> Trace | None:
    return trace if complete(trace) else None


def whole(trace: Trace) -> bool:
    """Return whether every span arrived: parents, one span a step, and both sides of each call."""
    ids = {span.span_id for span in trace.spans} | {""}
    steps = [sorted(span.attributes["step"] for span in trace.named(service, name))
             for service, name in (("driver", "step"), ("driver", "plan"), ("trainer", "train"))]
    sides = Counter((span.name, span.kind) for span in trace.spans if "/" in span.name)
    paired = all(sides[name, CLIENT] == sides[name, SERVER] for name, _ in list(sides) if name not in ROUTES)
    return (steps == [TRACED] * 3 and paired and all(span.parent_id in ids for span in trace.spans)
            and len(trace.named("rollout", "group")) == PROMPTS * len(TRACED) + HELD_OUT
            and len(trace.named("driver", "evaluation")) == 1)


@pytest.fixture(scope="module")
def run_id(scene: Scene) -> str:
    run = scene.client.create_run(toy.spec("traced", "digits-base", STEPS))
    scene.finished(run.id)
    return run.id


@pytest.fixture(scope="module")
def trace(scene: Scene, collector: Collector, run_id: str) -> Trace:
    return arrived(scene, collector, run_id, whole)


STEP = ("driver step", "gateway POST /v1/runs")
EVALUATION = ("driver evaluation", "gateway POST /v1/runs")


def test_one_trace_has_every_service(trace: Trace) -> None:
    assert {span.service for span in trace.spans} == {
        "gateway", "driver", "value", "simulation", "rollout", "inference", "reward", "trainer"}
    (root,) = [span for span in trace.spans if not span.parent_id]
    assert (root.service, root.name) == ("gateway", "POST /v1/runs")
    assert root.attributes["http.response.status_code"] == 201
    assert not [span.name for span in trace.spans if span.failed]


def test_from_the_request_to_the_gradient(trace: Trace) -> None:
    for part in ("forward_backward", "optim_step", "save", "store", "commit"):
        trace.check(f"trainer {part}", "trainer train", *STEP)


def test_from_the_request_through_the_queue(trace: Trace) -> None:
    for top in (STEP, EVALUATION):
        trace.check("rollout claim", "driver request", *top)
    assert {span.kind for span in trace.named("rollout", "claim")} == {CONSUMER}
    trace.check("driver plan", *STEP)


@pytest.mark.parametrize(("part", "service", "method"), [
    ("reset", "simulation", "SimulationService/Reset"),
    ("generate", "inference", "InferenceService/GenerateBatch"),
    ("grade", "reward", "RewardService/GradeStream"),
])
def test_from_the_request_through_a_rollout_to_the_services_it_calls(
    part: str, service: str, method: str, trace: Trace,
) -> None:
    for top, groups in ((STEP, PROMPTS * len(TRACED)), (EVALUATION, HELD_OUT)):
        assert len(trace.below(top[0], "rollout", part)) == groups
    above = [f"{service} {method}", f"rollout {method}", f"rollout {part}", "rollout group"]
    chains = [trace.chain(span) for span in trace.named(service, method)]
    assert chains
    # one call may serve groups of a step and of an evaluation: its parent is one of them, the others are its links
    assert all(chain in ([*above, *STEP], [*above, *EVALUATION]) for chain in chains)
    linked = [span_id for span in trace.named("rollout", method) for span_id in (span.parent_id, *span.links)]
    assert sorted(linked) == sorted(span.span_id for span in trace.named("rollout", part))


def test_the_driver_asks_for_tasks_and_budgets(trace: Trace) -> None:
    draw, allocate = "SimulationService/DrawTasks", "ValueService/AllocateRollouts"
    trace.check(f"simulation {draw}", f"driver {draw}", *STEP)
    trace.check(f"value {allocate}", f"driver {allocate}", *STEP)


def test_a_step_lasts_from_its_first_group_to_its_commit(trace: Trace) -> None:
    for step in trace.named("driver", "step"):
        below = [span for span in trace.spans if span.parent_id == step.span_id and span.name in ("group", "train")]
        assert len(below) == PROMPTS + 1
        assert all(step.began < span.began < span.ended < step.ended + SECOND for span in below)
        assert step.attributes["groups"] == PROMPTS


def test_other_steps_are_not_traced_and_other_requests_that_write_have_traces_of_their_own(
    trace: Trace, collector: Collector,
) -> None:
    assert {span.attributes["step"] for span in trace.spans if "step" in span.attributes} == {0, *TRACED}
    assert len(trace.below("driver step", "rollout", "group")) == PROMPTS * len(TRACED)
    (evaluation,) = trace.named("driver", "evaluation")
    assert (evaluation.attributes["step"], evaluation.attributes["groups"]) == (0, HELD_OUT)
    others = {span.name for span in collector.everything() if span.trace_id != trace.spans[0].trace_id}
    assert "POST /v1/models" in others
    assert not [name for name in others if name.startswith("GET")]


def test_a_caller_may_bring_its_own_trace(scene: Scene, collector: Collector) -> None:
    trace_id, span_id = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    record = scene.stack.record()
    headers = {"Authorization": f"Bearer {record.api_key}", "traceparent": f"00-{trace_id}-{span_id}-01"}
    assert httpx.get(f"{record.gateway_url}/v1/runs", headers=headers).status_code == 200
    (span,) = wait_for("the caller's span", lambda: collector.spans(trace_id), 120)
    assert (span.name, span.parent_id) == ("GET /v1/runs", span_id)


def test_log_lines_name_their_trace(scene: Scene, trace: Trace) -> None:
    lines = (scene.stack.state / "logs" / "gateway-0.log").read_text().splitlines()
    found = [json.loads(line) for line in lines if f'"trace_id": "{trace.spans[0].trace_id}"' in line]
    assert "POST /v1/runs 201" in [line["message"] for line in found]


@pytest.mark.parametrize(("service", "method", "of_groups"), [
    ("inference", "InferenceService/GenerateBatch", True), ("reward", "RewardService/GradeStream", True),
    ("simulation", "SimulationService/Reset", True), ("simulation", "SimulationService/DrawTasks", False),
    ("value", "ValueService/AllocateRollouts", False)])
def test_log_lines_of_called_services_name_the_run_and_its_trace(
    service: str, method: str, of_groups: bool, scene: Scene, trace: Trace, run_id: str
) -> None:
    lines = (scene.stack.state / "logs" / f"{service}-0.log").read_text().splitlines()
    found = [json.loads(line) for line in lines if f'"message": "{method} OK"' in line]
    answered = {span.span_id for span in trace.named(service, method)}
    assert {line["trace_id"] for line in found} == {trace.spans[0].trace_id}, "a good call is logged if it is traced"
    assert {line["span_id"] for line in found} == answered
    assert {line["run_id"] for line in found} == {run_id}
    steps = {step for line in found for step in [line.get("step"), *line.get("steps", [])]}
    assert steps >= set(TRACED[1:]), "the first tasks are drawn before any step"
    assert {"group_id" in line or "group_ids" in line for line in found} == {of_groups}


def test_each_process_reports_its_metrics(scene: Scene, run_id: str) -> None:
    assert run_id
    assert scraped(scene, "trainer-0")["hone_units_committed_total"] == STEPS + 1
    rollout = scraped(scene, "rollout-0")
    assert rollout["hone_groups_claimed_total"] == rollout["hone_groups_ready_total"] >= PROMPTS * STEPS
    assert rollout["hone_hints_received_total"] >= 1
    assert scraped(scene, "driver-0")["hone_hints_sent_total"] >= 1
    calls = "hone_rpc_duration_seconds_count{code=OK,method=GenerateBatch,service=InferenceService}"
    assert scraped(scene, "inference-0")[calls] >= STEPS
    created = "hone_http_duration_seconds_count{method=POST,route=/v1/runs,status=201}"
    assert scraped(scene, "gateway-0")[created] == 1


def test_gateway_and_driver_report_what_rows_hold(scene: Scene, run_id: str) -> None:
    assert run_id
    record = scene.stack.record()
    assert httpx.get(f"{record.gateway_url}/metrics").status_code == 401
    answer = httpx.get(f"{record.gateway_url}/metrics", headers={"Authorization": f"Bearer {record.api_key}"})
    for metrics in (samples(answer.text), scraped(scene, "driver-0")):
        assert metrics["hone_runs{state=succeeded}"] == 1
        assert metrics["hone_operations_queued"] == 0
        assert metrics["hone_engine_heartbeat_age_seconds{engine=inference-0}"] < 10
        assert metrics["hone_engine_refused_versions{engine=inference-0}"] == 0
        assert metrics["hone_worker_heartbeat_age_seconds{kind=trainer,worker=trainer-0}"] < 10
        assert sum(value for name, value in metrics.items() if name.startswith("hone_engine_tokens_total")) > 0


def test_a_trace_survives_the_death_of_its_processes(scene: Scene, collector: Collector, run_id: str) -> None:
    assert run_id
    run = scene.client.create_run(toy.spec("killed", "digits-base", STEPS, eval=None, grader=SLOW))
    wait_for("the first step", lambda: scene.committed(run.id) >= 1, 60)
    for name in ("driver-0", "rollout-0", "trainer-0"):
        scene.stack.kill(name)
    scene.finished(run.id)
    assert trace_of(scene, run.id) != trace_of(scene, run_id)
    last = TRACED[-1]
    assert scene.one("SELECT epoch FROM steps WHERE run_id = %s AND n = %s", run.id, last) > 1, "all was done before"
    trace = arrived(scene, collector, run.id, lambda found: _has_groups_of(found, last))
    (train,) = [span for span in trace.named("trainer", "train") if span.attributes["step"] == last]
    assert trace.chain(train) == ["trainer train", *STEP]


def _has_groups_of(trace: Trace, step: int) -> bool:
    """Return whether the spans of a step's training arrived, those of its groups, and all above them."""
    ids = {span.span_id for span in trace.spans}
    parents = {span.parent_id for span in trace.named("trainer", "train") if span.attributes["step"] == step}
    groups = {span.parent_id for span in trace.named("rollout", "group")}
    return bool(parents) and parents <= groups & ids and bool(trace.named("gateway", "POST /v1/runs"))


def scraped(scene: Scene, name: str) -> dict[str, float]:
    port = scene.stack.record().ports[f"{name} metrics"]
    return samples(httpx.get(f"http://127.0.0.1:{port}/metrics").text)


def samples(text: str) -> dict[str, float]:
    """Return the value of each sample by its name and its sorted labels."""
    found = (sample for family in text_string_to_metric_families(text) for sample in family.samples)
    return {one.name + _shown(one.labels): one.value for one in found}


def _shown(labels: dict[str, str]) -> str:
    return f"{{{','.join(f'{key}={value}' for key, value in sorted(labels.items()))}}}" if labels else ""
