"""Settings of what is kept, and for how long."""

from pydantic import Field

from hone.spec.parameters import Strict


class RetentionSettings(Strict):
    """How long a driver keeps what nobody asked to keep. Without a value: until it is deleted."""

    preflights_d: float | None = Field(7.0, gt=0, description="Days for which an ended preflight is kept.")
    idempotency_d: float | None = Field(
        2.0, gt=0, description="Days for which the answer to a request with an idempotency key is kept.")
    runs_d: float | None = Field(
        None, gt=0, description="Days after its end after which a run is deleted, unless an open run started from it.")
    exports_d: float | None = Field(None, gt=0, description="Days after which an export is deleted.")
    versions_d: float | None = Field(
        None, gt=0, description="Days after a run's end after which the weights of its versions are deleted, but for "
        "its base, its newest version, and those from which runs started.")
    samples_d: float | None = Field(
        None, gt=0, description="Days after a run's end after which its samples and grades are deleted.")
    events_d: float | None = Field(
        None, gt=0, description="Days after which an event is deleted, if its run has ended as long ago.")
    decisions_d: float | None = Field(
        30.0, gt=0, description="Days for which decisions of routes are kept, with their prompts and with feedback.")
    judge_answers_d: float | None = Field(
        30.0, gt=0, description="Days for which answers of judges are kept, to be given to equal questions.")
    grader_checks_d: float | None = Field(
        90.0, gt=0, description="Days after its end for which a check of a grader is kept; that of a run until the run "
        "has ended, too.")
    simulations_d: float | None = Field(
        90.0, gt=0, description="Days for which it is kept what simulators of audiences said of groups, and why fits "
        "failed. Simulators stay until they are deleted.")
