"""Effects of noise in the results of tools on a run's policy, by the held-out tasks of one evaluation."""

from hone.client.resources import Resource


class NoiseRow(Resource):
    """The answers under one type of noise; an empty `noise` is the clean twins.

    `pass_hat` has pass^1, pass^2, …: the chance that so many samples of a task all succeed. `drop` is the share of the
    clean mean reward that is lost, `drop_of_tasks` the mean over tasks whose clean twins do not all fail (`undefined`
    counts the others), `stable` the share of samples that call their tools much as the clean ones do. `tokens`, `turns`
    and `injections` are means of a sample; `masked` samples have no score and no part in the rest. `failed` counts
    results that stayed clean because the model that writes noise wrote none that fits.

    `similar` is the mean edit similarity of the calls of tools to those of the clean samples; `entropy` the mean of
    -log p of the policy's own tokens, in nats; `misled` the share of samples in which the policy wrote a value that
    noise alone had named. With `eval.noise.judge`, `judged` samples have a verdict: `deviated` is the share that was
    led away, and `undeviated` the mean score where these count 0.
    """

    noise: str
    tasks: int
    trials: int
    masked: int = 0
    reward: float
    pass_hat: list[float]
    tokens: float
    turns: float
    injections: float
    failed: int = 0
    drop: float | None = None
    drop_of_tasks: float | None = None
    undefined: int = 0
    stable: float | None = None
    similar: float | None = None
    entropy: float | None = None
    misled: float = 0.0
    judged: int = 0
    deviated: float | None = None
    undeviated: float | None = None


class NoiseReport(Resource):
    """The answers of one evaluation by type of noise. `step`: after which it was; null: no evaluation had noise yet.

    `success` is the score from which an answer succeeds. `truncated`: there were more answers than are read.
    """

    run_id: str
    step: int | None
    success: float
    rows: list[NoiseRow]
    truncated: bool = False
