"""Sampling defaults in a model's generation_config.json: stock engines apply them, training and its engines do not."""

import json
from collections.abc import Mapping
from typing import Any

FILE = "generation_config.json"

_NEUTRAL: dict[str, float] = {
    "temperature": 1, "top_p": 1, "top_k": 0, "min_p": 0, "typical_p": 1, "epsilon_cutoff": 0, "eta_cutoff": 0,
    "repetition_penalty": 1, "presence_penalty": 0, "frequency_penalty": 0, "encoder_repetition_penalty": 1,
    "no_repeat_ngram_size": 0, "encoder_no_repeat_ngram_size": 0, "num_beams": 1, "num_beam_groups": 1,
    "diversity_penalty": 0, "penalty_alpha": 0, "guidance_scale": 1, "min_length": 0, "min_new_tokens": 0,
}
_NEVER_NEUTRAL = (
    "do_sample", "max_new_tokens", "max_length", "length_penalty", "bad_words_ids", "suppress_tokens",
    "begin_suppress_tokens", "forced_bos_token_id", "forced_eos_token_id", "sequence_bias", "stop_strings",
    "exponential_decay_length_penalty",
)
_OF_VLLM = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty", "presence_penalty", "frequency_penalty",
            "max_new_tokens")
_OF_DRAWS = ("temperature", "top_p", "top_k", "min_p", "typical_p", "epsilon_cutoff", "eta_cutoff")
"""Defaults that transformers ignores unless `do_sample` is true."""
_ONLY_OF_VLLM = ("presence_penalty", "frequency_penalty")


def defaults(files: Mapping[str, bytes]) -> dict[str, Any]:
    """Return the sampling of generation_config.json, where it changes something, by key.

    Raises ValueError if the file is not a JSON object.
    """
    found = json.loads(files.get(FILE, b"{}"), parse_constant=str)  # NaN and infinity are no numbers in a database
    if not isinstance(found, dict):
        raise ValueError(f"{FILE}: found {type(found).__name__}, expected an object")
    return {key: found[key] for key in (*_NEUTRAL, *_NEVER_NEUTRAL) if _changes(key, found.get(key))}


def _changes(key: str, value: Any) -> bool:
    if value is None or value is False or value in ([], {}):
        return False
    return not (value == _NEUTRAL.get(key) or (key == "top_k" and value == -1))


def note(found: Mapping[str, Any], trained: Mapping[str, Any]) -> str:
    """Return a sentence: how stock engines will sample by these `defaults`, and how a run's samples were `trained`.

    It is empty if stock engines apply no defaults.
    """
    if not found:
        return ""
    vllm = {key: found[key] for key in _OF_VLLM if key in found}
    transformers = {key: value for key, value in found.items() if key not in ("do_sample", *_ONLY_OF_VLLM)
                    and (key not in _OF_DRAWS or found.get("do_sample"))}
    if found.get("do_sample") and vllm == transformers:
        said = f"stock engines (vLLM, transformers) will sample with {_listed(vllm)}"
    else:
        how = "sample" if found.get("do_sample") else "take the likeliest token, as do_sample is not set,"
        said = f"vLLM will sample with {_listed(vllm)}; transformers will {how} with {_listed(transformers)}"
    return f"By {FILE}, {said}. The run trained with {_listed(_own(trained))}."


def _own(sampling: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run's temperature, and its cuts where it has any."""
    return {key: value for key, value in sampling.items()
            if key == "temperature" or (key in ("top_p", "top_k") and value != _NEUTRAL[key])}


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {_short(value)}" for key, value in values.items()) or "its own defaults"


def _short(value: Any) -> str:
    if isinstance(value, list | dict):
        return f"({len(value)} entries)"
    return f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
