"""Checks of graders as tables of a terminal."""

from collections.abc import Iterable, Iterator, Sequence

from hone.cli.output import cell, rows, say, table
from hone.client.check_resources import GraderCheck

_COLUMNS = ("kind", "pairs", "right, accepted", "wrong, accepted", "right, refused", "wrong, refused", "no verdict")
_FIGURES = {
    "gap": "1 - fp - fn", "false_accepts": "fp: wrong outputs that are accepted",
    "false_refusals": "fn: right outputs that are refused", "key_accepts": "master keys that are accepted",
    "no_verdict": "without a verdict", "f1": "F1", "precision": "precision", "recall": "recall",
    "balanced_accuracy": "balanced accuracy"}


def show(check: GraderCheck, as_json: bool) -> None:
    """Print a check that has ended."""
    if as_json:
        say(check.model_dump_json())
        return
    if check.state == "failed":
        say(f"the check {check.id} failed: {check.reason}")
        return
    table(_COLUMNS, _kinds(check))
    say("")
    table(("figure", ""), [(name, cell(getattr(check.figures, field))) for field, name in _FIGURES.items()])
    say("")
    judges = ", ".join(f"{name} ({pinned or 'unknown'})" for name, pinned in check.judges.items()) or "no judge"
    say(f"check {check.id} of {check.grader['type']} {check.grader_hash[:12]} on {check.set}: {judges}; "
        f"{check.seconds:.1f} s, {sum(check.tokens.values())} tokens")


def show_all(found: Iterable[GraderCheck], as_json: bool) -> None:
    """Print checks, one a line."""
    if as_json:
        rows(found, (), as_json)
        return
    table(("id", "grader", "set", "run", "step", "state", "1-fp-fn", "fp", "keys", "no verdict", "created_at"),
          ([one.id, f"{one.grader['type']} {one.grader_hash[:12]}", one.set, cell(one.run_id), cell(one.step),
            one.state, cell(one.figures.gap), cell(one.figures.false_accepts), cell(one.figures.key_accepts),
            cell(one.figures.no_verdict), cell(one.created_at)] for one in found))


def _kinds(check: GraderCheck) -> Iterator[Sequence[str]]:
    for kind, one in check.counts.items():
        counts = (one.tp, one.fp, one.fn, one.tn, one.invalid)
        yield [kind, str(sum(counts)), *map(str, counts)]
