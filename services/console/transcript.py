"""A sample as a conversation: each call with what its context had anew, its tokens, and the steps that it took."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hone.client.resources import CallTokens, Trajectory, TrajectoryTokens
from services.console import colouring, contexts, formats, parts
from services.console.colouring import Scheme, Token
from services.console.contexts import Stretch
from services.console.markup import Markup, code, details, join, tag


@dataclass(frozen=True)
class Turn:
    """One call as it is shown: `before` is the context that the call before it left."""

    call: dict[str, Any]
    texts: CallTokens
    steps: list[dict[str, Any]]
    tokens: list[Token]
    before: list[int] | None
    before_texts: list[str]

    def fits(self, search: str) -> bool:
        """Tell whether a text is in the answer, in the context or in what the environment said."""
        said = (message.get("content", "") for step in self.steps for message in step["said"])
        own = ["".join(self.texts.completion), "".join(self.texts.prompt), *said]
        return any(search.lower() in text.lower() for text in own)

    def said(self, scheme: Scheme, search: str) -> Markup:
        """Return the call up to its last token as markup."""
        return join([_head(self.call), self._context(search), tag("h4", "Sampled"),
                     colouring.painted(self.tokens, scheme, search), _named(self.call)])

    def done(self) -> Markup:
        """Return the steps that it took as markup."""
        return join(map(_step, self.steps))

    def _context(self, search: str) -> Markup:
        if self.before is None:
            whole = _marked("".join(self.texts.prompt), search)
            return join([tag("h4", "Context"), tag("div", whole, class_="tokens context", tabindex="0")])
        found = contexts.difference(self.before, self.call["prompt_ids"])
        return join([tag("h4", "Context, against the turn before"),
                     tag("div", *(self._stretch(one, search) for one in found), class_="tokens context",
                         tabindex="0")])

    def _stretch(self, one: Stretch, search: str) -> Markup:
        texts = self.before_texts if one.kind == "removed" else self.texts.prompt
        text = "".join(texts[one.start:one.end])
        if one.kind == "kept":
            return details(f"{formats.count(one.tokens)} tokens kept", _marked(text, search))
        name = "ins" if one.kind == "added" else "del"
        return tag(name, _marked(text, search), title=f"{one.tokens} tokens {one.kind}")


def calls(sample: Trajectory, texts: TrajectoryTokens) -> list[Turn]:
    """Return a sample's calls in order; without texts the ids stand for themselves."""
    found: list[Turn] = []
    for place, call in enumerate(sample.calls):
        own = texts.calls[place] if place < len(texts.calls) else _ids(call)
        last = found[-1] if found else None
        found.append(Turn(
            call, own, [step for step in sample.steps if step["call"] == call["index"]],
            _tokens(call, own),
            None if last is None else [*last.call["prompt_ids"], *last.call["completion_ids"]],
            [] if last is None else [*last.texts.prompt, *last.texts.completion]))
    return found


def _ids(call: dict[str, Any]) -> CallTokens:
    return CallTokens(prompt=[f"#{one} " for one in call["prompt_ids"]],
                      completion=[f"#{one} " for one in call["completion_ids"]])


def _tokens(call: dict[str, Any], texts: CallTokens) -> list[Token]:
    unknown = [None] * len(call["completion_ids"])
    logps: Sequence[float | None] = call["logp_sample"] or unknown
    taught: Sequence[float | None] = teachers(call) or unknown
    weighed: Sequence[float | None] = texts.advantages or unknown
    return [Token(id, text, logp, trained, advantage, word, _around(call, place), version)
            for place, (id, text, logp, trained, advantage, word, version) in enumerate(zip(
                call["completion_ids"], texts.completion, logps, call["train_mask"], weighed, taught, _versions(call),
                strict=True))]


def _versions(call: dict[str, Any]) -> list[str]:
    """Return what sampled each token of a call; empty where nobody did."""
    found = [span["version_id"] for span in call.get("versions", []) for _ in range(span["tokens"])]
    return found + [""] * (len(call["completion_ids"]) - len(found))


def _around(call: dict[str, Any], place: int) -> tuple[str, ...]:
    """Return the named spans that a token is in, each with its weight where it has one of its own."""
    return tuple(span["name"] + (f", weight {formats.number(span['weight'])}" if span["weight"] != 1 else "")
                 for span in call.get("spans", []) if span["start"] <= place < span["end"])


def teachers(call: dict[str, Any]) -> list[float]:
    """Return a teacher's log-probs of a call's tokens; none where it has not spoken."""
    return next((word["logp"] for word in call.get("scored", []) if word["name"] == "teacher"), [])


def _head(call: dict[str, Any]) -> Markup:
    versions = ", ".join(f"{formats.short(span['version_id'])} ({span['tokens']})" for span in call["versions"])
    said = f"{len(call['prompt_ids'])} + {len(call['completion_ids'])} tokens · {call['finish_reason']}"
    return tag("header", tag("h3", f"Call {call['index']}"), parts.chip(f"{call['role']}: {call['kind']}", "off"),
               tag("span", f"turn {call['turn']}", class_="note"), tag("span", said, class_="note"),
               tag("span", versions, class_="note mono", title="versions that sampled it, with their tokens"))


def _named(call: dict[str, Any]) -> Markup:
    """Say what is underlined: each span with its number of tokens."""
    told = [f"{span['name']} ({formats.count(span['end'] - span['start'])})" for span in call.get("spans", [])]
    return tag("div", f"Underlined, with their tokens: {', '.join(told)}", class_="note") if told else Markup("")


def _step(step: dict[str, Any]) -> Markup:
    said = [tag("div", tag("span", message.get("role", ""), class_="role"), code(message.get("content", "")))
            for message in step["said"]]
    return tag("div", tag("h4", f"Step {step['index']}", join(_fate(step), " ")), code(step["action"]), *said,
               class_="step")


def _fate(step: dict[str, Any]) -> Iterable[Markup]:
    yield parts.chip("valid", "good") if step["valid"] else parts.chip("not valid", "bad")
    if step["effect"] is not None:
        yield parts.chip("changed something" if step["effect"] else "changed nothing", "off")
    if step["reward"] is not None:
        yield parts.chip(f"reward {formats.number(step['reward'])}", "busy")
    for rule, score in step.get("rules", {}).items():
        yield parts.chip(f"{rule} {formats.number(score)}", "bad" if score < 0 else "off")


def _marked(text: str, search: str) -> Markup:
    """Return text with what is searched for marked, letter case aside."""
    if not search:
        return Markup("{}").format(text)
    found, at = [], 0
    for hit in re.finditer(re.escape(search), text, re.IGNORECASE):
        found += [text[at:hit.start()], tag("mark", hit.group())]
        at = hit.end()
    return join([*found, text[at:]])
