"""Is this directory a model that can be trained and served? Answered from its files' heads, without torch."""

import json
import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from hone.models import architecture, checkpoint_header
from hone.models.architecture import Architecture, Unsupported
from hone.models.checkpoint_header import BadCheckpoint
from hone.spec.problems import Invalid, Problem, found
from services.gateway import safetensors_header
from services.gateway.safetensors_header import TensorFacts

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
DTYPES = {"F32": "float32", "BF16": "bfloat16"}
_OTHERS = {"generation_config.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
           "vocab.json", "merges.txt", "chat_template.jinja"}
_PICKLES = {".bin", ".pt", ".pth", ".ckpt", ".pkl"}


@dataclass(frozen=True)
class ModelFacts:
    """What the manifest says of a model besides its files."""

    architecture: str
    parameters: int
    dtype: str
    vocab_size: int
    max_positions: int

    def as_json(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class ModelFiles:
    """A model that was found usable: its facts, the files it consists of, and those that are left out."""

    facts: ModelFacts
    names: list[str]
    ignored: list[str]


def inspect(directory: Path) -> ModelFiles:
    """Return what the directory holds.

    Raises Invalid, naming file or field, when something is missing, is not supported, or does not fit together.
    """
    try:
        present = {path.name for path in directory.iterdir() if path.is_file()}
        config = _json_file(directory, "config.json")
        parsed = _architecture(config)
        weights = _weight_files(directory, present)
        tensors = _tensors(directory, weights)
        checkpoint_header.check(parsed, {name: tensor.shape for name, tensor in tensors.items()})
        _check_tokenizer(directory, present, config, parsed)
        names = sorted(present & ({"config.json", "tokenizer.json", *_OTHERS} | set(weights)))
        for name in names:
            (directory / name).open("rb").close()
    except Unsupported as error:
        raise Invalid([Problem(f"config.json: {error.field}", found(error.found), error.expected)]) from None
    except BadCheckpoint as error:
        raise Invalid([Problem(error.subject, str(error.found), error.expected)]) from None
    except OSError as error:
        raise Invalid([Problem(str(error.filename), str(error.strerror), "a file that the gateway may read")]) from None
    return ModelFiles(_facts(parsed, tensors), names, sorted(present - set(names)))


def _json_file(directory: Path, name: str) -> dict[str, Any]:
    try:
        value = json.loads((directory / name).read_bytes())
    except FileNotFoundError:
        raise BadCheckpoint(name, "no such file", f"a {name} as transformers writes it") from None
    except (ValueError, RecursionError):
        raise BadCheckpoint(name, "text that is no JSON", "a JSON object") from None
    if not isinstance(value, dict):
        raise BadCheckpoint(name, f"a JSON {type(value).__name__}", "a JSON object")
    return value


def _architecture(config: dict[str, Any]) -> Architecture:
    try:
        return architecture.parse(config)
    except Unsupported:
        raise
    except (TypeError, ValueError, AttributeError) as error:
        raise BadCheckpoint("config.json", f"a value of another type ({error})", "what transformers writes") from None


def _weight_files(directory: Path, present: set[str]) -> list[str]:
    if WEIGHTS in present:
        return [WEIGHTS]
    if INDEX in present:
        return [INDEX, *_shards(_json_file(directory, INDEX), present)]
    pickles = sorted(name for name in present if Path(name).suffix in _PICKLES)
    if pickles:
        raise BadCheckpoint(WEIGHTS, f"{', '.join(pickles)}", "safetensors weights; pickles are never read")
    raise BadCheckpoint(WEIGHTS, f"no such file among {', '.join(sorted(present)) or 'none'}", "safetensors weights")


def _shards(index: dict[str, Any], present: set[str]) -> list[str]:
    places = index.get("weight_map")
    if not isinstance(places, dict) or not all(isinstance(place, str) for place in places.values()):
        raise BadCheckpoint(f"{INDEX}: weight_map", found(places), "an object of file names by tensor")
    shards = sorted(set(places.values()))
    for shard in shards:
        if shard not in present:
            raise BadCheckpoint(shard, "no such file", f"every shard that {INDEX} names")
    return shards


def _tensors(directory: Path, weights: list[str]) -> dict[str, TensorFacts]:
    tensors: dict[str, TensorFacts] = {}
    for file in weights:
        if file != INDEX:
            tensors |= safetensors_header.read(directory / file)
    for name, tensor in tensors.items():
        if tensor.dtype not in DTYPES:
            raise BadCheckpoint(name, f"dtype {tensor.dtype}", f"one of {', '.join(DTYPES)}")
    return tensors


def _check_tokenizer(directory: Path, present: set[str], config: dict[str, Any], parsed: Architecture) -> None:
    if "tokenizer.json" not in present:
        raise BadCheckpoint("tokenizer.json", "no such file", "a tokenizer as the tokenizers library writes it")
    try:
        tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
    except Exception as error:  # the library's parser raises nothing narrower
        raise BadCheckpoint("tokenizer.json", str(error), "a tokenizer as the tokenizers library writes it") from None
    if tokenizer.get_vocab_size() > parsed.vocab_size:
        raise BadCheckpoint("tokenizer.json", f"{tokenizer.get_vocab_size()} tokens",
                            f"at most vocab_size of config.json ({parsed.vocab_size})")
    generation = _json_file(directory, "generation_config.json") if "generation_config.json" in present else {}
    end = generation.get("eos_token_id", config.get("eos_token_id"))
    ends = end if isinstance(end, list) else [end]
    if not ends or not all(type(one) is int and 0 <= one < parsed.vocab_size for one in ends):
        raise BadCheckpoint("config.json: eos_token_id", found(end), f"a token id below {parsed.vocab_size}")


def _facts(parsed: Architecture, tensors: dict[str, TensorFacts]) -> ModelFacts:
    dtypes = Counter(DTYPES[tensor.dtype] for tensor in tensors.values())
    return ModelFacts(
        architecture=parsed.family, parameters=sum(math.prod(shape) for shape in parsed.shapes().values()),
        dtype=dtypes.most_common(1)[0][0], vocab_size=parsed.vocab_size, max_positions=parsed.max_positions)
