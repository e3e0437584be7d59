"""Noise of tools that a model writes, in the role `noiser`: what it is asked, and what is checked of its words.

After AgentNoiseBench, arXiv 2602.11348. The guidelines follow the paper's table of types; their wording, the checks and
the bounds are a reconstruction.
"""

import re
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

from hone.environments.contract import Message
from hone.environments.noise import parts
from hone.environments.noise.tool_noise import HIDDEN, MOST_BYTES
from hone.spec.noise import NoiseType

NOISER = "noiser"
"""The role of the model that writes noise."""
RETRIES = 1
"""How often the model is asked again for words that are refused. Then the result stays clean."""
_MOST_CHANGED = 2
_MASKED = 0.5
_FENCE = re.compile(r"\A```[^\n]*\n(.*?)\n?```\Z", re.DOTALL)
_HIDDEN = "cannot be displayed"
_ENDS = ("…", "...")

GUIDELINES: Mapping[NoiseType, str] = {
    "incomplete": f"Take some of its content away. Either write {HIDDEN} in the place of at most half of the values, "
    "first those that the call asked for, or cut one value off and end it with an ellipsis. Change nothing else.",
    "error": "Make one or two of its values wrong: shift a number or a date, put in a similar other name, reverse a "
    "relation, or negate a conclusion. Change nothing else.",
    "redundancy": "Surround its truth with filler that is irrelevant and plausible: prefixes, suffixes, repeated "
    "statements, menus, advertisements. Every value stays as it is, word by word, and no fact is added to them.",
    "misleading": "Add three short texts, before, between and behind its content. They point to a similar wrong name, "
    "another date or another action, or ask for a call of a tool `click`, or to ask the user about an offer. Every "
    "value stays as it is, word by word.",
}
_STAYS = "Every value of JSON, and every line of a text, stays as it is, word by word and in its order."
_RULES: Mapping[NoiseType, str] = {
    "incomplete": f"At most half of the values are lost: {HIDDEN}, or a beginning with an ellipsis. The others stay.",
    "error": "At most two values of a record are others, of the same type. The names before them stay.",
    "redundancy": _STAYS,
    "misleading": _STAYS,
}
_HEAD = "You write noise into the result of a tool, to test an agent that reads it."
_FORM = ("Keep the form: JSON stays JSON with the same keys in the same order and lists of the same length; of a text, "
         "lines and the names before their values stay. Write the changed result, and nothing else.")
_ROOM = 2000
"""Characters that noise may add to any result, beside twice its own length."""


class Unfit(Exception):
    """Words that cannot stand for a result. The message says why, for the model that wrote them."""


def messages(
    kind: NoiseType, result: str, asked: str, refused: Sequence[tuple[str, str]] = (), guideline: str | None = None,
) -> list[Message]:
    """Return the messages that ask for a result with noise of a kind. `asked` is the agent's call.

    `refused` holds earlier words for the same result, with the reason why each was refused. `guideline` stands in the
    place of the kind's own; what has to hold of the words is said behind it.
    """
    again = [f"You wrote {words!r}. That is refused: {reason}. Write another one." for words, reason in refused]
    own = [GUIDELINES[kind]] if guideline is None else [guideline, rules(kind)]
    system = "\n\n".join([_HEAD, *own, _FORM, *again])
    return [{"role": "system", "content": system},
            {"role": "user", "content": f"The agent's call:\n{asked}\n\nThe tool's result:\n{result}"}]


def rules(kind: NoiseType) -> str:
    """Return the checks of a kind's words under any guideline, for the model that writes them."""
    return _RULES[kind]


def read(kind: NoiseType, original: str, words: str) -> str:
    """Return the result that a model wrote, in the form and with the end of the original. Raises Unfit."""
    ended = original[len(original.rstrip("\n")):]
    said, truth = _plain(words, original), original.rstrip("\n")
    if not said.strip():
        raise Unfit("it is empty")
    if len(said) > 3 * len(truth) + _ROOM or len(said.encode()) > MOST_BYTES:
        raise Unfit(f"it has {len(said)} characters, expected at most {3 * len(truth) + _ROOM}")
    value = parts.parsed(truth)
    if parts.is_json(value):
        said = _of_json(kind, value, said, truth)
    elif kind in ("redundancy", "misleading"):
        _expect_kept_lines(truth, said)
    else:
        _expect_changed(kind, _values(kind, truth), _same_lines(kind, truth, said))
    if said == truth:
        raise Unfit("it is the result without noise")
    return said + ended


