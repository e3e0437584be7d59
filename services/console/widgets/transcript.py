"""A sample as a conversation: for each call its new context, its tokens, and the steps that it took."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

from hone.client.resources import CallTokens, Trajectory, TrajectoryTokens
from services.console.widgets import formats, parts, tokens
from services.console.widgets.markup import Markup, code, details, join, tag
from services.console.widgets.tokens import Scheme, Token

_SHORTEST = 8
"""Least length of a kept stretch between two changes, in tokens; shorter ones are equal by chance."""

_LONGEST = 2000
"""Longest change that is compared token by token, in tokens; the comparison takes quadratic time."""


@dataclass(frozen=True)
class Stretch:
    """Consecutive tokens that were kept, removed or added.

    `start` and `end` are indices of the later context; for a removed stretch, of the earlier one.
    """

    kind: Literal["kept", "removed", "added"]
    start: int
    end: int

    @property
    def tokens(self) -> int:
        """The number of its tokens."""
        return self.end - self.start


@dataclass(frozen=True)
class ShownCall:
    """One call of a sample with everything that the page shows of it.

    `before` holds the token ids of the previous call, prompt and completion; None for the first call.
    """

    call: dict[str, Any]
    texts: CallTokens
    steps: list[dict[str, Any]]
    tokens: list[Token]
    before: list[int] | None
    before_texts: list[str]
    refused: str = ""  # why the environment refused what a role said, and asked again

    @property
    def elsewhere(self) -> bool:
        """Whether an endpoint said it: there are no ids."""
        return not self.call["prompt_ids"] and not self.call["completion_ids"]

    def fits(self, search: str) -> bool:
        """Return whether a text is in the answer, in the context or in a message of the environment."""
        messages = (message.get("content", "") for step in self.steps for message in step["said"])
        own = ["".join(self.texts.completion), "".join(self.texts.prompt), self.call.get("text", ""), *messages]
        return any(search.lower() in text.lower() for text in own)

    def answer(self, scheme: Scheme, search: str) -> Markup:
        """Return the call up to its last token: heading, context, coloured tokens; of an endpoint, its words."""
        if self.elsewhere:
            said = tag("div", _marked(self.call.get("text", ""), search), class_="tokens", tabindex="0")
            return join([_heading(self.call), tag("h4", "Said"), said, _given(self.call)])
        return join([_heading(self.call), self._context(search), tag("h4", "Sampled"),
                     tokens.painted(self.tokens, scheme, search), _named(self.call), _given(self.call)])

    def outcome(self) -> Markup:
        """Return the steps that the call took, and why its words were refused."""
        why = tag("div", parts.chip("refused", "bad"), f" {self.refused}; asked again", class_="note")
        return join([*map(_step, self.steps), *([why] if self.refused else [])])

    def _context(self, search: str) -> Markup:
        if self.before is None:
            whole = _marked("".join(self.texts.prompt), search)
            return join([tag("h4", "Context"), tag("div", whole, class_="tokens context", tabindex="0")])
        found = difference(self.before, self.call["prompt_ids"])
        return join([tag("h4", "Context, compared with the call before"),
                     tag("div", *(self._stretch(one, search) for one in found), class_="tokens context",
                         tabindex="0")])

    def _stretch(self, one: Stretch, search: str) -> Markup:
        texts = self.before_texts if one.kind == "removed" else self.texts.prompt
        text = "".join(texts[one.start:one.end])
        if one.kind == "kept":
            return details(f"{formats.count(one.tokens)} tokens kept", _marked(text, search))
        name = "ins" if one.kind == "added" else "del"
        return tag(name, _marked(text, search), title=f"{one.tokens} tokens {one.kind}")


def calls(sample: Trajectory, texts: TrajectoryTokens) -> list[ShownCall]:
    """Return a sample's calls in order. Without texts of the tokens, their ids are shown."""
    found: list[ShownCall] = []
    reasons = _refusals(sample)
    for place, call in enumerate(sample.calls):
        own = texts.calls[place] if place < len(texts.calls) else _ids(call)
        last = _before(call, found)
        found.append(ShownCall(
            call, own, [step for step in sample.steps if step["call"] == call["index"]],
            _tokens(call, own),
            None if last is None else [*last.call["prompt_ids"], *last.call["completion_ids"]],
            [] if last is None else [*last.texts.prompt, *last.texts.completion], reasons.get(call["index"], "")))
    return found


