"""Groups of episodes that branch with and without a skill."""

from dataclasses import replace

from tests.unit.trajectory.samples import call, trajectory


def said(number, ids, kind="answer", **notes):
    """A call of one seat; what it says is unlike what others say."""
    return call([1, 2], ids, number=number, kind=kind, notes=notes)


def ended(success, steps=3):
    return {"outcome": {"success": success, "steps": steps}}


def trunk(success, steps=3, turns=4, skills=(), first=10):
    """An episode's calls; `skills` are the turns that call a skill, with their status."""
    called = {turn: {"skill": "z", "status": status} for turn, status in dict(skills).items()}
    return [said(str(turn), [first + turn], **called.get(turn, {}), **(ended(success, steps) if turn == turns - 1 else
                                                                       {})) for turn in range(turns)]


def side(name, end, before="1", fork=4, place=0, repeat=0, length=4, entropy=0.5, invoked=True, first=50):
    """A continuation's calls; `end` is (success, steps), None where it was given up."""
    noted = {"before": before, "side": name, "skill": "z", "entropy": entropy, "invoked": invoked, "repeat": repeat}
    base = first + 100 * (name == "skip")
    calls = [said(f"{fork}.{place}.{turn}", [base + turn, base], name if turn == 0 else "answer",
                  **({"branch": noted} if turn == 0 else {})) for turn in range(length)]
    last = replace(calls[-1], notes={**calls[-1].notes, **(ended(*end) if end else {})})
    return [*calls[:-1], last]


def branched(index, invoke, skip, group=0, success=True, **changes):
    """A sample whose turn 1 was branched."""
    return trajectory(group, index, *trunk(success), *side("invoke", invoke, **changes),
                      *side("skip", skip, place=1, **changes))


def both(group=0):
    """A group whose two branches have one verdict each, so that both are kept."""
    return [branched(0, (True, 2), (False, 2), group), branched(1, (False, 2), (True, 2), group)]
