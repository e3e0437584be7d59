"""The published tables: which results each reads, and how it writes them. A new one is a function and a line below."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks import domain_scores
from benchmarks.markdown import markdown

Result = Mapping[str, Any]


@dataclass(frozen=True)
class Table:
    """What a table is made from; `write` gets those of its results that exist, in this order."""

    results: tuple[str, ...]
    command: str
    write: Callable[[Sequence[Result]], str]


def grpo_step(results: Sequence[Result]) -> str:
    """A row for each trainer and layout of each setting; the ratio is the best TRL layout's seconds over this row's."""
    head = ("setting", "trainer", "layout", "s a step", "best TRL / this", "reward, first and last 10 steps",
            "s to target", "tokens, mean (max)", "groups without signal")
    table = markdown(head, (row for result in results for row in _step_rows(result)))
    gaps = (f"{result['setting']} {result['largest_curve_gap']:.3f}" for result in results)
    parts = [table, f"Largest difference between the reward curves, means over 10 steps: {', '.join(gaps)}."]
    failed = [(result["setting"], result["trl_with_vllm"]) for result in results if "trl_with_vllm" in result]
    parts += [f"TRL's vLLM mode did not run at {setting}: `{one['command']}` ended with `{one['error']}`."
              for setting, one in failed]
    return "\n\n".join(parts)


def _step_rows(result: Result) -> Iterable[Sequence[str]]:
    best = result["trl"][result["best_trl"]]["step_s"]
    for one in (*result["trl"], *result["hone"]):
        reached = one.get("seconds_to_target")
        yield (result["setting"], one["trainer"], one["layout"], f"{one['step_s']:.3f}",
               f"{best / one['step_s']:.2f}", f"{one['reward_first']:.3f}, {one['reward_last']:.3f}",
               "–" if reached is None else f"{reached:.1f}", f"{one['mean_tokens']:.1f} ({one['max_tokens']:.0f})",
               f"{one['idle_groups']:.1f}")


def generation(results: Sequence[Result]) -> str:
    """Useful tokens a second of both engines in each layout; the ratio is to the native engine with as many threads."""
    head = ("setting", "engine", "layout", "tokens/s", "native / this", "share of the GEMM bound")
    return markdown(head, (row for result in results for name, figures in result["settings"].items()
                           for row in _generation_rows(name, figures)))


def _generation_rows(setting: str, figures: Result) -> Iterable[Sequence[str]]:
    for side in figures["sides"]:
        alone = side["engine"] == "native" and side["layout"] == "1 x 1 threads"
        yield (setting, side["engine"], side["layout"], f"{side['tokens_per_s']:.0f}",
               f"{side['native_over_this']:.2f}", percent(figures["share_of_bound"]) if alone else "")


def vllm(results: Sequence[Result]) -> str:
    """Useful tokens a second of each engine in each layout; the ratios are of the best layouts."""
    head = ("setting", "engine", "dtype", "layout", "tokens/s")
    rows = [(name, side["engine"], side["dtype"], side["layout"], f"{side['tokens_per_s']:.0f}")
            for result in results for name, figures in result["settings"].items() for side in figures["sides"]]
    best = markdown(
        ("setting", "native / vLLM in float32", "native / vLLM in bfloat16"),
        [(name, *(f"{figures['native_over_vllm'][dtype]:.2f}" for dtype in ("float32", "bfloat16")))
         for result in results for name, figures in result["settings"].items()])
    return f"{markdown(head, rows)}\n\n{best}"


def overhead(results: Sequence[Result]) -> str:
    """Two tables: where the wall time of a step goes, and the processor time."""
    scales = [(name, figures) for result in results for name, figures in result["scales"].items()]
    return f"{_wall(scales)}\n\n{_cpu(scales)}"


def _wall(scales: Sequence[tuple[str, Result]]) -> str:
    parts = list(scales[0][1]["wall"]["parts_s"])
    rows = [[part, *(_amount(figures["wall"]["parts_s"][part], figures["wall"]["step_s"]) for _, figures in scales)]
            for part in parts]
    rows.append(["a step", *(milliseconds(figures["wall"]["step_s"]) for _, figures in scales)])
    rows.append(["**outside arithmetic**", *(f"**{percent(figures['wall']['outside'])}**" for _, figures in scales)])
    return markdown(["wall time", *(name for name, _ in scales)], rows)


def _cpu(scales: Sequence[tuple[str, Result]]) -> str:
    names = list(scales[0][1]["cpu"]["by_process_s"])
    rows = [[name, *(_amount(figures["cpu"]["by_process_s"][name], figures["cpu"]["step_s"]) for _, figures in scales)]
            for name in names]
    rows.append(["a step", *(milliseconds(figures["cpu"]["step_s"]) for _, figures in scales)])
    rows.append(["of it arithmetic",
                 *(milliseconds(sum(figures["cpu"]["arithmetic_s"].values())) for _, figures in scales)])
    rows.append(["**outside arithmetic**", *(f"**{percent(figures['cpu']['outside'])}**" for _, figures in scales)])
    return markdown(["processor time", *(name for name, _ in scales)], rows)


def door(results: Sequence[Result]) -> str:
    """Milliseconds of a call at the service and through the door."""
    rows = [(name, f"{figures['p50']:.2f}", f"{figures['p99']:.2f}")
            for result in results for name, figures in result["ways"].items()]
    rows += [("added by the door", f"{result['added_p50']:.2f}", "") for result in results]
    return markdown(("way of a call", "p50, ms", "p99, ms"), rows)


def asking(results: Sequence[Result]) -> str:
    """Three tables: what REST adds to a call, streams at once, and a run's step beside clients that chat."""
    [figures] = results
    calls = markdown(
        ("one request at a time", "at the engine: p50 (p99), ms", "over REST", "added"),
        [(name, *(_quantiles(one[way]) for way in ("engine", "rest", "added")))
         for name, one in figures["calls"].items()])
    at_once = figures["streams"]
    streams = markdown(("64 streams at once, tokens a second", "at the engine", "over REST", "ratio"), [
        ("", f"{at_once['engine']:.0f}", f"{at_once['rest']:.0f}", f"{at_once['ratio']:.2f}")])
    beside = markdown(("16 clients", "a toy step", "ratio", "tokens a second of the clients"), [
        (name, milliseconds(one["step_s"]), f"{one['ratio']:.2f}", f"{one['tokens_a_second']:.0f}")
        for name, one in figures["beside"].items()])
    return f"{calls}\n\n{streams}\n\n{beside}"


