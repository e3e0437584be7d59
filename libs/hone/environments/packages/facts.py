"""Facts about a package in lists."""

from collections import Counter
from typing import Any

from hone.environments.packages.package import Package


def facts(found: Package) -> dict[str, Any]:
    """Return a package's facts as JSON."""
    manifest = found.manifest
    difficulties = Counter(task.difficulty for task in found.tasks)
    return {"domain": manifest.domain, "summary": manifest.summary, "made_by": manifest.made_by,
            "tables": [table.name for table in manifest.tables], "tools": [tool.name for tool in manifest.tools],
            "tasks": len(found.tasks), "difficulties": {str(one): difficulties[one] for one in sorted(difficulties)}}
