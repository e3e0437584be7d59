"""Every page with and without data, at both widths and in both themes: complete, without errors, from one server.

A page is opened as on a phone, then shown on a wide screen.
"""

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
from tests.support.console.screens import SCREENS, check, pages


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