def _refusals(sample: Trajectory) -> dict[int, str]:
    """Return why words of a role were refused, by the index of the call that said them."""
    refused = sample.item.get("refused")
    given = [one for one in refused if isinstance(one, dict)] if isinstance(refused, list) else []
    roles = {call["index"] for call in sample.calls if call.get("role", "policy") != "policy"}
    asked = [step for step in sample.steps if step["call"] in roles and not step["valid"]]
    return {step["call"]: str(one.get("reason", "")) for step, one in zip(asked, given, strict=False)}


def _before(call: dict[str, Any], earlier: Sequence[ShownCall]) -> ShownCall | None:
    """Return the call whose context a call's own is compared with: its parent, or else the one before."""
    if call.get("parent") is None:
        return earlier[-1] if earlier else None
    return next((one for one in earlier if one.call.get("number") == call["parent"]), None)


def _ids(call: dict[str, Any]) -> CallTokens:
    return CallTokens(prompt=[f"#{one} " for one in call["prompt_ids"]],
                      completion=[f"#{one} " for one in call["completion_ids"]])


def _tokens(call: dict[str, Any], texts: CallTokens) -> list[Token]:
    unknown = [None] * len(call["completion_ids"])
    logps: Sequence[float | None] = call["logp_sample"] or unknown
    teacher_logps: Sequence[float | None] = teachers(call) or unknown
    advantages: Sequence[float | None] = texts.advantages or unknown
    return [Token(id, text, logp, trained, advantage, teacher, _around(call, place), version)
            for place, (id, text, logp, trained, advantage, teacher, version) in enumerate(zip(
                call["completion_ids"], texts.completion, logps, call["train_mask"], advantages, teacher_logps,
                _versions(call), strict=True))]


def _versions(call: dict[str, Any]) -> list[str]:
    """Return the version that sampled each token of a call; an empty text for a token without one."""
    found = [span["version_id"] for span in call.get("versions", []) for _ in range(span["tokens"])]
    return found + [""] * (len(call["completion_ids"]) - len(found))


def _around(call: dict[str, Any], place: int) -> tuple[str, ...]:
    """Return the named spans around a token, each with its weight if that is not 1."""
    return tuple(span["name"] + (f", weight {formats.number(span['weight'])}" if span["weight"] != 1 else "")
                 for span in call.get("spans", []) if span["start"] <= place < span["end"])


def teachers(call: dict[str, Any]) -> list[float]:
    """Return the teacher's log-probs of a call's tokens; an empty list if the teacher did not score the call."""
    return next((one["logp"] for one in call.get("scored", []) if one["name"] == "teacher"), [])


def _heading(call: dict[str, Any]) -> Markup:
    versions = ", ".join(f"{formats.short(span['version_id'])} ({span['tokens']})" for span in call["versions"])
    sizes = f"{len(call['prompt_ids'])} + {len(call['completion_ids'])} tokens · {call['finish_reason']}"
    name = call.get("number") or call["index"]
    endpoint = call.get("sampling", {}).get("endpoint")
    voice = [parts.chip(f"endpoint {endpoint}: {call.get('engine', '')}", "off")] if endpoint else []
    return tag("header", tag("h3", f"Call {name}"), parts.chip(f"{call['role']}: {call['kind']}", "off"), *voice,
               tag("span", f"turn {call['turn']}", class_="note"), tag("span", sizes, class_="note"),
               tag("span", versions, class_="note mono", title="versions that sampled it, with numbers of tokens"))


def _named(call: dict[str, Any]) -> Markup:
    """Return the names of the underlined spans, each with its number of tokens."""
    spans = [f"{span['name']} ({formats.count(span['end'] - span['start'])})" for span in call.get("spans", [])]
    return tag("div", f"Underlined, with numbers of tokens: {', '.join(spans)}", class_="note") if spans else Markup("")