def fairness(results: Sequence[Result]) -> str:
    """A tenant's step alone, and beside the flood of another."""
    rows = [(str(result["flood"]), milliseconds(result["alone_s"]), milliseconds(result["beside_s"]),
             f"{result['ratio']:.2f}") for result in results]
    return markdown(("groups of the flood", "a step alone", "beside the flood", "ratio"), rows)


def short_answers(results: Sequence[Result]) -> str:
    """The accuracies of each seed: rules alone, a judge alone, both."""
    [result] = results
    rows = [(str(one["seed"]), f"{one['algebra']:.3f}", f"{one['judge']:.3f}", f"{one['cascade']:.3f}",
             f"{one['calls']:.1%}", f"{one['algebra_s']:.1f} / {one['cascade_s']:.1f}") for one in result["seeds"]]
    return markdown(("seed", "math-verify alone", "judge alone", "cascade", "answers for the judge",
                     "s, math-verify / cascade"), rows)


def environment_packages(results: Sequence[Result]) -> str:
    """A row for each domain: what was kept, what was proven, and how long it took."""
    [result] = results
    rows = [(one["hint"], one["tools"], str(one["tables"]), str(one["cases"]), str(one["dead_ends"]),
             f"{one['accepted']} of {one['tried']}", f"{one['solvable']:.0%}",
             f"{one['calls']:g} ({one['most_calls']})", f"{one['seconds']:.1f}",
             f"{1000 * one['seconds'] / result['tasks']:.0f}", f"{one['bytes'] / 2**20:.1f}")
            for one in result["domains"]]
    return markdown(("hint", "tools kept", "tables", "cases", "dead ends", "tasks kept, all seeds", "solvable",
                     "calls of a task (most)", "CPU s", "CPU ms a task", "MiB"), rows)


def math_answers(results: Sequence[Result]) -> str:
    """Rates and verdicts of each seed, ours and the peer's."""
    [result] = results
    rows = [(str(one["seed"]), f"{one['equal']:.1%}", *(f"{one[who]['right']:.3f} / {one[who]['right_on_traps']:.3f}"
             for who in ("ours", "peer")), *(f"{one[who]['grades_a_second']:.0f}" for who in ("ours", "peer")),
             f"{one['ours']['grades_a_second'] / one['peer']['grades_a_second']:.1f}",
             f"{one['ours']['p50_ms']:.1f} / {one['ours']['p99_ms']:.0f} / {one['ours']['most_ms']:.0f}")
            for one in result["seeds"]]
    return markdown(("seed", "equal verdicts", "right, and on traps: `math`", "math-verify", "grades a second: `math`",
                     "math-verify", "ratio", "`math`, p50 / p99 / most ms"), rows)


