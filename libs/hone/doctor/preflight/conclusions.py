"""Conclusions from samples, references, prompts and ends of a run, as findings with advice for each."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from hone.client.preflight import EndToken, Finding, GradedReferences, GradedSample, ShownPrompt
from hone.doctor.findings import error, ok, warning
from hone.spec.run import RunSpec

_MANY, _SOME = 0.5, 0.1
"""Shares of samples from which a fault is an error or a warning."""
_OURS = frozenset({"infra_error", "judge_error", "timeout_grader", "invalid_spec"})
"""Statuses without a score: the fault is not the policy's."""
_SHOWN = 3


def of_samples(samples: Sequence[GradedSample], spec: RunSpec) -> Iterator[Finding]:
    """Yield what the samples of the base say about lengths, answers and the grader."""
    if samples:
        yield from _cut_off(samples, spec)
        yield from _masked(samples)
        yield from _answerless(samples)


def _cut_off(samples: Sequence[GradedSample], spec: RunSpec) -> Iterator[Finding]:
    cut = sum(one.finish_reason == "length" for one in samples)
    message = f"{cut} of {len(samples)} samples were cut off at max_tokens {spec.sampling.max_tokens}"
    mend = "raise sampling.max_tokens, or check that the model's end tokens are the tokens above"
    if not cut:
        longest = max(one.completion_tokens for one in samples)
        yield ok("ends of samples", f"none of {len(samples)} samples was cut off; the longest has {longest} tokens")
    elif cut == len(samples) and spec.algorithm.truncated == "drop":
        yield error("ends of samples", f"{message}, and algorithm.truncated: drop leaves them out of every step", mend)
    elif cut / len(samples) > _SOME:
        yield warning("ends of samples", message, mend)
    else:
        yield ok("ends of samples", message)


def _masked(samples: Sequence[GradedSample]) -> Iterator[Finding]:
    masked = [one for one in samples if one.score is None or one.status in _OURS]
    if not masked:
        return
    message = f"{len(masked)} of {len(samples)} samples have no score: {_reasons(masked)}"
    mend = "mend the grader or the service that the reason names; samples without a score are left out of training"
    yield (error if len(masked) == len(samples) else warning)("grades", message, mend)


def _answerless(samples: Sequence[GradedSample]) -> Iterator[Finding]:
    graded = [one for one in samples if one.score is not None]
    without = [one for one in graded if one.status == "no_answer"]
    if without and len(without) / len(graded) >= _MANY:
        yield warning("answers", f"the grader found no answer in {len(without)} of {len(graded)} samples: "
                      f"{_reasons(without)}", "tell the model in the prompt how to write its answer, or change how the "
                      "grader finds it")
    elif graded:
        right = Counter(f"{one.score:g}" for one in graded)
        yield ok("grades", "scores: " + ", ".join(f"{score} × {count}" for score, count in sorted(right.items())))


def _reasons(samples: Sequence[GradedSample]) -> str:
    message = Counter("; ".join(one.reasons) or one.status for one in samples)
    return ". ".join(f"{reason} (× {count})" for reason, count in message.most_common(_SHOWN))


def of_references(found: GradedReferences) -> Iterator[Finding]:
    """Yield whether the references of a source of tasks are right by their own grader."""
    rest = f"; {found.unchecked}" if found.unchecked else ""
    if not found.graded:
        if found.rows:
            yield warning("references", f"{found.source}: not graded: {found.unchecked}",
                          "see `hone health`, then look again")
        elif found.unchecked:
            yield ok("references", f"{found.source}: {found.unchecked}")
        return
    if found.right == found.graded:
        yield ok("references", f"{found.source}: each of {found.graded} graded references is right{rest}")
        return
    rows = "; ".join(f"row {one.row}: {one.reason}" for one in found.wrong[:_SHOWN])
    if not found.right:
        yield error("references", f"{found.source}: no reference passes its grader {found.grader}: {rows}",
                    "the grader cannot reward a right answer: see its reference, its type and how it finds the answer")
    else:
        yield warning("references", f"{found.source}: {found.graded - found.right} of {found.graded} references are "
                      f"not right by their own grader {found.grader}: {rows}{rest}",
                      "mend these rows, or leave them out; a right answer to them gets no reward")


def of_prompts(prompts: Sequence[ShownPrompt], spec: RunSpec) -> Iterator[Finding]:
    """Yield whether prompts hold anything, and how stops and opened reasoning fit together."""
    if empty := [one.task for one in prompts if not one.tokens.ids]:
        yield error("prompts", f"no token in the prompt of {', '.join(empty)}", "give each row a prompt")
    if repeated := _repeated(prompts):
        yield warning("prompts", f"{repeated} of {len(prompts)} first prompts are alike",
                      "see whether the prompt holds the task's own text")
    if opened := next((one.reasoning for one in prompts if one.reasoning), ""):
        yield ok("reasoning", f"the prompt opens {opened}; an answer counts only after that is closed")
        if spec.sampling.stop:
            yield warning("reasoning", f"sampling.stop has {', '.join(map(repr, spec.sampling.stop))}, and a text that "
                          "stops inside the reasoning has no answer", "see whether the model writes these texts while "
                          "it thinks")


def of_rows(unusable: Sequence[str], rows: int) -> Iterator[Finding]:
    """Yield which of `rows` supervised rows the model cannot be trained on; `unusable` holds the reasons."""
    if unusable:
        message = f"{len(unusable)} of {rows} rows cannot be trained on: {'; '.join(unusable[:_SHOWN])}"
        yield (error if len(unusable) == rows else warning)(
            "rows", message, "mend these rows, or leave them out; a run leaves out each of them")


def _repeated(prompts: Sequence[ShownPrompt]) -> int:
    most = Counter(tuple(one.tokens.ids) for one in prompts).most_common(1)
    return most[0][1] if most and len(prompts) > 1 and most[0][1] > 1 else 0


def of_ends(ends: Sequence[EndToken]) -> Iterator[Finding]:
    """Yield the ids that end a completion, and whether the model's files agree about them."""
    message = "; ".join(f"{one.text!r} ({one.id}) of {', '.join(one.sources) or 'the tokenizer'}" for one in ends)
    named: Mapping[str, set[int]] = {
        source: {one.id for one in ends if source in one.sources} for end in ends for source in end.sources}
    if not ends:
        yield error("ends", "no token ends a completion", "name an eos_token in tokenizer_config.json or "
                    "generation_config.json")
    elif len({frozenset(ids) for ids in named.values()}) > 1:
        yield warning("ends", f"the model's files name different ends, and each of them ends a completion: {message}",
                      "nothing, if all of these are ends; otherwise mend the file that is wrong and register the model "
                      "again")
    else:
        yield ok("ends", message)


def of_vocabulary(vocabulary: int, known: int) -> Iterator[Finding]:
    """Yield whether the model has ids that no token has."""
    if vocabulary > known:
        yield ok("vocabulary", f"{vocabulary} ids, of which the tokenizer has {known}: the other "
                 f"{vocabulary - known} are never sampled")
