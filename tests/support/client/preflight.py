"""A report of a preflight."""

from hone.client.preflight import (
    Cost,
    EndToken,
    Finding,
    GradedReferences,
    GradedSample,
    LengthLimit,
    Lengths,
    PreflightReport,
    ShownCompletion,
    ShownPrompt,
    Tokens,
)

TOKENS = Tokens(ids=[1, 2], texts=["<b>", "<eos>"], control=[1])
REPORT = PreflightReport(
    ok=False, spec={}, findings=[Finding(check="ends of samples", level="error", found="8 of 8", mend="raise it")],
    ends=[EndToken(id=2, text="<eos>", sources=["config.json"])],
    prompts=[ShownPrompt(task="row 1", tokens=TOKENS, reasoning="<think>", completions=[
        ShownCompletion(column="chosen", tokens=TOKENS, trained=[False, True])])],
    lengths=[Lengths(name="prompts", counted=3, smallest=1, median=2, p90=3, p99=3, largest=9,
                     limits=[LengthLimit(name="the model's positions", tokens=8, over=1)])],
    references=[GradedReferences(source="dataset", grader="exact", rows=3, graded=3, right=3)],
    samples=[GradedSample(
        group_id=1, index=0, prompt_tokens=2, completion_tokens=2, finish_reason="length", ended="done",
        status="no_answer", score=0.0, reasons=["no box"], prompt="1+1", text="x", tokens=TOKENS,
        trained=[True, True])],
    memory=[Cost(name="engine: weights", amount=2.0**30, unit="bytes", basis="float32")],
    times=[Cost(name="a step: sampling", amount=2.5, unit="seconds", basis="100 tokens")])