def agent_judges(results: Sequence[Result]) -> str:
    """The figures of each judge over all seeds."""
    [result] = results
    rows = [(one["judge"], str(one["turns"]), f"{one['pooled']['f1']:.2f}",
             f"{min(one['f1_by_seed']):.2f}–{max(one['f1_by_seed']):.2f}", f"{one['pooled']['false_accepts']:.0%}",
             f"{one['pooled']['gap']:.2f}", f"{one['ms_a_case']:.1f}") for one in result["judges"]]
    return markdown(("judge", "turns", "F1", "of single seeds", "false accepts", "1 - fp - fn", "ms a case"), rows)


def judged_run(results: Sequence[Result]) -> str:
    """What each grader was on labels, and what runs by it reached by the rule: means over seeds."""
    [result] = results
    rows = []
    for arm, found in result["arms"].items():
        mean, judge = found["mean"], result["judges"].get(arm)
        reached = [run["sampled"] for run in found["raw"]]
        errors = [f"{judge[name]:.3f}" for name in ("false_accepts", "false_refusals", "gap")] if judge else ["–"] * 3
        asked = [f"{mean['questions']:.0f}", f"{mean['known']:.0%}"] if judge else ["–"] * 2
        rows.append((arm, *errors, f"{mean['sampled']:.3f} ({min(reached):.3f} to {max(reached):.3f})",
                     f"{mean['area']:.3f}", f"{mean['paid']:.3f}", f"{mean['masked']:.0%}", *asked))
    return markdown(("grader", "fp", "fn", "1 - fp - fn", "right at the end, by the rule", "area", "paid at the end",
                     "masked", "questions a run", "known already"), rows)


def sandbox(results: Sequence[Result]) -> str:
    """Grades in a second of each way, and the time of one of its runs."""
    [result] = results
    bare = result["ways"]["a bare process"]["grades_a_second"]
    rows = [(name, f"{one['grades_a_second']:.0f}", f"{one['p50_ms']:.1f}", f"{one['p99_ms']:.1f}",
             f"{one['grades_a_second'] / bare:.1f}") for name, one in result["ways"].items()]
    return markdown(("isolation", "grades a second", "a run, p50 ms", "p99 ms", "of a bare process's"), rows)


def grading_queue(results: Sequence[Result]) -> str:
    """The time of a grade each way, and how many grades are made in a second."""
    [result] = results
    rows = [(name, f"{one['p50']:.1f}", f"{one['p99']:.1f}") for name, one in result["ms"].items()]
    return (markdown(("way", "p50 ms", "p99 ms"), rows)
            + f"\n\nThe queue adds {result['added_ms']:.1f} ms to a grade (p50). Of {result['at_once']} at once, "
            f"{result['grades_a_second']:.0f} are made in a second.")


def sessions(results: Sequence[Result]) -> str:
    """What sessions of each kind of world cost, and copies of a session by the size of its state."""
    [result] = results
    rows = [(name, f"{one['kib_a_session']:.0f}", f"{one['start_ms']:.2f}", f"{one['steps_a_second']:.0f}",
             f"{one['cpu_ms_a_step']:.2f}", f"{one['batch_p50_ms']:.1f}", f"{one['batch_p99_ms']:.1f}")
            for name, one in result["worlds"].items()]
    copies = [(f"{one['bytes']:,}", f"{one['snapshot_ms']:.2f}", f"{one['fork_ms']:.2f}")
              for one in result["copies"].values()]
    head = ("world", "KiB a session", "start, ms", "steps a second", "processor ms a step",
            f"batch of {result['batch']}, p50 ms", "p99 ms")
    return (f"{result['sessions']} sessions at once in one simulation process:\n\n" + markdown(head, rows)
            + "\n\n" + markdown(("state of a database, bytes of JSON", "snapshot, p50 ms", "fork, p50 ms"), copies)
            + f"\n\nA dialogue's turn alone takes {_quantiles(result['turn_ms'])} ms (p50, p99), a toy model's answer "
            f"of up to 24 tokens over REST {_quantiles(result['answer_ms'])} ms.")


def memory(results: Sequence[Result]) -> str:
    """Peak resident size of every process, largest first."""
    head = ("process", "peak, MiB", "helpers", "largest helper, MiB")
    rows = [(name, f"{figures['peak_mib']:.0f}", str(figures["helpers"] or "–"),
             f"{figures['largest_helper_mib']:.0f}" if figures["helpers"] else "–")
            for result in results
            for name, figures in sorted(result["processes"].items(), key=lambda item: -item[1]["peak_mib"])]
    rows += [("all, shared pages once", f"{result['together_mib']:.0f}", "", "") for result in results]
    return markdown(head, rows)


