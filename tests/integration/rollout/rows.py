"""Rows that tests of the rollout worker start from, and queries for the results."""

import json
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.rows import dict_row

from hone import ids
from hone.models import toy
from hone.store.manifests import put_files
from hone.store.objects import Objects
from hone.store.sql import statement
from hone.trajectory.order import Order


@dataclass(frozen=True)
class Run:
    """A tenant's run with a model whose version 0 has a tokenizer in the store."""

    url: str
    tenant_id: str
    run_id: str
    model_id: str
    version_id: str

    def request(self, count: int, n: int = 4, first: int = 0, **changes: Any) -> list[int]:
        """Request `count` groups of sorting tasks and return their ids; `changes` are fields of their orders."""
        return [self._request(first + place, n, **changes) for place in range(count)]

    def _request(self, number: int, n: int, **changes: Any) -> int:
        digits = "".join(str((7 * number + 3 * place) % 10) for place in range(6))
        task = {"environment": "sorting", "seed": number, "item": None,
                "params": {"prompt": f"s{digits}=", "answer": "".join(sorted(digits))}}
        order = Order.model_validate({
            "purpose": "train", "request_no": number, "step": 1, "task": task, "task_hash": f"{number:08x}", "n": n,
            "model_id": self.model_id, "version_id": self.version_id, "sampling": {"max_tokens": 16},
            **self._beside_the_policy(changes.get("purpose", "train")), **changes})
        return int(one(self.url, f"{statement('groups.request')} RETURNING id", tenant_id=self.tenant_id,
                       run_id=self.run_id, kind="generate", series="", deadline_s=3600,
                       orders=[order.model_dump_json()])["id"])

    def _beside_the_policy(self, purpose: str) -> dict[str, Any]:
        """Return the seed, roles and privileged texts that the driver of this run would write into an order."""
        spec = one(self.url, "SELECT spec FROM runs WHERE id = %(run_id)s", run_id=self.run_id)["spec"]
        models = every(self.url, statement("runs.named_models"), run_id=self.run_id)
        roles = {one.pop("role"): one for one in models}
        max_positions = roles.pop("policy")["max_positions"]
        if "teacher" in roles and purpose == "train":
            roles["teacher"]["top_k"] = spec["roles"]["teacher"]["top_k"]
        else:
            roles.pop("teacher", None)
        privileged = spec.get("contexts", {}).get("privileged", []) if purpose == "train" else []
        return {"seed": spec["seed"], "roles": roles, "privileged": privileged, "max_positions": max_positions}

    def publish(self, number: int) -> str:
        """Insert a newer version with the files of version 0 and return its id."""
        version_id = ids.new("ver")
        with psycopg.connect(self.url) as connection:
            connection.execute(
                "INSERT INTO versions (id, tenant_id, model_id, seq, number, manifest) "
                "SELECT %s, tenant_id, model_id, %s, %s, manifest FROM versions WHERE id = %s",
                (version_id, number, number, self.version_id))
        return version_id

    def teach(self, top_k: int, *privileged: dict[str, Any]) -> tuple[str, str]:
        """Give the run a teacher and privileged texts; return the teacher's model and version."""
        model_id, version_id = ids.new("mod"), ids.new("ver")
        with psycopg.connect(self.url) as connection:
            connection.execute("INSERT INTO models (id, tenant_id, config) VALUES (%s, %s, '{}')",
                               (model_id, self.tenant_id))
            connection.execute(
                "INSERT INTO versions (id, tenant_id, model_id, seq, number, manifest) VALUES (%s, %s, %s, 1, 0, '{}')",
                (version_id, self.tenant_id, model_id))
            connection.execute(
                "UPDATE runs SET roles = %s, spec = spec || %s WHERE id = %s", (
                    json.dumps({"teacher": model_id}), json.dumps({
                        "roles": {"teacher": {"model": "large", "top_k": top_k}},
                        "contexts": {"privileged": privileged}}), self.run_id))
        return model_id, version_id

    def answer_for(
        self, role: str, store: Objects, files: dict[str, bytes], positions: int | None = None
    ) -> tuple[str, str]:
        """Have another model answer for a role, with a tokenizer of its own; return the model and its version.

        With `positions`, the model was trained by a run from a registered model with so many positions.
        """
        model_id, version_id = ids.new("mod"), ids.new("ver")
        manifest = {"files": put_files(store, f"models/{model_id}/versions/{version_id}", files)}
        base = None if positions is None else self._trained(positions)
        with psycopg.connect(self.url) as connection:
            connection.execute(
                "INSERT INTO models (id, tenant_id, config, base_version_id) VALUES (%s, %s, '{}', %s)",
                (model_id, self.tenant_id, base))
            connection.execute(
                "INSERT INTO versions (id, tenant_id, model_id, seq, number, manifest) VALUES (%s, %s, %s, 1, 0, %s)",
                (version_id, self.tenant_id, model_id, json.dumps(manifest)))
            connection.execute("UPDATE runs SET roles = roles || %s WHERE id = %s",
                               (json.dumps({role: model_id}), self.run_id))
        return model_id, version_id

    def _trained(self, positions: int) -> str:
        """Insert a version that was trained from a registered model and return its id."""
        names = {"artifact": ids.new("art"), "model": ids.new("mod"), "version": ids.new("ver"),
                 "tenant": self.tenant_id, "manifest": json.dumps({"max_positions": positions})}
        with psycopg.connect(self.url) as connection:
            connection.execute("INSERT INTO artifacts (id, tenant_id, kind, name, hash, manifest) VALUES "
                               "(%(artifact)s, %(tenant)s, 'base_model', %(artifact)s, 'hash', %(manifest)s)", names)
            connection.execute("INSERT INTO models (id, tenant_id, config, base_artifact_id) VALUES (%(model)s, "
                               "%(tenant)s, '{}', %(artifact)s)", names)
            connection.execute("INSERT INTO versions (id, tenant_id, model_id, seq, number, manifest) VALUES "
                               "(%(version)s, %(tenant)s, %(model)s, 1, 1, '{}')", names)
        return names["version"]

    def groups(self) -> list[dict[str, Any]]:
        return every(self.url, "SELECT * FROM groups WHERE run_id = %(run_id)s ORDER BY id", run_id=self.run_id)

    def states(self) -> list[str]:
        return [group["state"] for group in self.groups()]


