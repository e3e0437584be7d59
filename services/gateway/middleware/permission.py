"""What each route needs, in one table, and the check of a request's key against it before its body is read."""

from collections.abc import Mapping
from typing import Literal

from starlette.routing import compile_path
from starlette.types import ASGIApp, Receive, Scope, Send

from hone import scopes
from services.gateway.middleware.errors import Forbidden
from services.gateway.middleware.tenancy import TenantSession

Need = scopes.Scope | Literal["operator"]
"""A scope; or operator, the scope admin in a tenant that is an operator."""

OPEN_PATHS = frozenset({"/", "/docs", "/openapi.json", "/favicon.ico", "/healthz"})
"""Paths that need no API key."""

NEEDS: Mapping[str, Need] = {
    "GET /v1/runs": "read",
    "POST /v1/runs": "run",
    "GET /v1/runs/counts": "read",
    "GET /v1/runs/{run_id}": "read",
    "PATCH /v1/runs/{run_id}": "run",
    "PUT /v1/runs/{run_id}/budget": "admin",
    "POST /v1/runs/{run_id}/pause": "run",
    "POST /v1/runs/{run_id}/resume": "run",
    "POST /v1/runs/{run_id}/cancel": "run",
    "GET /v1/runs/{run_id}/events": "read",
    "GET /v1/runs/{run_id}/metrics": "read",
    "GET /v1/runs/{run_id}/matrix": "read",
    "GET /v1/runs/{run_id}/noise": "read",
    "GET /v1/runs/{run_id}/memory": "read",
    "GET /v1/runs/{run_id}/talks": "read",
    "GET /v1/runs/{run_id}/checkpoints": "read",
    "GET /v1/runs/{run_id}/curation": "read",
    "POST /v1/runs/{run_id}/curation": "run",
    "GET /v1/runs/{run_id}/collections": "read",
    "GET /v1/runs/{run_id}/collections/{name}": "read",
    "GET /v1/runs/{run_id}/outcomes": "read",
    "GET /v1/runs/{run_id}/trajectories": "read",
    "GET /v1/runs/{run_id}/trajectories/{group_id}/{index}": "read",
    "GET /v1/runs/{run_id}/trajectories/{group_id}/{index}/tokens": "read",
    "POST /v1/runs/{run_id}/grades": "run",
    "GET /v1/runs/{run_id}/exports": "read",
    "POST /v1/runs/{run_id}/exports": "run",
    "GET /v1/exports/{export_id}": "read",
    "GET /v1/exports/{export_id}/files/{name}": "read",
    "GET /v1/exports/{export_id}/archive": "read",
    "GET /v1/models": "read",
    "POST /v1/models": "run",
    "GET /v1/models/{name:path}": "read",
    "POST /v1/chat/completions": "run",
    "POST /v1/completions": "run",
    "POST /v1/embeddings": "run",
    "POST /v1/pooling": "run",
    "GET /v1/routes": "read",
    "GET /v1/routes/{name}": "read",
    "PUT /v1/routes/{name}": "run",
    "DELETE /v1/routes/{name}": "run",
    "GET /v1/routes/{name}/decisions": "read",
    "GET /v1/routes/{name}/evaluation": "read",
    "POST /v1/feedback": "run",
    "GET /v1/benchmarks": "read",
    "GET /v1/benchmarks/{name}": "read",
    "GET /v1/benchmarks/{name}/leaderboard": "read",
    "POST /v1/benchmarks/{name}/examinations": "run",
    "GET /v1/benchmarks/{name}/examinations/{run_id}": "read",
    "GET /v1/package-jobs": "read",
    "POST /v1/package-jobs": "run",
    "GET /v1/package-jobs/{job_id}": "read",
    "POST /v1/package-jobs/{job_id}/cancel": "run",
    "GET /v1/package-jobs/{job_id}/rows": "read",
    "GET /v1/packages": "read",
    "GET /v1/packages/{name}": "read",
    "PUT /v1/packages/{name}": "run",
    "DELETE /v1/packages/{name}": "run",
    "GET /v1/packages/{name}/archive": "read",
    "GET /v1/knowledge": "read",
    "PUT /v1/knowledge/{name}": "run",
    "GET /v1/knowledge/{name}": "read",
    "DELETE /v1/knowledge/{name}": "run",
    "GET /v1/knowledge/{name}/items": "read",
    "POST /v1/sessions": "run",
    "GET /v1/sessions/{session_id}": "run",
    "DELETE /v1/sessions/{session_id}": "run",
    "POST /v1/sessions/{session_id}/steps": "run",
    "GET /v1/audiences/fits": "read",
    "POST /v1/audiences/fits": "run",
    "GET /v1/audiences/fits/{fit_id}": "read",
    "DELETE /v1/audiences/fits/{fit_id}": "run",
    "GET /v1/audiences/fits/{fit_id}/policies": "read",
    "GET /v1/audiences/fits/{fit_id}/merchants": "read",
    "POST /v1/audiences/fits/{fit_id}/simulate": "run",
    "POST /v1/audiences/fits/{fit_id}/evaluate": "run",
    "POST /v1/audiences/fits/{fit_id}/calibrate": "run",
    "GET /v1/graders/checks": "read",
    "POST /v1/graders/checks": "run",
    "GET /v1/graders/checks/{check_id}": "read",
    "GET /v1/graders/stored": "read",
    "GET /v1/graders/stored/{name}": "read",
    "PUT /v1/graders/stored/{name}": "run",
    "DELETE /v1/graders/stored/{name}": "run",
    "POST /v1/graders/stored/{name}/verify": "run",
    "POST /v1/graders/stored/{name}/seed_session": "run",
    "GET /v1/graders/stored/{name}/reverify_mode": "read",
    "GET /v1/judges": "read",
    "GET /v1/judges/{name}": "read",
    "PUT /v1/judges/{name}": "admin",
    "DELETE /v1/judges/{name}": "admin",
    "GET /v1/runs/{run_id}/judges": "read",
    "GET /v1/secrets": "admin",
    "PUT /v1/secrets/{name}": "admin",
    "DELETE /v1/secrets/{name}": "admin",
    "POST /v1/fine_tuning/alpha/graders/validate": "run",
    "POST /v1/fine_tuning/alpha/graders/run": "run",
    "GET /v1/datasets": "read",
    "POST /v1/datasets": "run",
    "GET /v1/datasets/{name:path}": "read",
    "GET /v1/uploads": "read",
    "POST /v1/uploads": "run",
    "GET /v1/uploads/{upload_id}": "read",
    "DELETE /v1/uploads/{upload_id}": "run",
    "PUT /v1/uploads/{upload_id}/files/{name}/parts/{number}": "run",
    "POST /v1/uploads/{upload_id}/complete": "run",
    "DELETE /v1/runs/{run_id}": "run",
    "DELETE /v1/runs/{run_id}/samples": "run",
    "DELETE /v1/runs/{run_id}/checkpoints/{version_id}": "run",
    "DELETE /v1/exports/{export_id}": "run",
    "DELETE /v1/models/{name:path}": "run",
    "DELETE /v1/datasets/{name:path}": "run",
    "GET /v1/deletions": "read",
    "GET /v1/deletions/{subject_id}": "read",
    "GET /v1/environments": "read",
    "GET /v1/algorithms": "read",
    "GET /v1/algorithms/{name}": "read",
    "GET /v1/algorithms/{name}/spec": "read",
    "GET /v1/graders": "read",
    "GET /v1/graders/activity": "read",
    "GET /v1/usage": "read",
    "GET /v1/storage": "read",
    "GET /v1/retention": "read",
    "GET /v1/health": "read",
    "GET /v1/engines": "read",
    "GET /metrics": "read",
    "GET /v1/account": "read",
    "GET /v1/keys": "admin",
    "POST /v1/keys": "admin",
    "DELETE /v1/keys/{key}": "admin",
    "GET /v1/audit": "admin",
    "GET /v1/tenants": "operator",
    "POST /v1/tenants": "operator",
    "GET /v1/tenants/{tenant}": "operator",
    "PATCH /v1/tenants/{tenant}": "operator",
    "DELETE /v1/tenants/{tenant}": "operator",
    "POST /v1/tenants/{tenant}/keys": "operator",
    "GET /v1/tenants/{tenant}/quotas": "operator",
    "GET /v1/quotas": "read",
    "GET /v1/prices": "read",
    "PATCH /v1/prices": "operator",
}
"""What each route needs, by method and declared path. A route that is missing here needs admin; a test names it."""