def _given(call: dict[str, Any]) -> Markup:
    """Return the notes of harness and grader on the call by name."""
    scores = [("harness", name, value) for name, value in call.get("rules", {}).items()]
    scores += [("grader", name, value) for name, value in call.get("scores", {}).items()]
    chips = [parts.chip(f"{who}: {name} {formats.number(value)}", "bad" if value < 0 else "off")
             for who, name, value in scores]
    noted = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in call.get("notes", {}).items()]
    notes = [tag("div", f"Noted: {'; '.join(noted)}", class_="note")] if noted else []
    return tag("div", join([*chips, *notes], " ")) if chips or notes else Markup("")


def _step(step: dict[str, Any]) -> Markup:
    messages = [tag("div", tag("span", message.get("role", ""), class_="role"), code(message.get("content", "")))
            for message in step["said"]]
    return tag("div", tag("h4", f"Step {step['index']}", join(_effects(step), " ")), code(step["action"]), *messages,
               *_original(step.get("injection") or {}), class_="step")


def _original(injection: dict[str, Any]) -> Iterable[Markup]:
    """Yield what a tool said before noise changed it, or why none did."""
    if "failed" in injection:
        yield tag("div", f"It stayed without noise: {injection['failed']}", class_="note")
    elif injection:
        said = code(injection["original"]) if injection["executed"] else tag("em", "the call was not carried out")
        yield tag("div", tag("span", "without noise", class_="role"), said)


def _effects(step: dict[str, Any]) -> Iterable[Markup]:
    yield parts.chip("valid", "good") if step["valid"] else parts.chip("not valid", "bad")
    if injection := step.get("injection"):
        failed = "failed" in injection
        yield parts.chip(f"{'no ' if failed else ''}noise: {injection['type']}", "off" if failed else "warn")
    if step["effect"] is not None:
        yield parts.chip("changed something" if step["effect"] else "changed nothing", "off")
    if step["reward"] is not None:
        yield parts.chip(f"reward {formats.number(step['reward'])}", "busy")
    for rule, score in step.get("rules", {}).items():
        yield parts.chip(f"{rule} {formats.number(score)}", "bad" if score < 0 else "off")


def _marked(text: str, search: str) -> Markup:
    """Return text with the matches of `search` marked. Upper and lower case are the same."""
    if not search:
        return Markup("{}").format(text)
    found, at = [], 0
    for hit in re.finditer(re.escape(search), text, re.IGNORECASE):
        found += [text[at:hit.start()], tag("mark", hit.group())]
        at = hit.end()
    return join([*found, text[at:]])


def difference(before: Sequence[int], after: Sequence[int]) -> list[Stretch]:
    """Return the stretches that were kept, removed and added from one context to the next, in reading order."""
    first = _equal(before, after)
    last = _equal(before[first:][::-1], after[first:][::-1])
    middle = _changed(before[first:len(before) - last], after[first:len(after) - last], first)
    stretches = [Stretch("kept", 0, first), *middle, Stretch("kept", len(after) - last, len(after))]
    return [one for one in stretches if one.tokens]


def _equal(one: Sequence[int], other: Sequence[int]) -> int:
    """Return the number of equal tokens at the beginning of both."""
    pairs = zip(one, other, strict=False)
    return next((place for place, (left, right) in enumerate(pairs) if left != right), min(len(one), len(other)))


def _changed(before: Sequence[int], after: Sequence[int], start: int) -> list[Stretch]:
    if max(len(before), len(after)) > _LONGEST:
        return _replaced(start, start + len(before), start, start + len(after))
    found: list[Stretch] = []
    gone = come = start
    for block in SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks():
        ends = block.a == len(before)
        if not ends and block.size < _SHORTEST:
            continue
        found += _replaced(gone, start + block.a, come, start + block.b)
        gone, come = start + block.a + block.size, start + block.b + block.size
        found.append(Stretch("kept", come - block.size, come))
    return found


def _replaced(gone: int, gone_end: int, come: int, come_end: int) -> list[Stretch]:
    return [Stretch("removed", gone, gone_end), Stretch("added", come, come_end)]
