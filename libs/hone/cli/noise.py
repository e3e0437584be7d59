"""Effects of noise on a policy, as lines of a terminal."""

from collections.abc import Iterator, Sequence

from hone.cli.output import say, table
from hone.client.noise import NoiseReport


def show(found: NoiseReport) -> None:
    """Print the table, and what belongs below it."""
    if not found.rows:
        say("no evaluation of the run has had noise yet; eval.noise asks for it")
        return
    table(columns(found), lines(found))
    for line in below(found):
        say(line)


def columns(found: NoiseReport) -> list[str]:
    """Return the titles of the table's columns."""
    powers = (f"pass^{k}" for k in range(1, _most(found) + 1))
    return ["noise", "reward", "drop", *powers, "tokens", "turns", "injections", "stable", "similar", "entropy",
            "misled", "deviated"]


def lines(found: NoiseReport) -> Iterator[Sequence[str]]:
    """Yield the lines of the table, the clean answers first."""
    for row in found.rows:
        powers = [*map(_number, row.pass_hat), *["-"] * (_most(found) - len(row.pass_hat))]
        yield [row.noise or "clean", _number(row.reward), _share(row.drop), *powers, f"{row.tokens:.0f}",
               f"{row.turns:.1f}", f"{row.injections:.2f}", _share(row.stable), _or_none(row.similar),
               _or_none(row.entropy), _share(row.misled), _share(row.deviated)]


def below(found: NoiseReport) -> Iterator[str]:
    """Yield what is said below the table."""
    yield (f"after step {found.step}; an answer succeeds from a score of {found.success:g}; drops are against the "
           "clean answers to the same tasks")
    if masked := sum(row.masked for row in found.rows):
        yield f"{masked} answers have no score and no part in this"
    if failed := sum(row.failed for row in found.rows):
        yield f"{failed} results stayed clean, because the noiser's words did not fit"
    if judged := sum(row.judged for row in found.rows):
        yield (f"a judge gave {judged} verdicts; rewards where an answer that was led away counts 0: "
               + ", ".join(f"{row.noise} {row.undeviated:.3f}" for row in found.rows if row.undeviated is not None))
    if undefined := max((row.undefined for row in found.rows), default=0):
        yield f"{undefined} tasks fail without noise, so that nothing can drop"
    if found.truncated:
        yield "there are more answers than are read"


def _most(found: NoiseReport) -> int:
    return max((len(row.pass_hat) for row in found.rows), default=0)


def _number(value: float) -> str:
    return f"{value:.3f}"


def _or_none(value: float | None) -> str:
    return "-" if value is None else _number(value)


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}%"
