"""As much of the Kubernetes API as helm asks when a chart looks for Secrets that exist."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

_KINDS = {"v1": ["Secret", "Service"], "apps/v1": ["Deployment", "StatefulSet"], "batch/v1": ["Job"],
          "policy/v1": ["PodDisruptionBudget"]}


def _discovery() -> dict[str, Any]:
    groups = [{"name": group, "versions": [{"groupVersion": f"{group}/v1", "version": "v1"}],
               "preferredVersion": {"groupVersion": f"{group}/v1", "version": "v1"}}
              for group in (version.partition("/")[0] for version in _KINDS if "/" in version)]
    return {
        "/version": {"major": "1", "minor": "32", "gitVersion": "v1.32.0"},
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups},
        **{f"/{'apis' if '/' in version else 'api'}/{version}": {
            "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": [
                {"name": f"{kind.lower()}s", "singularName": kind.lower(), "namespaced": True, "kind": kind,
                 "verbs": ["get"]} for kind in kinds]} for version, kinds in _KINDS.items()}}


@contextmanager
def serving(secrets: list[dict[str, Any]], namespace: str) -> Iterator[str]:
    """Serve these Secrets of a namespace; yield the server's URL."""
    answers = _discovery()
    for one in secrets:
        answers[f"/api/v1/namespaces/{namespace}/secrets/{one['metadata']['name']}"] = one

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = answers.get(self.path.partition("?")[0])
            body = json.dumps(answer or {"kind": "Status", "apiVersion": "v1", "status": "Failure",
                                         "reason": "NotFound", "code": 404}).encode()
            self.send_response(200 if answer else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
