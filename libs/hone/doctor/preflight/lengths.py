"""The distribution of text lengths, against the limits that cut texts off or refuse them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hone.client.preflight import Finding, LengthLimit, Lengths
from hone.doctor.findings import error, ok, warning
from hone.harnesses.catalogue import HARNESSES
from hone.spec.run import RunSpec


@dataclass(frozen=True)
class TokenLimit:
    """The most tokens that a text may have with its answer, the tokens kept for that answer, and who sets the limit."""

    name: str
    tokens: int
    kept: int = 0


@dataclass(frozen=True)
class Counted:
    """Tokens of texts: of `spaced` ones, evenly over all of them, and of the `longest`. `total` counts all texts."""

    name: str
    spaced: Sequence[int]
    longest: Sequence[int] = ()
    total: int | None = None


def limits(spec: RunSpec, positions: int, engine_tokens: int, sampled: bool) -> list[TokenLimit]:
    """Return the limits on a text of the run. A sampled answer needs the room of sampling.max_tokens beside its prompt.
    """
    kept = spec.sampling.max_tokens if sampled else 0
    found = [TokenLimit("the model's positions", positions, kept)] if positions else []
    if not sampled:
        return found
    found.append(TokenLimit("the engine's HONE_ENGINE_MAX_TOKENS", engine_tokens, kept))
    context = spec.harness and HARNESSES[spec.harness.name].params.model_validate(spec.harness.params).max_context
    return [*found, TokenLimit("the harness's max_context", context, kept)] if context else found


def distribution(counted: Counted, against: Iterable[TokenLimit]) -> Lengths:
    """Return the distribution of lengths, and how many texts are over each limit. At least one text is counted."""
    every, ranked = [*counted.spaced, *counted.longest], sorted(counted.spaced or counted.longest)
    return Lengths(
        name=counted.name, counted=len(every), total=counted.total, smallest=min(every), largest=max(every),
        median=_percentile(ranked, 50), p90=_percentile(ranked, 90), p99=_percentile(ranked, 99),
        limits=[LengthLimit(name=one.name, tokens=one.tokens - one.kept,
                            over=sum(length > one.tokens - one.kept for length in every)) for one in against])


def _percentile(ranked: Sequence[int], percent: int) -> int:
    """Return the smallest length that at least this share of the texts does not exceed."""
    return ranked[max(0, -(-percent * len(ranked) // 100) - 1)]


def conclusions(found: Lengths, sampled: bool) -> Iterator[Finding]:
    """Yield a finding for each limit that texts exceed, or that none does."""
    check, clean = f"length of {found.name}", True
    for limit in found.limits:
        if not limit.over:
            continue
        clean = False
        room = "without the room for an answer (sampling.max_tokens), " if sampled else ""
        message = (f"{limit.over} of {found.counted} {found.name} have more than {limit.tokens} tokens, {room}which is "
                f"{limit.name}; the longest has {found.largest}")
        mend = ("leave these rows out or shorten them; a run refuses or drops each of them" if not sampled else
                "leave these tasks out, lower sampling.max_tokens, or raise the limit where it is not the model's")
        yield (error if limit.over == found.counted else warning)(check, message, mend)
    if clean:
        yield ok(check, f"median {found.median}, 99 % up to {found.p99}, longest {found.largest} tokens")
