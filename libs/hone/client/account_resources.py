"""The resources of administration: keys, tenants, quotas, prices and the audit log. Times are UTC."""

from datetime import datetime

from hone.client.resources import Resource
from hone.scopes import Scope


class Account(Resource):
    """Who a key is: its tenant, and what it may do. `operator`: admin keys of this tenant administer every tenant."""

    tenant_id: str
    tenant: str
    operator: bool
    key_id: str
    key: str
    scopes: list[Scope]


class Key(Resource):
    """An API key. `prefix` is the beginning of its secret; `last_used_at` is right to about a minute."""

    id: str
    name: str
    prefix: str
    scopes: list[Scope]
    created_at: datetime
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None


class CreatedKey(Key):
    """A key that has just been made, with its secret, which nobody can read again."""

    secret: str


class AuditEntry(Resource):
    """A request that changed something. `subject` is the id of what it made or changed.

    `key_id` and `key` are the id and name of its key. The name is null for a key of the operator's tenant, and both are
    null for what was done in the database itself.
    """

    id: int
    key_id: str | None = None
    key: str | None = None
    action: str
    subject: str
    request_id: str
    address: str
    created_at: datetime


class Limits(Resource):
    """The quotas of a tenant; null means no limit.

    `max_runs`: runs that have begun and not ended, paused ones included. `max_running_groups`: groups that are sampled
    at a time. `max_tokens_a_day`: generated and trained, in a day of UTC. `max_stored_bytes`: models, datasets, open
    uploads and stored weights. `month_budget`: money for a month of UTC, in the currency of the prices.
    """

    max_runs: int | None = None
    max_running_groups: int
    max_tokens_a_day: int | None = None
    max_stored_bytes: int | None = None
    month_budget: float | None = None


class Tenant(Limits):
    """A tenant with its quotas. None of its keys is accepted while it is suspended."""

    id: str
    name: str
    operator: bool
    suspended_at: datetime | None = None
    created_at: datetime


class Quota(Resource):
    """A limit and what is used of it now; a limit of null is none."""

    limit: float | None = None
    used: float


class Quotas(Resource):
    """The quotas of a tenant by the names in Limits, and the currency of its `month_budget`."""

    max_runs: Quota
    max_running_groups: Quota
    max_tokens_a_day: Quota
    max_stored_bytes: Quota
    month_budget: Quota
    currency: str


class Prices(Resource):
    """The price list of the stack, in force since `since`; null: since its beginning.

    Money for a million tokens that are read as prompts, generated (`completion_tokens`), scored or trained, and for a
    second of grading or of a trainer.
    """

    currency: str
    prompt_tokens: float
    completion_tokens: float
    scored_tokens: float
    trained_tokens: float
    grading_s: float
    trainer_s: float
    since: datetime | None = None
