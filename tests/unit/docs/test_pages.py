"""The documentation: its links lead somewhere, its rendered pages are fresh, and the README stays short."""

import re
from pathlib import Path

import pytest
import yaml

from checks import settings_page, spec_page
from hone.resolution import resolve
from hone.spec.run import RunSpec

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = ("docs", "docs/changes", "docs/measured", "docs/parameters", "examples", "k8s")
PAGES = [ROOT / "README.md", *(page for folder in FOLDERS for page in sorted((ROOT / folder).glob("*.md")))]
LINK = re.compile(r"(?:\]\(|src=\")([^)\s\"]+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    for link in LINK.findall(page.read_text()):
        path, _, anchor = link.partition("#")
        if "://" in link:
            continue
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{link}: no such file"
        assert not anchor or anchor in anchors(target), f"{link}: no such heading"


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives a page's headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", one).lower()) for one in headings)
    return {one.replace(" ", "-") for one in plain}


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text()
    missing = [page.name for page in (ROOT / "docs").glob("*.md") if f"({page.name})" not in index]
    assert missing == ["README.md"]


def test_the_readme_has_at_most_six_kilobytes() -> None:
    assert len((ROOT / "README.md").read_bytes()) <= 6 * 1024


def test_the_pages_of_spec_fields_are_fresh() -> None:
    for page, text in spec_page.pages().items():
        assert page.read_text() == text, "run python -m checks.spec_page --write"


@pytest.mark.parametrize("path", spec_page.examples())
def test_the_example_of_an_object_is_a_part_of_a_spec(path: str) -> None:
    given = yaml.safe_load(spec_page.examples()[path])
    minimal = {"name": "x", "model": {"base": "toy"}, "task": {"environment": "sort_digits"}, "steps": 1}
    spec = RunSpec.model_validate({**minimal, **given, "model": {"base": "toy", **given.get("model", {})}})
    assert all(part in spec.model_fields_set for part in given)


def test_the_page_of_measurements_counts_the_directions_of_its_pages() -> None:
    folder = ROOT / "docs" / "measured"
    readme, experiments, services = (
        (folder / f"{name}.md").read_text() for name in ("README", "experiments", "through-the-services"))
    held, missed = (len(re.findall(rf"^- {word}: ", experiments, re.MULTILINE)) for word in ("held", r"\*\*missed\*\*"))
    rows = re.findall(r"^\| \[\w+\]\(#\w+\) \|.*\| ([^|]+) \|$", services, re.MULTILINE)
    same, held_too = rows.count("no difference beyond that of seeds"), rows.count("held")
    assert f"{held + held_too} of {held + missed + len(rows)} held" in readme
    assert f"| {held + missed} | {held} | – | {missed} |" in readme
    assert f"| {len(rows)} | {held_too} | {same} | {len(rows) - held_too - same} |" in readme


def test_the_page_of_settings_is_fresh() -> None:
    assert settings_page.PAGE.read_text() == settings_page.page(), "run python -m checks.settings_page --write"
    assert settings_page.SCHEMA.read_text() == settings_page.schema(), "run python -m checks.settings_page --write"


@pytest.mark.parametrize("file", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda file: file.stem)
def test_an_example_is_valid(file: Path) -> None:
    resolve(yaml.safe_load(file.read_text()))


def test_the_readme_shows_the_first_example_as_it_is() -> None:
    readme = (ROOT / "README.md").read_text()
    [shown] = re.findall(r"```yaml\n(name: own-dataset.+?)```", readme, re.DOTALL)
    assert yaml.safe_load(shown) == yaml.safe_load((ROOT / "examples" / "own-dataset.yaml").read_text())
