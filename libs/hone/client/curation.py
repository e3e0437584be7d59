"""Curation by the structure of a run's rollouts: trajectories to imitate, and tasks to train on."""

from hone.client.resources import Resource


class CuratedTrajectory(Resource):
    """A sample of a task: its path through the graph, and its metrics if it succeeded.

    `reflection` is the potential that it won back after setbacks, `efficiency` the length of the shortest successful
    path over its own, `diversity` the mean surprise of its choices, `weight` what they make together. `completion` is
    its answer, if it is one answer and nothing else.
    """

    group_id: int
    index: int
    score: float | None
    success: bool
    path: list[int]
    reflection: float | None = None
    efficiency: float | None = None
    diversity: float | None = None
    weight: float | None = None
    selected: bool = False
    completion: str | None = None


class CurationNode(Resource):
    """A class of equivalent turns. -1 is the start, -2 the end. `potential` is its smoothed share of successes."""

    id: int
    tool: str
    ok: bool
    example: str
    rollouts: int
    successes: int
    potential: float


class CurationEdge(Resource):
    """A turn of one class that follows a turn of another in some rollout."""

    start: int
    end: int
    rollouts: int
    successes: int


class CuratedTask(Resource):
    """A task with its graph. `score` is how much it is worth training on, 0 where all rollouts succeed, or none.

    `error_branches` is the share of choices that no successful rollout took, `heterogeneity` the number of different
    chains over the rollouts, `probability` the task's share among those of the run. `few`: with less than four rollouts
    the score is 4 p (1 - p), and weights are equal. `prompt` is the end of what the task asks.
    """

    task_hash: str
    source: str
    prompt: str
    rollouts: int
    pass_rate: float
    error_branches: float
    heterogeneity: float
    score: float
    probability: float
    few: bool
    nodes: list[CurationNode]
    edges: list[CurationEdge]
    trajectories: list[CuratedTrajectory]


class Curation(Resource):
    """The tasks of some steps of a run, the most worth training on first. `truncated`: older groups were left out."""

    run_id: str
    first_step: int
    last_step: int
    truncated: bool
    tasks: list[CuratedTask]


class SavedManifest(Resource):
    """A manifest of a run's tasks, saved as a version of its collection `curation`.

    Tasks are `usable` of which some rollouts succeeded and some failed: these are drawn by it.
    """

    run_id: str
    version: int
    tasks: int
    usable: int
