"""Episodes: the samples of a group, each played by its harness, whose effects are carried out by services."""

import asyncio
import json
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from hone.api import simulation_pb2
from hone.harnesses import seat
from hone.harnesses.observed import step, taken
from hone.harnesses.seat import Act, Answer, Ask, Effect, Finished, Fork, HarnessFailed, Over, Taken, Together, advanced
from hone.trajectory.records import Call, Step
from services.rollout.branches import (
    Branch,
    Diverged,
    Episode,
    Made,
    Prompt,
    added,
    first_prompt,
    messages_of,
    prompt_of,
    with_contexts,
)
from services.rollout.calls import Sampler
from services.rollout.clients import SessionLost, SimulationClient, StepRefused
from services.rollout.retry import Retry
from services.rollout.start import GroupStart
from services.rollout.voices import Unspoken, Voices, asked_digest

MOST_EFFECTS = 10_000
"""Calls, steps and forks of one sample. A harness that wants more does not end."""
Play = Coroutine[Any, Any, Any]


class Episodes:
    """Plays the samples of groups. Make it inside the running loop."""

    def __init__(
        self, simulation: SimulationClient, sampler: Sampler, retry: Retry, voices: Voices,
    ) -> None:
        self._simulation, self._sampler, self._retry, self._voices = simulation, sampler, retry, voices

    async def play(self, start: GroupStart, samples: Sequence[int] | None = None) -> list[Episode]:
        """Play samples of a group to their end; without `samples` those that its order names.

        First calls that ask the same are made together. Raises Unreadable when a role's tokenizer refuses its messages,
        and HarnessFailed.
        """
        places = range(start.claim.order.n) if samples is None else samples
        begun = [start.begun(index) for index in places]
        episodes, plays = [Episode.of(start, index, seat) for index, (seat, _) in zip(places, begun, strict=True)], [
            play for _, play in begun]
        try:
            effects = await self._begin(start, episodes, plays)
            await together(self._sample(*one) for one in zip(episodes, plays, effects, strict=True)
                           if not isinstance(one[2], Finished))
        finally:
            for play in plays:
                play.close()
        for episode in episodes:
            if not episode.ended:
                episode.end(episode.trunk.seat.reason or "left")
        return await start.tokenizers.work(with_contexts, episodes) if start.contexts else episodes

    async def worlds(self, start: GroupStart, episodes: Sequence[Episode]) -> dict[int, str]:
        """Return the first and the last state of the environment, as JSON, by the index of the sample.

        A sample whose environment does not come to its last state again is masked.
        """
        before = await self._state(start, None, [])
        lasts = await together(self._last_state(episode) for episode in episodes if not episode.masked)
        return {index: _world(start.claim.order.task, before, after) for index, after in lasts if after is not None}

    async def _last_state(self, episode: Episode) -> tuple[int, simulation_pb2.SnapshotResponse | None]:
        trunk = episode.trunk
        try:
            return episode.index, await self._state(episode.start, trunk.session, trunk.history)
        except Diverged as error:
            episode.end("diverged", str(error))
            return episode.index, None

    async def _state(
        self, start: GroupStart, session: simulation_pb2.Session | None, history: Sequence[Step]
    ) -> simulation_pb2.SnapshotResponse:
        """Return the state after the steps of a history: of its session, or of a new one where it is lost."""
        async def state() -> simulation_pb2.SnapshotResponse:
            if session is not None:
                with suppress(SessionLost):
                    return await self._simulation.snapshot(session)
            made = await self._rebuilt(start, history)
            found = await self._simulation.snapshot(made)
            await self._simulation.forget([made])
            return found

        return await self._retry.until_answered(start.claim, "simulation", state)

    async def _begin(
        self, start: GroupStart, episodes: list[Episode], plays: list[Play]
    ) -> list[Effect | Finished]:
        """Return the effect of each sample that follows its first call, if all samples ask the same first."""
        effects = [_onward(episode, play) for episode, play in zip(episodes, plays, strict=True)]
        first = effects[0]
        alike = isinstance(first, Ask) and first.given is None and all(one == first for one in effects[1:])
        if not isinstance(first, Ask) or not alike or first.role in start.claim.order.voices:
            return effects
        prompt = await first_prompt(start, episodes[0].trunk, first)
        calls = await self._sampler.first_calls(prompt.request, [episode.index for episode in episodes])
        return [_begun(episode, play, effect, prompt, call)
                for episode, play, effect, call in zip(episodes, plays, effects, calls, strict=True)]

    async def _sample(self, episode: Episode, play: Play, effect: Effect | Finished) -> None:
        """Play one sample from an effect on to its end."""
        try:
            await self._on(episode, play, effect)
        except (Diverged, StepRefused, Unspoken) as error:
            episode.end("diverged" if isinstance(error, Diverged) else "refused", str(error))

    async def _on(self, episode: Episode, play: Play, effect: Effect | Finished) -> Any:
        """Carry out a play's effects from one on, and return the play's result."""
        while not isinstance(effect, Finished):
            episode.effects += 1
            if episode.effects > MOST_EFFECTS:
                raise HarnessFailed(f"it asked, acted and forked more than {MOST_EFFECTS} times in one sample")
            try:
                answer = await self._done(episode, effect)
            except Over as over:
                effect = advanced(play, over=over)
            else:
                effect = _onward(episode, play, answer)
        return effect.result

    async def _done(self, episode: Episode, effect: Effect) -> Any:
        """Return the result of an effect."""
        match effect:
            case Ask():
                return await self._answer(episode, effect)
            case Act():
                return await self._act(episode, episode.branches[effect.seat.path], effect.action)
            case Fork():
                return episode.branches.update(
                    episode.branches[effect.seat.path].forks(effect.children, effect.before))
            case Together():
                return await self._together(episode, effect)

    async def _together(self, episode: Episode, effect: Together) -> list[Any]:
        try:
            return await together(self._on(episode, play, _onward(episode, play)) for play in effect.plays)
        finally:
            for play in effect.plays:
                play.close()

    async def _answer(self, episode: Episode, ask: Ask) -> Answer:
        """Return the answer of a call: the journaled one, or a new one. Raises Diverged when that asks otherwise."""
        branch = episode.branches[ask.seat.path]
        if ask.role in episode.start.claim.order.voices:
            return await self._words(episode, branch, ask)
        prompt = await prompt_of(episode, branch, ask)
        kept = episode.start.claim.journaled.get((episode.index, ask.number))
        if kept is None:
            call = await self._sampler.next_call(prompt.request, episode.index, branch.fresh)
        elif kept.steps != branch.fresh:
            raise Diverged("what it did before a journaled call")
        else:
            call = kept.call
        return added(episode, branch, prompt, call, prompt.request.ask)

    async def _words(self, episode: Episode, branch: Branch, ask: Ask) -> Answer:
        """Return the words of an endpoint: the journaled ones, or new ones. Raises Diverged and Unspoken."""
        claim, said = episode.start.claim, messages_of(ask)
        kept = claim.journaled.get((episode.index, ask.number))
        if kept is None:
            call = await self._voices.call(claim, episode.index, ask, said, branch.place, branch.fresh)
        else:
            call, asks = kept.call, (branch.fresh, ask.role, asked_digest(said))
            if (kept.steps, call.role, call.sampling.get("asked")) != asks:
                raise Diverged("what it did before a journaled call, or asked in it,")
        branch.made.append(Made(ask, call, None, said))
        return Answer(call.number, call.text, call.finish_reason == "length")

    async def _act(self, episode: Episode, branch: Branch, action: str) -> Taken:
        async with branch.lock:
            response = await self._retry.until_answered(
                episode.start.claim, "simulation", lambda: self._step(episode, branch, action))
            branch.steps.append(step(len(branch.history), len(branch.made) - 1, action, response))
        if branch is episode.trunk:
            episode.item_json = response.observation.item_json
        return taken(response)

    async def _step(self, episode: Episode, branch: Branch, action: str) -> simulation_pb2.StepResponse:
        """Take a branch's next step, in a session that is opened or rebuilt where there is none. Raises SessionLost."""
        try:
            branch.session = branch.session or await self._opened(episode, branch)
            return await self._simulation.step(
                episode.start.claim.run_id, branch.session, len(branch.history), action)
        except SessionLost:
            branch.session = None
            raise

    async def _opened(self, episode: Episode, branch: Branch) -> simulation_pb2.Session:
        """Return a session for a branch: at its begin forked from its parent's, unless that is lost or has gone on.

        Raises Over where the environment does not come to the state of the fork again.
        """
        parent = branch.parent
        if parent is None or branch.steps:
            return await self._rebuilt(episode.start, branch.history)
        async with parent.lock:
            if parent.session is not None and len(parent.history) == branch.before:
                with suppress(SessionLost):
                    return await self._simulation.fork(parent.session)
        try:
            return await self._rebuilt(episode.start, branch.history)
        except Diverged as error:
            raise Over("diverged") from error

    async def _rebuilt(self, start: GroupStart, history: Sequence[Step]) -> simulation_pb2.Session:
        """Return a new session of the task after the steps of a history. Raises Diverged when their results differ."""
        session = await self._simulation.reset(start.claim)
        if session.observation.state_hash != start.session.observation.state_hash:
            raise Diverged
        for known in history:
            response = await self._simulation.step(start.claim.run_id, session, known.index, known.action)
            if step(known.index, known.call, known.action, response) != known:
                raise Diverged
        return session


