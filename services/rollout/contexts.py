"""Privileged contexts: the prompts of a group's calls as a policy would read them that has been told more."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hone.environments.contract import Message
from hone.graders import templates
from hone.graders.results import InvalidSpec
from hone.trajectory.order import PrivilegedText
from hone.trajectory.records import Call, Context
from hone.trajectory.tokens import Tokenizer
from services.rollout.claims import Claim
from services.rollout.tokenizers import reading

NAME = "privileged"


@dataclass(frozen=True)
class Opening:
    """An episode's first prompt of the policy, and what it is with the text put in."""

    text: str
    plain_ids: list[int]
    ids: list[int]

    @property
    def source(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


class Contexts:
    """What a group's policy is told besides when it judges its own tokens; shared by the group's samples."""

    def __init__(
        self, texts: Sequence[PrivilegedText], item: Mapping[str, Any], tokenizer: Tokenizer, positions: int
    ) -> None:
        """Take {text, match} in order, the task's item that the texts may name, and how many ids an engine holds."""
        self._told = [(told, one.match or "") for one in texts if (told := _filled(one.text, item))]
        self._tokenizer, self._positions = tokenizer, positions
        self._openings: dict[tuple[int, ...], Opening | None] = {}

    @classmethod
    def of(cls, claim: Claim, item_json: str, tokenizer: Tokenizer, positions: int) -> "Contexts":
        """Return a claim's; of its dataset row and what graders see, texts may name either's fields."""
        item = {**(claim.order.task.get("item") or {}), **json.loads(item_json or "{}")}
        return cls(claim.order.privileged, item, tokenizer, positions)

    def opening(self, asked: Sequence[Message], call: Call) -> Opening | None:
        """Return the opening of an episode whose first call of the policy answers `asked`; None if no text fits."""
        key = tuple(call.prompt_ids)
        if key not in self._openings:
            text = self._text(asked)
            self._openings[key] = Opening(text, call.prompt_ids, self._prompt_ids(asked, text)) if text else None
        return self._openings[key]

    def contexts(self, opening: Opening | None, asked: Sequence[Message], call: Call) -> list[Context]:
        """Return a call's contexts: the ids of the opening go on as the policy's own do, where its prompt goes on.

        None where there is no text, or where the prompt with its completion would be longer than an engine holds: what
        does not fit is never cut.
        """
        if opening is None:
            return []
        first = len(opening.plain_ids)
        goes_on = call.prompt_ids[:first] == opening.plain_ids
        ids = [*opening.ids, *call.prompt_ids[first:]] if goes_on else self._prompt_ids(asked, opening.text)
        fits = len(ids) + len(call.completion_ids) <= self._positions
        return [Context(NAME, ids, opening.source)] if fits else []

    def _text(self, asked: Sequence[Message]) -> str:
        """Return the texts that fit the first prompt, which is what stands outside its system message."""
        prompt = "\n".join(one["content"] for one in asked if one["role"] != "system").casefold()
        return "\n\n".join(told for told, match in self._told if match.casefold() in prompt)

    @reading("policy")
    def _prompt_ids(self, asked: Sequence[Message], text: str) -> list[int]:
        return self._tokenizer.prompt_ids(told(asked, text, self._tokenizer.templated))


def told(asked: Sequence[Message], text: str, templated: bool) -> list[Message]:
    """Return messages with a text in their system message, which is made where there is none.

    Without chat template the text is a line before everything.
    """
    if not templated:
        return [{"role": "system", "content": f"{text}\n"}, *asked]
    if asked and asked[0]["role"] == "system":
        return [{**asked[0], "content": f"{asked[0]['content']}\n\n{text}"}, *asked[1:]]
    return [{"role": "system", "content": text}, *asked]


def _filled(text: str, item: Mapping[str, Any]) -> str:
    """Return a text with the item's fields; "" where the item lacks one."""
    try:
        return templates.rendered(text, dict(item), "")
    except InvalidSpec:
        return ""