def footprint(results: Sequence[Result]) -> str:
    """Bytes of a sample by the length of its answer, and of a weight."""
    [figures] = results
    scales, weights = figures["scales"].values(), figures["parameter_bytes"] / 4
    head = ("tokens of an answer", "rows with indexes, bytes a sample", "log of writes, bytes a sample",
            "trajectories, bytes a sample", "version, bytes a weight", "snapshot, bytes a weight")
    kinds = ("tables", "log", "parts")
    return markdown(head, (
        (f"{scale['mean_tokens']:.1f}", *(f"{scale['bytes_a_sample'][kind]:.0f}" for kind in kinds),
         *(f"{scale[name] / weights:.2f}" for name in ("version_bytes", "snapshot_bytes"))) for scale in scales))


def recovery(results: Sequence[Result]) -> str:
    """Seconds until a run has gone on, by what was killed and on which back end."""
    head = ("what was killed", "back end", "kills", "median, s", "longest, s")
    rows = ((kind, backend, str(found["count"]), f"{found['median_s']:.1f}", f"{found['longest_s']:.1f}")
            for result in results for backend, kinds in result["backends"].items() for kind, found in kinds.items())
    return markdown(head, rows)


def milliseconds(seconds: float) -> str:
    """Return seconds as whole milliseconds, below ten with one decimal."""
    value = 1000 * seconds
    return f"{value:.1f} ms" if abs(value) < 10 else f"{value:.0f} ms"


def percent(share: float) -> str:
    """Return a share as per cent with one decimal."""
    return f"{100 * share:.1f} %"


def _amount(part: float, whole: float) -> str:
    return f"{milliseconds(part)} ({percent(part / whole)})"


def asynchronous(results: Sequence[Result]) -> str:
    """A row for each run, and what running ahead brought."""
    head = ("mode", "seed", "s a step", "s to target", "held-out accuracy, first and last", "staleness, mean (max)",
            "trainer idle, s a step")
    rows = ((run["mode"], str(run["seed"]), f"{run['step_s']:.2f}",
             "–" if run["seconds_to_target"] is None else f"{run['seconds_to_target']:.0f}",
             f"{run['accuracy']['first']:.3f}, {run['accuracy']['last']:.3f}",
             f"{run['staleness']['mean']:.1f} ({run['staleness']['max']:.0f})", f"{run['trainer_idle_s']:.2f}")
            for result in results for run in result["runs"])
    [figures] = results
    speedups = ", ".join(f"{each:.2f}" for each in figures["speedup"])
    return f"{markdown(head, rows)}\n\nTime to target, synchronous / asynchronous, seed by seed: {speedups}."


def serving(results: Sequence[Result]) -> str:
    """Two tables: a call directly and over gRPC; and a commit to the first token, beside a plain copy."""
    [figures] = results
    head = ("one call", "in this process, ms: p50 (p99)", "over gRPC, ms: p50 (p99)", "added at p50, ms")
    rows = ((f"{tokens} token{'s' if tokens != '1' else ''}", _quantiles(one["direct"]), _quantiles(one["service"]),
             f"{one['service']['p50'] - one['direct']['p50']:.2f}") for tokens, one in figures["calls"].items())
    published = figures["publishing"]
    second = markdown(
        ("publishing", "commit to first token, ms: p50 (p99)", "plain copy of the file, ms: p50 (p99)"),
        [(f"{published['bytes'] / 2**20:.0f} MiB", _quantiles(published["first_token"]),
          _quantiles(published["copy"]))])
    return f"{markdown(head, rows)}\n\n{second}"


def ingest(results: Sequence[Result]) -> str:
    """Groups a second of each side, and what share of that ours makes."""
    [figures] = results
    return markdown(("writers", "groups/s", "Hone / this"), (
        (f"{figures['writers']} x {side}", f"{rate:.0f}", f"{figures['hone_over_this'][side]:.2f}")
        for side, rate in figures["groups_per_s"].items()))


def policy_losses(results: Sequence[Result]) -> str:
    """A row for each kind: our time and TRL's over it at both settings, and how far the two are apart."""
    [figures] = results
    equal, variable = (figures["settings"][name]["kinds"] for name in ("equal", "variable"))
    head = ("TRL's kind", "ours, equal, ms", "times", "ours, variable, ms", "times", "largest gap of values",
            "of gradients, relative")
    return markdown(head, (
        (kind, *_timed(equal[kind]), *_timed(variable[kind]),
         *(f"{max(equal[kind][gap], variable[kind][gap]):.0e}" for gap in ("value_gap", "gradient_gap")))
        for kind in equal))


