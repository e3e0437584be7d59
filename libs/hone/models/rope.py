"""Rotary positions as a config.json describes them: plain ones, and those stretched over longer texts.

Torch-free. `hone.models.rotary` computes the frequencies. Fields, their defaults and their meaning are those of
transformers (modeling_rope_utils), in both of its forms:

    "rope_theta": 500000.0, "rope_scaling": {"rope_type": "llama3", "factor": 8.0, ...}      type for rope_type is older
    "rope_parameters": {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, ...}

A value that stock libraries would ignore, or read in different ways, is refused.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hone.models.config_fields import LARGEST, Unsupported, count, number

KINDS: dict[str, tuple[str, ...]] = {
    "default": (),
    "linear": ("factor",),
    "dynamic": ("factor",),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"),
    "yarn": ("factor", "original_max_position_embeddings"),
}
"""Supported kinds, with the fields that each needs."""

_OPTIONAL = {"yarn": ("attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "truncate")}
_COMMON = {"rope_type", "type", "rope_theta", "partial_rotary_factor"}
_DEFAULT_THETA = 10_000.0

@dataclass(frozen=True)
class Rope:
    """Rotary positions: the base `theta` of the frequencies, and how they are scaled. Unused fields keep defaults.

    With `dynamic` the frequencies of a text depend on its length, but only where it is longer than
    max_position_embeddings. Hone takes no longer texts, so that they are the plain ones: for any cache and packing.
    """

    kind: str = "default"
    theta: float = _DEFAULT_THETA
    factor: float = 1.0
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    original_positions: int = 0
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    truncate: bool = True
    attention_factor: float = 1.0  # cosines and sines are multiplied by it

    def to_config(self) -> dict[str, Any]:
        """Return `rope_parameters` with every field of the kind written out, for engines with other defaults."""
        plain: dict[str, Any] = {"rope_type": self.kind, "rope_theta": self.theta}
        if self.kind in ("default", "dynamic"):
            return {**plain, "rope_type": "default"}
        plain["factor"] = self.factor
        if self.kind == "llama3":
            plain |= {"low_freq_factor": self.low_freq_factor, "high_freq_factor": self.high_freq_factor}
        if self.kind == "yarn":
            plain |= {"beta_fast": self.beta_fast, "beta_slow": self.beta_slow, "truncate": self.truncate,
                      "attention_factor": self.attention_factor}
        if self.kind != "linear":
            plain["original_max_position_embeddings"] = self.original_positions
        return plain


def parse(config: Mapping[str, Any]) -> Rope:
    """Return the rotary positions of `config`, the object in config.json. Raises Unsupported with the field's name."""
    at, given = _given(config)
    kind = _kind(at, given)
    for field, value in given.items():
        if field not in _COMMON | {*KINDS[kind], *_OPTIONAL.get(kind, ())}:
            raise Unsupported(f"{at}.{field}", value, f"no such field beside rope_type {kind!r}")
    if given.get("partial_rotary_factor", 1.0) != 1.0:
        raise Unsupported(f"{at}.partial_rotary_factor", given["partial_rotary_factor"], "1.0")
    for field in KINDS[kind]:
        if field not in given:
            raise Unsupported(f"{at}.{field}", None, f"a value, which rope_type {kind!r} needs")
    theta = _theta(config, at, given)
    if kind == "default":
        return Rope(theta=theta)
    factor = number(f"{at}.factor", given["factor"], 1.0)
    if kind == "llama3":
        return _llama3(config, at, given, theta, factor)
    return _yarn(config, at, given, theta, factor) if kind == "yarn" else Rope(kind, theta, factor)


def _given(config: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the object with the rotary fields that are set, and its name. Two objects must not differ."""
    found = {field: config[field] for field in ("rope_scaling", "rope_parameters") if config.get(field)}
    for field, value in found.items():
        if not isinstance(value, Mapping):
            raise Unsupported(field, value, "an object, or no such field")
    if len(found) == 2 and found["rope_scaling"] != found["rope_parameters"]:
        raise Unsupported("rope_scaling", found["rope_scaling"],
                          f"no such field beside rope_parameters, which is {found['rope_parameters']!r}")
    at = next(iter(found), "rope_parameters")
    return at, {field: value for field, value in found.get(at, {}).items() if value is not None}


def _kind(at: str, given: Mapping[str, Any]) -> str:
    kind = given.get("rope_type", given.get("type", "default"))
    known = f"one of {', '.join(KINDS)}"
    if not isinstance(kind, str) or kind not in KINDS:
        raise Unsupported(f"{at}.{'rope_type' if 'rope_type' in given else 'type'}", kind, known)
    if given.get("type", kind) != kind:
        raise Unsupported(f"{at}.type", given["type"], f"{kind!r}, which rope_type is")
    return kind


def _theta(config: Mapping[str, Any], at: str, given: Mapping[str, Any]) -> float:
    outer, inner = config.get("rope_theta"), given.get("rope_theta")
    for field, value in ((f"{at}.rope_theta", inner), ("rope_theta", outer)):
        if value is not None and number(field, value, 0.0) <= 1.0:
            raise Unsupported(field, value, f"a number above 1, at most {LARGEST:g}")
    if outer is not None and inner is not None and outer != inner:
        raise Unsupported("rope_theta", outer, f"{inner}, which {at}.rope_theta is")
    return float(next((value for value in (inner, outer) if value is not None), _DEFAULT_THETA))


def _original(config: Mapping[str, Any], at: str, given: Mapping[str, Any]) -> int:
    field = f"{at}.original_max_position_embeddings"
    original = count(field, given["original_max_position_embeddings"])
    outer = config.get("original_max_position_embeddings")
    if outer is not None and outer != original:
        raise Unsupported("original_max_position_embeddings", outer, f"{original}, which {field} is")
    return original


def _llama3(config: Mapping[str, Any], at: str, given: Mapping[str, Any], theta: float, factor: float) -> Rope:
    low = number(f"{at}.low_freq_factor", given["low_freq_factor"], 1e-6)
    high = number(f"{at}.high_freq_factor", given["high_freq_factor"], 1e-6)
    if high <= low:
        raise Unsupported(f"{at}.high_freq_factor", high, f"a number above low_freq_factor ({low})")
    return Rope("llama3", theta, factor, low, high, _original(config, at, given))


def _yarn(config: Mapping[str, Any], at: str, given: Mapping[str, Any], theta: float, factor: float) -> Rope:
    def optional(field: str, least: float) -> float | None:
        value = given.get(field)
        return None if value is None else number(f"{at}.{field}", value, least)

    fast, slow = optional("beta_fast", 1e-6) or Rope.beta_fast, optional("beta_slow", 1e-6) or Rope.beta_slow
    if fast <= slow:
        raise Unsupported(f"{at}.beta_fast", fast, f"a number above beta_slow ({slow})")
    truncate = given.get("truncate", True)
    if not isinstance(truncate, bool):
        raise Unsupported(f"{at}.truncate", truncate, "true or false")
    attention = optional("attention_factor", 1e-6) or _attention_factor(
        factor, optional("mscale", 0.0), optional("mscale_all_dim", 0.0))
    return Rope("yarn", theta, factor, original_positions=_original(config, at, given), beta_fast=fast, beta_slow=slow,
                truncate=truncate, attention_factor=attention)


def _attention_factor(factor: float, mscale: float | None, mscale_all_dim: float | None) -> float:
    def scale(by: float) -> float:
        return 1.0 if factor <= 1.0 else 0.1 * by * math.log(factor) + 1.0

    return scale(mscale) / scale(mscale_all_dim) if mscale and mscale_all_dim else scale(1.0)
