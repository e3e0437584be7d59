"""Draws lives from seeds, without a model. The paper's lives are written by one; these follow the same rules. Ours."""

import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from hone.remembering.lives import MOST_EXPOSED, Life, Period, Person, Question, Schema, Session, Sizes, State
from hone.remembering.phrases import Phrases
from hone.remembering.vocabulary import EDUCATIONS, HOBBIES, NAMES, TOPICS, VARIABLES, values

_FIRST_YEAR = 2026
Changes = Mapping[str, tuple[str | None, str]]


def life(sizes: Sizes, seed: int, phrases: Phrases) -> Life:
    """Return the life of a seed. Equal arguments give equal lives; `lives.faults` finds none in it."""
    chance = random.Random(f"life {seed}")
    names = sorted(chance.sample([*VARIABLES], sizes.variables), key=[*VARIABLES].index)
    schema = {name: values(name, sizes.values) for name in names}
    changes = list(_changes(schema, sizes, chance))
    periods = tuple(_period(t, changed, sizes, chance, phrases) for t, changed in enumerate(changes))
    person = Person(chance.choice(NAMES), chance.randint(20, 75), chance.choice(EDUCATIONS), chance.choice(HOBBIES))
    drawn = Life(person, schema, (), periods)
    return Life(person, schema, tuple(_questions(drawn, sizes, chance, phrases)), periods)


def _changes(schema: Schema, sizes: Sizes, chance: random.Random) -> Iterator[Changes]:
    state: State = {name: chance.choice(legal) for name, legal in schema.items()}
    yield {name: (None, value) for name, value in state.items()}
    counts = dict.fromkeys(schema, 0)
    for _ in range(sizes.periods):
        changed = _changed(counts, sizes, chance)
        new = {name: chance.choice([one for one in schema[name] if one != state[name]]) for name in changed}
        yield {name: (state[name], new[name]) for name in changed}
        state = {**state, **new}
        counts = {name: count + (name in new) for name, count in counts.items()}


def _changed(counts: Mapping[str, int], sizes: Sizes, chance: random.Random) -> Sequence[str]:
    """Draw the variables that change: those below the cap, and others only where too few are left."""
    least, most = max(1, sizes.changes - 1), min(sizes.changes + 1, len(counts))
    free = [name for name, count in counts.items() if count < sizes.most_changes]
    capped = [name for name in counts if name not in free]
    wanted = chance.randint(min(least, most), most)
    drawn = chance.sample(free, min(wanted, len(free)))
    return sorted([*drawn, *chance.sample(capped, max(0, min(least, most) - len(drawn)))], key=[*counts].index)


def _period(t: int, changes: Changes, sizes: Sizes, chance: random.Random, phrases: Phrases) -> Period:
    names = chance.sample([*changes], len(changes))
    groups = list[list[str]]()
    while names:
        count = chance.randint(1, min(MOST_EXPOSED, len(names)))
        groups.append(names[:count])
        names = names[count:]
    times = evenings(t, len(groups), sizes.months, chance)
    return Period(changes, tuple(_session(group, changes, time, phrases)
                                 for group, time in zip(groups, times, strict=True)))


def _session(names: Sequence[str], changes: Changes, time: str, phrases: Phrases) -> Session:
    facts = {name: changes[name][1] for name in names}
    return Session(tuple(names), phrases.event(facts), phrases.opener(facts), time)


def evenings(t: int, count: int, months: int, chance: random.Random) -> list[str]:
    """Return the evenings of the last days of a period, one for each session, between 19:00 and 22:00."""
    years, month = divmod(months * (t + 1), 12)
    end = datetime(_FIRST_YEAR + years, month + 1, 1)
    return [(end - timedelta(days=count - number) + timedelta(minutes=19 * 60 + chance.randrange(180)))
            .strftime("%Y-%m-%d %H:%M") for number in range(count)]


def _questions(drawn: Life, sizes: Sizes, chance: random.Random, phrases: Phrases) -> Iterator[Question]:
    names = [*drawn.schema]
    for topic in chance.sample(TOPICS, sizes.questions):
        needs = tuple(sorted(chance.sample(names, min(sizes.required, len(names))), key=names.index))
        yield Question(phrases.question(topic, needs), needs, options(drawn, needs, sizes, chance))


def options(drawn: Life, needs: Sequence[str], sizes: Sizes, chance: random.Random) -> tuple[tuple[str, ...], ...]:
    """Return the options of a question: each state of its variables that occurs, and others drawn where too few do."""
    seen = dict.fromkeys(tuple(state[name] for name in needs) for state in drawn.states)
    least = min(sizes.options, sizes.values ** len(needs))
    while len(seen) < least:
        seen.setdefault(tuple(chance.choice(drawn.schema[name]) for name in needs))
    return tuple(chance.sample([*seen], len(seen)))