def _timed(figures: Result) -> tuple[str, str]:
    return f"{1000 * figures['hone_s']:.2f}", f"{figures['times']:.2f}"


def step_parts(results: Sequence[Result]) -> str:
    """Return a row for each preset: times of step weights, loss and model, and the share of the first two."""
    [figures] = results
    head = ("preset", "advantage, modulation, aggregation", "loss, forward and backward",
            "model, forward and backward", "share", "other forwards")
    return markdown(head, (
        (preset, *(milliseconds(parts[f"{part}_s"]) for part in ("step_weights", "loss", "model")),
         percent(parts["share"]),
         milliseconds(parts["forwards_s"]) if parts["forwards_s"] > _A_FORWARD * parts["model_s"] else "–")
        for preset, parts in figures["presets"].items()))


_A_FORWARD = 0.01
"""Share of the model's time below which a preset has run no forward of its own, but found that it needs none."""


def chunked_logprobs(results: Sequence[Result]) -> str:
    """A row for each form: its peak and its time at each number of tokens."""
    [figures] = results
    sizes = figures["tokens"]
    head = ["form", *(label for tokens in sizes for label in (f"{tokens} tokens: peak, MiB", "s"))]
    forms = next(iter(sizes.values()))
    table = markdown(head, (
        [one["says"], *(cell for size in sizes.values() for cell in _held(size[form]))] for form, one in forms.items()))
    value, gradient = (max(form.get(gap, 0.0) for size in sizes.values() for form in size.values())
                       for gap in ("value_gap", "gradient_gap"))
    return (f"{table}\n\nLargest difference of any form from the first, relative: {value:.0e} of values, "
            f"{gradient:.0e} of gradients.")


def _held(figures: Result) -> tuple[str, str]:
    if "peak_mib" not in figures:
        return f"more than {1024 * figures['limit_gib']:.0f}", "–"
    return f"{figures['peak_mib']:.0f}", f"{figures['seconds']:.1f}"


def _quantiles(figures: Mapping[str, float]) -> str:
    return f"{figures['p50']:.2f} ({figures['p99']:.2f})"


TABLES: Mapping[str, Table] = {
    "grpo_step": Table(("grpo_step_short", "grpo_step_variable"),
                       "python -m benchmarks.grpo_step --setting short|variable", grpo_step),
    "generation": Table(("generation",), "python -m benchmarks.generation", generation),
    "vllm": Table(("vllm",), "make vllm && python -m benchmarks.vllm", vllm),
    "asynchronous": Table(("asynchronous",), "python -m benchmarks.asynchronous", asynchronous),
    "overhead": Table(("overhead",), "python -m benchmarks.overhead", overhead),
    "door": Table(("door",), "python -m benchmarks.door", door),
    "asking": Table(("asking",), "python -m benchmarks.asking", asking),
    "fairness": Table(("fairness",), "python -m benchmarks.fairness", fairness),
    "math_answers": Table(("math_answers",), "python -m benchmarks.math_answers", math_answers),
    "sessions": Table(("sessions",), "python -m benchmarks.sessions", sessions),
    "grading_queue": Table(("grading_queue",), "python -m benchmarks.grading_queue", grading_queue),
    "agent_judges": Table(("agent_judges",), "python -m benchmarks.agent_judges", agent_judges),
    "short_answers": Table(("short_answers",), "python -m benchmarks.short_answers", short_answers),
    "environment_packages": Table(
        ("environment_packages",), "python -m benchmarks.environment_packages", environment_packages),
    "judged_run": Table(("judged_run",), "python -m benchmarks.through_services.judged_run", judged_run),
    "domain_counts": Table(
        ("domain_counts",), "python -m benchmarks.through_services.domain_counts", domain_scores.table),
    "sandbox": Table(("sandbox",), "python -m benchmarks.sandbox", sandbox),
    "serving": Table(("serving",), "python -m benchmarks.serving", serving),
    "ingest": Table(("ingest",), "python -m benchmarks.ingest", ingest),
    "footprint": Table(("footprint",), "python -m benchmarks.footprint", footprint),
    "recovery": Table(("recovery",), "python -m benchmarks.recovery", recovery),
    "memory": Table(("memory",), "python -m benchmarks.memory", memory),
    "policy_losses": Table(("policy_losses",), "python -m benchmarks.policy_losses", policy_losses),
    "step_parts": Table(("step_parts",), "python -m benchmarks.step_parts", step_parts),
    "chunked_logprobs": Table(("chunked_logprobs",), "python -m benchmarks.chunked_logprobs", chunked_logprobs),
}
