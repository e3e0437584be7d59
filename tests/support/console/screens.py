"""Pages of the console as a browser shows them, and what is checked on each."""

from collections.abc import Iterator

from tests.integration.console import rows
from tests.integration.console.rows import World
from tests.servers.chromium import Browser

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