def _world(
    task: Mapping[str, Any], before: simulation_pb2.SnapshotResponse, after: simulation_pb2.SnapshotResponse
) -> str:
    """Return the two states as graders get them; the task recreates the environment."""
    recreates = json.dumps({name: task.get(name) for name in ("environment", "params", "seed", "item", "noise")})
    return (f'{{"before": {before.state_json}, "after": {after.state_json}, "task": {recreates}, '
            f'"state_hash": "{after.state_hash}"}}')


async def together(work: Iterable[Coroutine[Any, Any, Any]]) -> list[Any]:
    """Return the results of coroutines that run beside each other. The first error ends the others."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()


def _onward(episode: Episode, play: Play, answer: Any = None) -> Effect | Finished:
    """Return a play's next effect that needs a service. An answer that ends the episode by itself is no step."""
    effect = advanced(play, answer)
    while isinstance(effect, Act) and episode.start.single_turn:
        effect = advanced(play, Taken(seat.Heard([]), done=True))
    return effect


def _begun(
    episode: Episode, play: Play, ask: Effect | Finished, prompt: Prompt, call: Call
) -> Effect | Finished:
    """Return a sample's next effect after its first call, which was made together with those of other samples."""
    assert isinstance(ask, Ask)
    try:
        answer = added(episode, episode.trunk, prompt, call, ask)
    except Diverged as error:
        episode.end("diverged", str(error))
        return Finished()
    return _onward(episode, play, answer)