def _plain(words: str, original: str) -> str:
    """Return words without the fence that models put around what they are asked for."""
    fenced = None if original.lstrip().startswith("```") else _FENCE.match(words.strip())
    return (fenced[1] if fenced else words).strip("\n")


def _of_json(kind: NoiseType, value: Any, said: str, truth: str) -> str:
    """Return the words as the original's JSON is written. Raises Unfit."""
    changed = parts.parsed(said)
    if not parts.is_json(changed):
        raise Unfit("it is no JSON, as the result is")
    if _ordered(value) != _ordered(changed):
        raise Unfit("its keys or the lengths of its lists are others than those of the result")
    before, after = dict(parts.leaves(value)), dict(parts.leaves(changed))
    if kind in ("redundancy", "misleading"):
        for path, leaf in before.items():
            if leaf != after[path] and not (isinstance(leaf, str) and isinstance(after[path], str)
                                            and leaf in after[path]):
                raise Unfit(f"the value {leaf!r} at {_shown(path)} does not stay as it is")
    else:
        _expect_changed(kind, before, after)
    return parts.written(changed, truth)


def _ordered(value: Any) -> Any:
    """Return the form of JSON, with the order of its keys."""
    if isinstance(value, Mapping):
        return [(name, _ordered(inner)) for name, inner in value.items()]
    return [_ordered(inner) for inner in value] if isinstance(value, list) else None


def _expect_kept_lines(truth: str, said: str) -> None:
    """Raise Unfit unless each line of a text is still there, in order."""
    at = 0
    for line in filter(None, map(str.strip, truth.split("\n"))):
        place = said.find(line, at)
        if place < 0:
            raise Unfit(f"the line {line[:200]!r} does not stay as it is, in its order")
        at = place + len(line)


def _values(kind: NoiseType, text: str) -> dict[parts.Path, str]:
    """Return the values of a text by their lines."""
    lines = text.split("\n")
    return {(place,): parts.keyed(lines[place])[1] for place in _changeable(kind, lines)}


def _changeable(kind: NoiseType, lines: list[str]) -> list[int]:
    """Return the lines that may change: any may be wrong, and what has a value may be lost."""
    return parts.entries(lines) if kind == "incomplete" else [place for place, line in enumerate(lines) if line.strip()]


def _same_lines(kind: NoiseType, truth: str, said: str) -> dict[parts.Path, str]:
    """Return the values of changed words by the lines of the original. Raises Unfit where more is changed."""
    before, after = truth.split("\n"), said.split("\n")
    if len(before) != len(after):
        raise Unfit(f"it has {len(after)} lines, expected the {len(before)} of the result")
    places, found = set(_changeable(kind, before)), dict[parts.Path, str]()
    for place, (line, other) in enumerate(zip(before, after, strict=True)):
        key = parts.keyed(line)[0] if place in places else line
        if not other.startswith(key) or (place not in places and other != line):
            raise Unfit(f"line {place + 1} does not begin with {key!r}, or has no value that may change")
        if place in places:
            found[(place,)] = other[len(key):]
    return found


def _expect_changed(kind: NoiseType, before: Mapping[parts.Path, Any], after: Mapping[parts.Path, Any]) -> None:
    """Raise Unfit unless few values are changed, and as the kind of noise changes them."""
    changed = [path for path, leaf in before.items() if leaf != after[path]]
    if not changed:
        raise Unfit("no value is changed")
    if kind == "incomplete":
        if wrong := next((path for path in changed if not _lost(before[path], after[path])), None):
            raise Unfit(f"the value at {_shown(wrong)} is another one, expected {HIDDEN} or its beginning with an "
                        "ellipsis")
        most = max(1, ceil(_MASKED * len(before)))
        if len(changed) > most:
            raise Unfit(f"{len(changed)} values are lost, expected at most {most}")
        return
    records = [path[:-1] for path in changed]
    if max(map(records.count, records)) > _MOST_CHANGED:
        raise Unfit(f"more than {_MOST_CHANGED} values of one record are changed")
    if odd := next((path for path in changed if type(before[path]) is not type(after[path])), None):
        raise Unfit(f"the value at {_shown(odd)} is of another type")


def _lost(before: Any, after: Any) -> bool:
    """Return whether a value is hidden, or cut off: nothing is invented."""
    if not isinstance(after, str):
        return False
    if after.strip().strip("[]().").lower() == _HIDDEN:
        return True
    end = next((end for end in _ENDS if after.endswith(end)), None)
    kept = after.removesuffix(end).rstrip() if end else ""
    return end is not None and str(before).startswith(kept) and kept != str(before)


def _shown(path: parts.Path) -> str:
    return ".".join(map(str, path)) or "the top"
