"""The part of the SDK's client that keeps environment packages."""

from pathlib import Path

from hone.client.package_resources import EnvironmentPackage, PackageJob
from hone.client.requests import Requests
from hone.client.resources import Page
from hone.client.transport import rest_path
from hone.environments.packages import archive
from hone.environments.packages.package import FILES


class Packages(Requests):
    """Methods of environment packages: tables, tools and tasks that runs play by a name."""

    def add_package(self, name: str, directory: str | Path) -> EnvironmentPackage:
        """Add the package of a directory, or of a ZIP archive, under a name. Raises Refused, with the field."""
        path = Path(directory)
        data = path.read_bytes() if path.is_file() else archive.packed(
            {file: (path / file).read_bytes() for file in FILES})
        return self._send(EnvironmentPackage, "PUT", rest_path("packages", name),
                          files={"file": (f"{name}.zip", data, "application/zip")})

    def make_package(self, name: str, hint: str, seed: int = 0, tasks: int = 64) -> PackageJob:
        """Have a package made from a hint; `package_job` says how far it is. Raises Refused, and Conflict."""
        return self._send(PackageJob, "POST", "/v1/package-jobs", json={
            "name": name, "hint": hint, "seed": seed, "tasks": tasks})

    def package_job(self, job_id: str) -> PackageJob:
        """Return a job."""
        return self._get(PackageJob, rest_path("package-jobs", job_id))

    def package_jobs(self, limit: int = 50, after: str | None = None) -> Page[PackageJob]:
        """List jobs, the newest first."""
        return self._get(Page[PackageJob], "/v1/package-jobs", limit=limit, after=after)

    def packages(self, limit: int = 50, after: str | None = None) -> Page[EnvironmentPackage]:
        """List names with the package that each means now."""
        return self._get(Page[EnvironmentPackage], "/v1/packages", limit=limit, after=after)

    def package(self, name: str, version: int | None = None) -> EnvironmentPackage:
        """Return what a name means, or meant: one of its versions."""
        return self._get(EnvironmentPackage, rest_path("packages", name), version=version)

    def package_archive(self, name: str, version: int | None = None) -> bytes:
        """Return the ZIP archive of a package."""
        params = {} if version is None else {"version": version}
        return self._transport.request("GET", rest_path("packages", name, "archive"), params=params).content

    def delete_package(self, name: str) -> EnvironmentPackage:
        """Delete a name with all its versions. Refused while an open run plays one of them. Returns what it was."""
        return self._send(EnvironmentPackage, "DELETE", rest_path("packages", name))