class Permission:
    """Refuses a request whose key lacks what its route needs."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        session = scope["state"].get("session") if scope["type"] == "http" else None
        if isinstance(session, TenantSession):
            check(session, need(scope["method"], scope["path"]))
        await self._app(scope, receive, send)


def need(method: str, path: str) -> Need:
    """Return what a request needs. HEAD is a GET without its body."""
    method = "GET" if method == "HEAD" else method
    return next((needed for verb, pattern, needed in _PATTERNS if verb == method and pattern.match(path)), "admin")


def methods(path: str) -> list[str]:
    """Return the methods that a path has, in the order of the alphabet; none if no route has the path."""
    known = {verb for verb, pattern, _ in _PATTERNS if pattern.match(path)} | ({"GET"} if path in OPEN_PATHS else set())
    return sorted(known | ({"HEAD"} if "GET" in known else set()))


def check(session: TenantSession, needed: Need, because: str = "") -> None:
    """Raise Forbidden if the key of this session lacks what is needed. `because` is a sentence before the refusal."""
    scope: scopes.Scope = "admin" if needed == "operator" else needed
    if not scopes.includes(session.scopes, scope):
        raise Forbidden(
            f"{because}This needs a key with the scope {scope}; the key {session.key_name} has "
            f"{', '.join(session.scopes)}.",
            extra={"scope": scope})
    if needed == "operator" and not session.operator:
        raise Forbidden("This needs an admin key of the operator: of the tenant that administers all others.",
                        extra={"scope": "operator"})


_PATTERNS = [(verb, compile_path(path)[0], needed) for route, needed in NEEDS.items()
             for verb, path in [route.split(" ")]]
