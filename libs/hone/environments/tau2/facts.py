"""Facts about a domain in lists."""

from collections.abc import Sequence
from typing import Any

from hone.environments.tau2.domain import ServiceDomain


def facts(domain: ServiceDomain) -> dict[str, Any]:
    """Return a domain's facts as JSON, as those of a package."""
    found = domain.found
    lines = [line.strip("# ") for line in found.policy.splitlines() if line.strip("# ")]
    return {"format": "tau2", "domain": domain.name, "summary": lines[0][:500] if lines else domain.name,
            "made_by": "", "tables": list(found.tables),
            "tools": [tool["function"]["name"] for tool in [*found.tools, *(found.user_tools or [])]],
            "tasks": len(domain.tasks), "difficulties": {},
            "splits": {name: len(ids) for name, ids in domain.splits.items()},
            "unproven": {name: _said(proof.problems) for name, proof in found.proofs.items() if proof.problems},
            "remarks": {name: _said(proof.remarks) for name, proof in found.proofs.items() if proof.remarks}}


def _said(reasons: Sequence[str]) -> str:
    more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
    return f"{reasons[0][:300]}{more}"
