"""Grades as PostgreSQL and protocol buffers can hold them: a policy writes JSON, which can spell what they cannot."""

from dataclasses import replace

from hone.graders.contract import Result
from hone.text.storable import storable


def storable_result(result: Result) -> Result:
    """Return a grade with texts that can be stored; a verify server may have given the names of its components."""
    return replace(
        result, components=storable(result.components), reasons=tuple(storable(result.reasons)),
        extracted=storable(result.extracted), turns=storable(result.turns), tokens=storable(result.tokens),
        steps=tuple(replace(step, name=storable(step.name)) for step in result.steps),
        evidence=tuple(storable(result.evidence)))
