"""The part of the SDK's client that keeps environment packages."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hone.client.nouns import Deleting, Listing
from hone.client.package_resources import EnvironmentPackage, PackageJob
from hone.client.requests import Requests
from hone.client.resources import Page
from hone.client.transport import rest_path

_PROOF_S = 330.0
"""Seconds that an answer may take, which waits for the proof of a domain's tasks."""


class Packages(Requests):
    """Methods of environment packages: tables, tools and tasks that runs play by a name."""

    def add_package(
        self, name: str, directory: str | Path, code: str | Path | None = None,
    ) -> EnvironmentPackage:
        """Add the package of a directory, or of a ZIP archive, under a name. Raises Refused, with the field.

        A directory with tasks.json and without package.json is a domain in tau2-bench's format; `code` is the directory
        of its Python files, where they lie elsewhere. A domain is run before it is added, which may take minutes.
        """
        data = _archive(Path(directory), None if code is None else Path(code))
        return self._send(EnvironmentPackage, "PUT", rest_path("packages", name), timeout=_PROOF_S,
                          files={"file": (f"{name}.zip", data, "application/zip")})

    def make_package(
        self, name: str, hint: str, seed: int = 0, tasks: int = 64, author: Mapping[str, Any] | None = None,
        trial: Mapping[str, Any] | None = None, within_s: int = 3600,
    ) -> PackageJob:
        """Have a package made from a hint; `package_job` says how far it is. Raises Refused, and Conflict.

        `author`: {"endpoint": NAME} or {"model": NAME} for a model that writes it, else the seeded generator does.
        `trial`: the same, for a model that tries each task with all tools and with half of them.
        """
        return self._send(PackageJob, "POST", "/v1/package-jobs", json={
            "name": name, "hint": hint, "seed": seed, "tasks": tasks, "author": author, "trial": trial,
            "within_s": within_s})

    def make_desk_tasks(
        self, name: str, hint: str, author: Mapping[str, Any] | None = None,
        validator: Mapping[str, Any] | None = None, seed: int = 0, tasks: int = 8, within_s: int = 3600,
    ) -> PackageJob:
        """Have tasks of the desk made from a hint; `made_rows` returns them. Raises Refused, and Conflict.

        `author` and `validator`: {"endpoint": NAME} or {"model": NAME}; without a validator the author is asked,
        without an author a seed draws tasks of the families that the hint's words name.
        """
        return self._send(PackageJob, "POST", "/v1/package-jobs", json={
            "environment": "desk", "name": name, "hint": hint, "seed": seed, "tasks": tasks, "author": author,
            "validator": validator, "within_s": within_s})

    def make_lives(
        self, name: str, hint: str, author: Mapping[str, Any], checker: Mapping[str, Any] | None = None,
        seed: int = 0, lives: int = 20, sizes: Mapping[str, int] | None = None, within_s: int = 3600,
    ) -> PackageJob:
        """Have a model write lives of changing users from a hint; `made_rows` returns them. Raises Refused, Conflict.

        `author` and `checker`: {"endpoint": NAME} or {"model": NAME}; without a checker the author is asked. `sizes`
        are those of the environment's parameter `life`.
        """
        return self._send(PackageJob, "POST", "/v1/package-jobs", json={
            "environment": "changing_user", "name": name, "hint": hint, "seed": seed, "tasks": lives, "author": author,
            "validator": checker, "sizes": sizes, "within_s": within_s})

    def evolve_noise(
        self, name: str, hint: str, optimiser: Mapping[str, Any], guideline: Mapping[str, Any], seed: int = 0,
        scenes: int = 1, within_s: int = 3600,
    ) -> PackageJob:
        """Have a guideline for noise rewritten until an agent deviates; `made_rows` returns it.

        `optimiser`: {"endpoint": NAME} or {"model": NAME}. `guideline` is a GuidelineSpec: {"type", "target", …}.
        Raises Refused, and Conflict.
        """
        return self._send(PackageJob, "POST", "/v1/package-jobs", json={
            "environment": "noise", "name": name, "hint": hint, "seed": seed, "tasks": scenes, "author": optimiser,
            "guideline": guideline, "within_s": within_s})

    def made_rows(self, job_id: str) -> list[dict[str, Any]]:
        """Return the tasks of the desk or the lives that a job made, as rows, or its guideline for noise.

        Raises NotFound where there are none.
        """
        found = self._transport.request("GET", rest_path("package-jobs", job_id, "rows")).json()
        return list(found)

    def cancel_package_job(self, job_id: str) -> PackageJob:
        """End a job that has not ended. Returns it."""
        return self._send(PackageJob, "POST", rest_path("package-jobs", job_id, "cancel"))

    def package_job(self, job_id: str) -> PackageJob:
        """Return a job."""
        return self._get(PackageJob, rest_path("package-jobs", job_id))

    package_jobs = Listing(Page[PackageJob], "package-jobs")
    """List jobs, the newest first."""

    packages = Listing(Page[EnvironmentPackage], "packages")
    """List names with the package that each means now."""

    def package(self, name: str, version: int | None = None) -> EnvironmentPackage:
        """Return a version of a name."""
        return self._get(EnvironmentPackage, rest_path("packages", name), version=version)

    def package_archive(self, name: str, version: int | None = None) -> bytes:
        """Return the ZIP archive of a package."""
        params = {} if version is None else {"version": version}
        return self._transport.request("GET", rest_path("packages", name, "archive"), params=params).content

    delete_package = Deleting(EnvironmentPackage, "packages")
    """Delete a name with all its versions. Refused while an open run plays one of them. Returns what it was."""


def _archive(path: Path, code: Path | None) -> bytes:
    """Return the archive of a file or a directory. Raises OSError, and WrongPackage for a directory that is neither."""
    from hone.environments.packages import archive  # here: a client that packs nothing loads none of it
    from hone.environments.packages.package import FILES, MANIFEST, WrongPackage
    from hone.environments.tau2 import archive as domains
    from hone.environments.tau2.domain import TASKS

    if path.is_file():
        return path.read_bytes()
    if code is not None or ((path / TASKS).exists() and not (path / MANIFEST).exists()):
        return domains.packed(domains.collected(path, code))
    if missing := [file for file in FILES if not (path / file).is_file()]:
        raise WrongPackage("files", str(path), f"a directory with {', '.join(FILES)}; it lacks {', '.join(missing)}")
    return archive.packed({file: (path / file).read_bytes() for file in FILES})