def add_run(url: str, objects: Objects, seed: int = 5, template: str | None = None) -> Run:
    """Insert a tenant, a model with its version 0 and perhaps a chat template, and a running run."""
    run = Run(url, *(ids.new(prefix) for prefix in ("ten", "run", "mod", "ver")))
    wanted = ("tokenizer.json", "tokenizer_config.json", "generation_config.json", "config.json")
    files = {name: data for name, data in toy.files().items() if name in wanted}
    if template is not None:
        files["chat_template.jinja"] = template.encode()
    manifest = {"files": put_files(objects, f"models/{run.model_id}/versions/{run.version_id}", files)}
    with psycopg.connect(url) as connection:
        connection.execute("INSERT INTO tenants (id, name) VALUES (%s, %s)", (run.tenant_id, run.tenant_id))
        connection.execute("INSERT INTO models (id, tenant_id, config) VALUES (%s, %s, '{}')",
                           (run.model_id, run.tenant_id))
        connection.execute(
            "INSERT INTO versions (id, tenant_id, model_id, seq, number, manifest) VALUES (%s, %s, %s, 0, 0, %s)",
            (run.version_id, run.tenant_id, run.model_id, json.dumps(manifest)))
        connection.execute(
            "INSERT INTO runs (id, tenant_id, name, spec, spec_sha, state, policy_model_id, deadline) "
            "VALUES (%s, %s, 'test', %s, 'sha', 'running', %s, now() + interval '1 hour')",
            (run.run_id, run.tenant_id, json.dumps({"seed": seed}), run.model_id))
    return run


def register_engine(url: str, engine_id: str, address: str, age_s: float = 0) -> None:
    """Insert or renew an engine's row, its heartbeat `age_s` old."""
    with psycopg.connect(url) as connection:
        connection.execute(
            "INSERT INTO engines (id, address, kind, build, heartbeat_at) "
            "VALUES (%s, %s, 'fake', '{\"torch\": \"none\"}', now() - make_interval(secs => %s)) "
            "ON CONFLICT (id) DO UPDATE SET address = excluded.address, heartbeat_at = excluded.heartbeat_at",
            (engine_id, address, age_s))


def engine_holds(url: str, engine_id: str, run: Run, refused_version_id: str | None = None) -> None:
    """Record that an engine serves version 0 of a run's model, and the version that it refuses."""
    with psycopg.connect(url) as connection:
        connection.execute(
            "INSERT INTO engine_models (engine_id, model_id, version_id, refused_version_id) VALUES (%s, %s, %s, %s) "
            "ON CONFLICT (engine_id, model_id) DO UPDATE SET refused_version_id = excluded.refused_version_id",
            (engine_id, run.model_id, run.version_id, refused_version_id))


def every(url: str, query: str, **params: Any) -> list[dict[str, Any]]:
    with psycopg.connect(url, row_factory=dict_row) as connection:
        return connection.execute(query.encode(), params).fetchall()


def one(url: str, query: str, **params: Any) -> dict[str, Any]:
    return every(url, query, **params)[0]
