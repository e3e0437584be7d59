"""The first two phases of an episode: exploring, and writing the map. MAP, arXiv 2605.13037."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hone.environments.contract import Message
from hone.harnesses.mapping.facts import Fact, Where, extracted, observed
from hone.harnesses.mapping.maps import TaskMap, capped, validated, written
from hone.harnesses.mapping.params import MapThenActParams
from hone.harnesses.mapping.signals import Exploration, Signal, state_key, stop
from hone.harnesses.openings import asked, task
from hone.harnesses.seat import Heard, Over, Seat
from hone.text.conversation import content_text
from hone.text.reasoning import spoken

EXPLORE, MAP = "explore", "map"
REFUSED = "While you look around, only these actions are possible: {harmless}.\n"


@dataclass
class Explored:
    """Result of exploration: its steps, facts and signals, and why it stopped; "" while it goes on."""

    names: list[str]
    where: Where
    known: Mapping[Fact, int]  # facts of the opening
    history: list[tuple[str, str]] = field(default_factory=list)  # actions, each with what was said
    met: Exploration = field(default_factory=Exploration)
    stop: str = ""

    @property
    def facts(self) -> dict[Fact, int]:
        """All observed facts, each with the step at which it was seen first; 0: in the opening."""
        return {**self.met.facts, **self.known}

    def saw(self, action: str, heard: Heard) -> Signal:
        """Add a step and return its signals."""
        said = said_text(heard.messages)
        found, self.where = extracted(action, said, heard.valid, heard.effect, self.names, self.where)
        self.history.append((action, said))
        return self.met.saw(found, state_key(said))


def begun(seat: Seat) -> Explored:
    """Return an exploration before its first step."""
    names = list(seat.facts.entities.present) if seat.facts.entities else []
    found, where = observed(task(seat), names)
    return Explored(names, where, dict.fromkeys(found, 0))


async def explored(seat: Seat, params: MapThenActParams, knowledge: str) -> Explored:
    """Explore at a seat until both signals have converged, the budget is used up, or the seat is over."""
    one = begun(seat)
    said: Heard | list[Message] = asked(seat, params.explore, budget=params.budget, knowledge=knowledge)
    while not one.stop:
        try:
            action = spoken((await seat.ask(said, EXPLORE)).text)
            heard = await _taken(seat, params, action)
        except Over as over:
            one.stop = over.reason
            break
        signal = one.saw(action, heard)
        one.stop = seat.reason or stop(
            one.met.signals, params.budget, params.window, params.least_know, params.least_novelty) or (
                "" if leaves_a_turn(seat, params) else "turns")
        _credit(seat, params, signal, one)
        said = _with_signals(heard, params, signal, len(one.history))
    if one.history:
        seat.note("stop", one.stop)
    return one


def leaves_a_turn(seat: Seat, params: MapThenActParams) -> bool:
    """Return whether one more step of exploration leaves a turn to the task, whose turns it uses without `reset`."""
    return params.reset or seat.facts.turns_left > 1


async def _taken(seat: Seat, params: MapThenActParams, action: str) -> Heard:
    """Take an action; one that may change the world is refused where the task goes on in it."""
    first = action.split()[:1]
    if params.reset or (first and first[0].casefold() in map(str.casefold, params.harmless)):
        return await seat.act(action)
    text = REFUSED.format(harmless=", ".join(params.harmless))
    return Heard([{"role": "user", "content": text}], valid=False, effect=False)


def _credit(seat: Seat, params: MapThenActParams, signal: Signal, one: Explored) -> None:
    """Note what a step of exploration brought, and pay it."""
    intrinsic = signal.intrinsic(params.balance)
    seat.note("exploration", {"know": signal.know, "novelty": signal.novelty, "intrinsic": intrinsic,
                              "facts": len(one.met.facts)})
    seat.mark(EXPLORE)
    if params.intrinsic:
        seat.penalty("intrinsic", params.intrinsic * intrinsic)


def _with_signals(heard: Heard, params: MapThenActParams, signal: Signal, step: int) -> Heard:
    if not params.signals:
        return heard
    fields = {"{step}": str(step), "{budget}": str(params.budget), "{know}": f"{signal.know:.2f}",
              "{novelty}": f"{signal.novelty:.2f}"}
    line = params.signals
    for name, value in fields.items():
        line = line.replace(name, value)
    return Heard(with_line(heard.messages, line))


async def mapped(seat: Seat, params: MapThenActParams, knowledge: str, one: Explored) -> TaskMap:
    """Return the map that the policy writes of an exploration, as far as facts support it; an empty one without room.

    It is asked at a fork: it counts as no turn of the episode.
    """
    [writer] = await seat.fork(1)
    said, *shorter = [asked(seat, params.write, knowledge=knowledge, history=_history(one, last, params))
                      for last in _lengths(len(one.history))]
    try:
        answer = await writer.ask(said, MAP, tools=[], shorter=shorter)
    except Over:
        return TaskMap()
    valid = validated(written(spoken(answer.text)), one.facts)
    kept = capped(valid, task(seat), params.map_characters)
    writer.mark(MAP)
    writer.note("map", {
        "text": kept.text, "entries": [[*entry.fact, entry.step] for entry in kept.entries],
        "precision": kept.precision, "written": kept.written, "dropped": len(valid.entries) - len(kept.entries)})
    return kept


def _lengths(steps: int) -> list[int]:
    """Return how many of the last steps are shown, and fewer where there is no room."""
    return sorted({steps, steps // 2, steps // 4, 1}, reverse=True) if steps else [0]


def _history(one: Explored, last: int, params: MapThenActParams) -> str:
    steps = one.history[len(one.history) - last:]
    return "\n".join(f"> {action}\n{said}" for action, said in steps)[-params.characters:]


def said_text(messages: list[Message]) -> str:
    """Return messages as one text."""
    return "\n".join(map(content_text, messages)).strip()


def with_line(messages: list[Message], line: str) -> list[Message]:
    """Return messages with a line at the end of the last one."""
    if not messages:
        return [{"role": "user", "content": f"{line}\n"}]
    *before, last = messages
    return [*before, {**last, "content": f"{content_text(last).rstrip()}\n{line}\n"}]
