"""The part of the SDK's client that sets judges and their secrets, and tries graders on one answer."""

from collections.abc import Mapping
from typing import Any

from hone.client.check_resources import GraderCheck
from hone.client.judge_resources import GraderTrial, Judge, JudgeSpending, Secret, StoredGrader, Verified
from hone.client.nouns import Catalog, Deleting, Listing, Reading
from hone.client.requests import Requests
from hone.client.resources import Grader, GraderActivity, Page
from hone.client.transport import rest_path

_TRIAL_S = 160.0
"""Seconds within which an answer is graded: the gateway waits a little less for its judges."""


class Judges(Requests):
    """Methods of judges: endpoints that graders ask."""

    judges = Listing(Page[Judge], "judges")
    """List judges by name."""

    judge = Reading(Judge, "judges")
    """Return a judge."""

    def put_judge(self, name: str, url: str, model: str = "", secret: str | None = None, **terms: Any) -> Judge:
        """Set a judge; `terms` are its protocol, limits and prices. Raises Refused, with the field."""
        wanted = {"url": url, "model": model, "secret": secret, "terms": terms}
        return self._send(Judge, "PUT", rest_path("judges", name), json=wanted)

    delete_judge = Deleting(Judge, "judges")
    """Delete a judge. Returns what it was."""

    def judge_spending(self, run_id: str) -> Page[JudgeSpending]:
        """Return the usage of each judge of a run so far."""
        return self._get(Page[JudgeSpending], rest_path("runs", run_id, "judges"))

    secrets = Listing(Page[Secret], "secrets")
    """List secrets by name, without their values."""

    def put_secret(self, name: str, value: str) -> Secret:
        """Set a secret."""
        return self._send(Secret, "PUT", rest_path("secrets", name), json={"value": value})

    delete_secret = Deleting(Secret, "secrets")
    """Delete a secret."""

    stored_graders = Listing(Page[StoredGrader], "graders", "stored")
    """List the graders that were added, each name with what it means now."""

    def stored_grader(self, name: str, hash: str | None = None) -> StoredGrader:
        """Return the grader that a name means, or meant: the one with a hash."""
        return self._get(StoredGrader, rest_path("graders", "stored", name), hash=hash)

    def add_grader(self, name: str, grader: Mapping[str, Any]) -> StoredGrader:
        """Add a grader under a name, or change what the name means. Raises Refused, with the field."""
        return self._send(StoredGrader, "PUT", rest_path("graders", "stored", name), json={"grader": dict(grader)})

    delete_grader = Deleting(StoredGrader, "graders", "stored")
    """Delete a name with all that it meant. Runs keep their graders. Returns what it was."""

    def verify(self, name: str, submission: Mapping[str, Any]) -> Verified:
        """Return the reward that a grader under a name gives an answer, in NeMo Gym's form.

        `submission` has `responses_create_params`, `response` and the fields of the row. Raises Refused, with the
        field, and Away where the grader gave no reward: none is made up, and nothing is asked twice.
        """
        return self._send(Verified, "POST", rest_path("graders", "stored", name, "verify"), timeout=_TRIAL_S,
                          attempts=1, json=dict(submission))

    def check_grader(self, grader: Mapping[str, Any], set: str = "short_answers") -> GraderCheck:
        """Ask for a check of a grader on a labelled set: `short_answers`, or `dataset:NAME`. Raises Refused.

        `grader_check` says how far it is.
        """
        return self._send(GraderCheck, "POST", "/v1/graders/checks", json={"grader": dict(grader), "set": set})

    def grader_check(self, check_id: str) -> GraderCheck:
        """Return a check."""
        return self._get(GraderCheck, rest_path("graders", "checks", check_id))

    def grader_checks(
        self, limit: int = 50, after: str | None = None, run_id: str | None = None, grader_hash: str | None = None,
    ) -> Page[GraderCheck]:
        """List checks, the newest first: all, or those of a run or a grader."""
        return self._get(Page[GraderCheck], "/v1/graders/checks", limit=limit, after=after, run_id=run_id,
                         grader_hash=grader_hash)

    def try_grader(
        self, grader: Mapping[str, Any], output: str, item: Mapping[str, Any] | None = None,
    ) -> GraderTrial:
        """Grade one answer and store nothing. Raises Refused, with the field, for what is no grader."""
        return self._send(GraderTrial, "POST", "/v1/fine_tuning/alpha/graders/run", timeout=_TRIAL_S, json={
            "grader": dict(grader), "model_sample": output, "item": dict(item or {})})

    graders = Catalog(Page[Grader], "graders")
    """List the kinds of graders with the JSON Schema of their parameters."""

    grader_activity = Catalog(Page[GraderActivity], "graders", "activity")
    """Sum the newest grades by grader, component and status."""
