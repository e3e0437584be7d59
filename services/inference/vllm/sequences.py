"""One sample while vLLM makes it: its tokens, their log-probs, and which version made how many."""

from dataclasses import dataclass, field

from services.inference.requests import Completion, FinishReason, Request


@dataclass(eq=False)
class Sequence:
    """A sample of a request; `key` names it to the core while it is asked there, and is empty otherwise."""

    request: Request
    index: int
    ids: list[int] = field(default_factory=list)
    logp: list[float] = field(default_factory=list)
    versions: list[tuple[str, int]] = field(default_factory=list)  # (version id, consecutive tokens)
    reported: int = 0  # tokens already handed to a streaming caller
    key: str = ""
    ended: bool = False

    def add(self, ids: list[int], logp: list[float], version_id: str) -> None:
        """Append tokens that a version made."""
        self.ids += ids
        self.logp += logp
        version, tokens = self.versions.pop() if self.versions else (version_id, 0)
        if version != version_id:
            self.versions.append((version, tokens))
            tokens = 0
        self.versions.append((version_id, tokens + len(ids)))

    def completion(self, reason: FinishReason | None, end: int | None = None) -> Completion:
        """Return the tokens since the last report up to `end` (None: all so far)."""
        start, end = self.reported, len(self.ids) if end is None else end
        return Completion(self.index, self.ids[start:end], self.logp[start:end], self._spans(start, end), reason)

    def _spans(self, start: int, end: int) -> list[tuple[str, int]]:
        spans, since = [], 0
        for version, tokens in self.versions:
            overlap = min(since + tokens, end) - max(since, start)
            if overlap > 0:
                spans.append((version, overlap))
            since += tokens
        return spans
