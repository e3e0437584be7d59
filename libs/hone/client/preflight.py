"""The report of a preflight: what a run of a spec would do, found out before it starts."""

from collections.abc import Sequence
from typing import Any, Literal

from hone.client.resources import Resource

Level = Literal["ok", "warning", "error"]


class Finding(Resource):
    """The outcome of one check. `mend` says what to do about a warning or an error; it is empty for "ok"."""

    check: str
    level: Level
    found: str
    mend: str = ""


class Tokens(Resource):
    """Tokens with the text of each. A character that several tokens form belongs to the last of them.

    `control` holds the places of tokens that stand for no text of anybody: template and special tokens.
    """

    ids: list[int]
    texts: list[str]
    control: Sequence[int] = ()


class EndToken(Resource):
    """An id that ends a completion, its text, and where it was declared."""

    id: int
    text: str
    sources: Sequence[str] = ()


class ShownCompletion(Resource):
    """A completion of a supervised row: the column that holds it, and its tokens. `trained` has one flag for each."""

    column: str
    tokens: Tokens
    trained: list[bool]


class ShownPrompt(Resource):
    """A first prompt as the policy reads it.

    `reasoning` is the mark of the reasoning block that the prompt leaves open, "" if it leaves none open.
    `completions` are those of a supervised row; a run with rollouts trains what it samples.
    """

    task: str
    tokens: Tokens
    reasoning: str = ""
    completions: Sequence[ShownCompletion] = ()


class LengthLimit(Resource):
    """A limit of tokens, and how many of the looked at texts, with room for an answer, are over it."""

    name: str
    tokens: int
    over: int


class Lengths(Resource):
    """The lengths of prompts or completions in tokens: `counted` of `total` texts, evenly spaced and the longest ones.

    The percentiles are of the evenly spaced ones.
    """

    name: str
    counted: int
    total: int | None = None
    smallest: int
    median: int
    p90: int
    p99: int
    largest: int
    limits: Sequence[LengthLimit] = ()


class WrongReference(Resource):
    """A row whose own reference is not right by its grader: its number from 1, what was graded, and the reason."""

    row: int
    output: str
    reason: str


class GradedReferences(Resource):
    """The references of a source of tasks, graded as if they were answers. `wrong` holds the first that are not right.

    `unchecked` is the reason why some or all of the `rows` were not graded; "" if all were.
    """

    source: str
    grader: str
    rows: int
    graded: int
    right: int
    wrong: Sequence[WrongReference] = ()
    unchecked: str = ""


class GradedSample(Resource):
    """A sample of the base with its grade, and the text of its first prompt.

    `trained` has one flag for each token of its last call's completion. `finish_reason` is stop, length or abort. Its
    group and index name it among the trajectories of the preflight.
    """

    group_id: int
    index: int
    prompt_tokens: int
    completion_tokens: int
    finish_reason: str
    ended: str
    status: str
    score: float | None = None
    reasons: Sequence[str] = ()
    extracted: str | None = None
    prompt: str
    text: str
    tokens: Tokens
    trained: list[bool]


class Signal(Resource):
    """The expected share of groups whose samples do not all have the same score, with its 80 % interval.

    `pass_rate` is the mean score of the base; `tasks` and `samples` are the numbers on which the estimate rests.
    """

    share: float
    low: float
    high: float
    pass_rate: float
    tasks: int
    samples: int
    group: int


class Cost(Resource):
    """An estimate of memory in bytes or of time in seconds, and how it was computed."""

    name: str
    amount: float
    unit: Literal["bytes", "seconds"]
    basis: str


class PreflightReport(Resource):
    """The report of a preflight: `ok` if no finding is an error. `run_id` names the samples' trajectories, if any."""

    ok: bool
    findings: list[Finding]
    spec: dict[str, Any]
    run_id: str | None = None
    ends: Sequence[EndToken] = ()
    prompts: Sequence[ShownPrompt] = ()
    lengths: Sequence[Lengths] = ()
    references: Sequence[GradedReferences] = ()
    samples: Sequence[GradedSample] = ()
    signal: Signal | None = None
    memory: Sequence[Cost] = ()
    times: Sequence[Cost] = ()
