"""Every page with and without data, at both widths and in both themes: complete, without errors, from one server.

A page is opened as on a phone, then shown on a wide screen.
"""

from collections.abc import Iterator
from functools import partial

import httpx

from hone.client import Client
from hone.environments.benchmarks import BENCHMARKS, BenchmarkItem
from tests.integration.console import rows
from tests.integration.console.conftest import kept_picture, sign_in
from tests.integration.console.rows import World
from tests.integration.gateway import benchmark_rows
from tests.servers.chromium import Browser
from tests.servers.postgres import TestDatabase

SCREENS = [(390, True), (1280, False)]


def pages(world: World) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the name and path of each page, and the texts that it must show."""
    run = f"/runs/{world.running.id}"
    yield "runs", "/runs", ["sort six digits, hot", "gradient norm: found nan", "96 / 150", "queued", "toy-text"]
    yield "run", run, ["Step 97", "waits for 191 of 256 samples", "Trainer-sampler gap", "seed 2", "4711",
                       "Pause", "Held-out accuracy, greedy", "Cost", "Rollouts by expected success", "20 to 40 %",
                       "217 k"]
    yield "run-failed", f"/runs/{world.failed.id}", ["Failed: gradient norm: found nan"]
    yield "compare", f"/runs/compare?run={world.running.id}&run={world.failed.id}", [
        "algorithm.preset", '"rdpo"', "0.05", "Results", "9 / 150", "Mean reward"]
    yield "metrics", f"{run}/metrics", ["Policy loss — clip_higher", "Learning rate", "Regularizers — kl",
                                        "Filter — dynamic_sampling", "Distance to the reference", "Weather: clouds"]
    yield "samples", f"{run}/samples", ["infra error", "1 2 3 5 9 8", "There are 347 albums."]
    yield "sample", f"{run}/samples/{world.group}/0", [
        "Advantage", "by grpo", "Rewards", "format", "next", "120 tokens of judge-1", "Evidence of grades",
        "1 230 characters", rows.HOSTILE, "compared 6 digits"]
    yield "sample-masked", f"{run}/samples/{world.group}/4", ["masked", "the reward process ended while it graded",
                                                                "other_error"]
    yield "sample-turns", f"{run}/samples/{world.turns}/0", ["Call 2", "tokens kept", "no such table: album",
                                                            "(earlier turns left out)", "not valid"]
    yield "regrades", f"{run}/regrades", ["Grade again", "Most groups"]
    yield "noise", f"{run}/noise", ["No noise", "eval.noise"]
    yield "memory", f"{run}/memory", ["No memory asked", "changing_user", "Greedy answers"]
    yield "matrix", f"{run}/matrix", ["Scores", "0.375", "no score yet", "Incomplete", "Greedy answers"]
    yield "curation", f"{run}/curation", ["Tasks of the newest groups", "Trajectories", "selected"]
    yield "versions", f"{run}/versions", ["kept", "removed", "Export the newest version"]
    yield "events", f"{run}/events", ["evaluated", "not ready within 600 s"]
    yield "spec", f"{run}/spec", ["max_staleness: 0", "environment: sort_digits"]
    yield "models", "/models", ["toy-text", "Qwen3ForCausalLM", "Policies"]
    yield "model", "/models/toy-text", [
        "model.safetensors", "Runs from this model", "generation_config.json, config.json", "no bos"]
    yield "datasets", "/datasets", ["sums", "4 bad", "demonstrations"]
    yield "dataset", "/datasets/sums", ["a line that is not JSON", "one JSON object per line", "Columns"]
    yield "play", "/play", ["Parameters, as JSON", "Start"]
    yield "routes", "/routes", ["hone/tasks", "success that is enough 0.7", "hone/auto", "New route"]
    yield "route", "/routes/tasks", ["cheapest with", "explored", "does not answer", "0.81",
                                        "Feedback"]
    yield "packages", "/packages", ["Make a package", "shop", "a harbour with cranes", "by writer", "waiting"]
    yield "graders", "/graders", ["infra error", "string_check", "Newest grades"]
    yield "grader-trial", f"/graders/try?run={world.running.id}&group={world.group}&index=1", [
        "Try graders", "Grader B"]
    yield "judges", "/judges", ["expert", "judge-1", "per_minute 600", "provider", "Set a secret"]
    yield "checks", "/graders/checks", ["0 of 0 pairs are judged", "step 50", "9.68 %", "27.8 k tokens"]
    yield "services", "/services", ["inference-0", "trainer trainer-0", "2 828", "postgres"]
    yield "new", "/runs/new", ["Choose a preset", "Start run"]
    yield "keys", "/admin", ["first key", "in use", "Revoke"]
    yield "quotas", "/admin/quotas", ["Groups sampled at a time", "of 4 096", "Money this month", "no limit"]
    yield "prices", "/admin/prices", ["Generated tokens", "a million", "Change prices"]
    yield "storage", "/admin/storage", ["Stored in all", "demonstrations", "Nothing was deleted", "HONE_KEEP_SAMPLES_D",
                                          "until it is deleted"]
    yield "audit", "/admin/audit", ["runs.create", "datasets.upload", world.running.id, "first key"]
    yield "tenants", "/admin/tenants", ["operator in use", "New tenant"]
    yield "usage", "/usage", ["first key", "Trained tokens", "sort six digits"]


def test_with_data(signed_in: Browser, world: World, postgres: TestDatabase) -> None:
    for name, path, expected in pages(world):
        rows.beat(postgres.owner_url)
        for place, (width, dark) in enumerate(SCREENS):
            signed_in.look(width, dark=dark)
            if place == 0:
                signed_in.open(path, expected[0])
            for text in expected[1:]:
                signed_in.wait_for(text)
            kept_picture(signed_in, f"{name}-{width}{'-dark' if dark else ''}")
            check(signed_in, path)


def check(browser: Browser, path: str) -> None:
    """Check that a page fits its screen, caused no error, and sent no request to another server."""
    assert browser.overflow() <= 0, path
    assert browser.cut_off() == [], path
    assert browser.complaints() == [], path
    assert browser.foreign_requests() == [], path


def check_both(browser: Browser, path: str) -> None:
    """Check an open page as `check` does, on a phone and on a wide screen."""
    for width, dark in SCREENS:
        browser.look(width, dark=dark)
        check(browser, path)


EMPTY = {"/runs": "No runs yet", "/models": "No models yet", "/datasets": "No datasets yet",
         "/graders": "No grades yet", "/judges": "No judges yet", "/packages": "No packages yet",
         "/audiences": "No audiences yet",
         "/graders/checks": "No checks yet",
         "/services": "Engines", "/usage": "No usage",
         "/admin/storage": "Nothing is stored", "/admin/audit": "keys.first", "/admin/tenants": "Not with this key"}


def test_with_nothing(browser: Browser, other_tenant: str) -> None:
    sign_in(browser, other_tenant)
    for path, expected in EMPTY.items():
        browser.look(390)
        browser.open(path, expected)
        for width in (390, 1280):
            browser.look(width)
            kept_picture(browser, f"empty{path.replace('/', '-')}-{width}")
            check(browser, path)


FRESH = {"": "No curves yet", "/metrics": "No metrics", "/samples": "No samples yet", "/versions": "No versions yet",
         "/events": "was created", "/spec": "max_staleness: 2"}


def test_a_run_that_has_not_begun(signed_in: Browser, world: World) -> None:
    for end, expected in FRESH.items():
        signed_in.open(f"/runs/{world.fresh.id}{end}", expected)
        kept_picture(signed_in, f"fresh{end.replace('/', '-')}-1280")
        check(signed_in, end)


ABSENT = {"/runs/run_none": "There is no run run_none", "/models/none": "There is no model none",
          "/datasets/none": "There is no dataset none", "/runs/run_none/samples/1/1": "There is no run run_none",
          "/runs/run_none/metrics": "There is no run run_none"}


def test_what_is_not_there(signed_in: Browser) -> None:
    for path, expected in ABSENT.items():
        signed_in.open(path, expected)
        kept_picture(signed_in, f"absent{path.replace('/', '-')}-1280")
        check(signed_in, path)


STRANGE = {"/nothing": "The console has no page /nothing.", "/models/..%2Fusage": "There is no model ../usage",
           "/runs/%3F": "There is no run ?", "/models/a%23b": "There is no model a#b"}


def test_strange_addresses_have_a_page_too(signed_in: Browser) -> None:
    for path, expected in STRANGE.items():
        signed_in.open(path, expected)
        assert signed_in.all("nav[aria-label=Pages]"), path
        kept_picture(signed_in, f"strange-{sorted(STRANGE).index(path)}-1280")
        assert [one for one in signed_in.complaints() if "404" not in one] == [], path


def test_an_unknown_path_is_404_and_asks_for_a_key_first(signed_in: Browser) -> None:
    place, cookies = f"{signed_in.url}/nothing", {one["name"]: one["value"] for one in signed_in.cookies()}
    looked = httpx.get(place, cookies=cookies, headers={"accept": "text/html"})
    assert (looked.status_code, "The console has no page /nothing." in looked.text) == (404, True)
    assert httpx.get(place).text == "Not found: /nothing"
    sent = httpx.get(f"{place}?a=%3F&b=2", headers={"accept": "text/html"})
    assert sent.headers["location"] == "/sign-in?to=/nothing%3Fa%3D%253F%26b%3D2"


def test_a_new_run_appears_by_itself(signed_in: Browser, hone: Client) -> None:
    signed_in.open("/runs", "sort six digits")
    hone.create_run(rows.spec("toy-text", "came later", 0))
    signed_in.wait_for("came later")


def _graded(strong: float, harm: float, place: int, item: BenchmarkItem) -> tuple[float, dict[str, float]]:
    """Return the grade of a policy that passes this share of tasks, and does harm in that share of the others."""
    if (place * 5) % 42 < 42 * strong:
        return 1.0, {"first_pass": 1.0, "tool_calls": 6.0, "fault.refused": float(place % 5 == 0)}
    bad = (place * 11) % 42 < 42 * harm
    return (0.0 if bad else 0.2 + 0.02 * (place % 6)), {
        "tool_calls": 9.0, "fault.malformed": 1.0, "fault.wrong_arguments": float(place % 2), "collateral": 2.0 * bad,
        "failure.wrong_object": float(bad), "failure.side_effect": float(bad),
        "failure.reported_but_not_done": float(item.family == "merge"), "failure.not_attempted": 1.0,
        "failure.wrong_value": float(place % 3 == 0), "failure.wrong_time": float("temporal" in item.difficulties)}


def test_a_leaderboard(signed_in: Browser, world: World, hone: Client, postgres: TestDatabase) -> None:
    desk = BENCHMARKS["desk"]
    signed_in.look(1280)
    signed_in.open("/benchmarks", "No checkpoint yet")
    check(signed_in, "/benchmarks")
    base = world.fresh.spec["model"]["base"]
    for name, strong, harm, tokens in (("base", 0.1, 0.7, 256), ("tuned", 0.69, 0.1, 256), ("grpo", 0.72, 0.1, 128)):
        run = hone.examine("desk", base, name=f"desk, {name}", max_tokens=tokens)
        benchmark_rows.answer(postgres.owner_url, desk, run, partial(_graded, strong, harm))
    path = "/benchmarks/desk?series=sampled"
    signed_in.look(390, dark=True)
    signed_in.open(path, "Failures and calls")
    for width, dark in SCREENS:
        signed_in.look(width, dark=dark)
        for text in ("Behind first", "may be none", "Not asked alike: max tokens differ", "cannot be read",
                     "reported but not done", "cross-source conflict"):
            signed_in.wait_for(text)
        kept_picture(signed_in, f"leaderboard-{width}{'-dark' if dark else ''}")
        check(signed_in, path)
    signed_in.look(1280, dark=True)
    kept_picture(signed_in, "leaderboard-1280-dark")
    signed_in.open(f"/benchmarks/desk/{run.id}", "Answers to the benchmark")
    for text in ("reschedule 900001", "side effect 1", "False claims", "open"):
        signed_in.wait_for(text)
    for width, dark in SCREENS:
        signed_in.look(width, dark=dark)
        kept_picture(signed_in, f"examination-{width}{'-dark' if dark else ''}")
        check(signed_in, "examination")
