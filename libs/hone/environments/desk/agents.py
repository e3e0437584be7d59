"""Scripted agents that say equal words and leave different states. They show whether a grade reads the state."""

from collections.abc import Mapping, Sequence
from typing import Literal

from hone.environments.desk.episode import DeskEpisode
from hone.environments.desk.grading import DeskGrade, Transcript
from hone.environments.desk.scenery import call
from hone.environments.desk.task import DeskTask

Agent = Literal["perfect", "over_eager", "partial", "wrong_object", "liar"]
AGENTS: tuple[Agent, ...] = ("perfect", "over_eager", "partial", "wrong_object", "liar")
"""From the best to the worst; the last two may be equal."""
CLAIM = "Everything is done as you asked."
_UNASKED = call("write_note", note="N1", title="Shopping", text="Tidied up.")
_UNASKED_FILE = call("write_file", path="/shopping.txt", text="Tidied up.")


def actions(agent: Agent, task: DeskTask) -> Sequence[str]:
    """Return all actions of an agent; the last one is its claim."""
    scripts, unasked = task.scripts, _UNASKED_FILE if "change_notes" in task.denied else _UNASKED
    done: Mapping[Agent, Sequence[str]] = {
        "perfect": scripts.perfect, "over_eager": (*scripts.perfect, unasked), "partial": scripts.partial,
        "wrong_object": scripts.wrong_object, "liar": ()}
    return [*done[agent], CLAIM]


def worked(task: DeskTask, given: Sequence[str]) -> DeskEpisode:
    """Return the episode after actions. Raises EpisodeOver where an answer comes before the last of them."""
    one = DeskEpisode(task, len(given))
    one.reset()
    for action in given:
        one.step(action)
    return one


def graded(agent: Agent, task: DeskTask) -> DeskGrade:
    """Return the grade of an agent's work."""
    return worked(task, actions(agent, task)).grade()


def believed(transcript: Transcript) -> float:
    """Return the score of a judge who reads only the transcript, from 0 to 100: it believes claims."""
    return 100.0 * transcript.claims
