"""Checks that a directory holds a model that can be trained and served.

Configuration, tokenizer and headers of the weight files are checked first, then the weights' values. No torch.
"""

import json
import math
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hone.models import architecture, checkpoint_header
from hone.models.architecture import Architecture
from hone.models.checkpoint_header import BadCheckpoint
from hone.models.config_fields import Unsupported
from hone.spec import strict_json
from hone.spec.problems import Invalid, Problem, found
from hone.store.objects import StoreAway
from hone.text.files import FILES
from services.gateway.admission import text_files, weight_values
from services.gateway.admission.stored_folder import StoredFile, StoredFolder
from services.gateway.admission.weight_values import StoredTensor

Folder = Path | StoredFolder
"""A model's files: on this machine, or in the object store."""

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
DTYPES = {"F32": "float32", "BF16": "bfloat16", "F16": "float16"}
_OTHERS = {"generation_config.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
           "vocab.json", "merges.txt", "chat_template.jinja"}
_LONGEST_HEADER = 16 * 2**20  # bytes; a checkpoint of 100,000 tensors has less
_LARGEST = {"config.json": 2**20, "generation_config.json": 2**20, INDEX: 16 * 2**20}
_LARGEST_TEXT = 64 * 2**20
"""Most bytes of a file that is read whole: of JSON that services read, which takes up to thirty times as much memory,
and of the others, which only a model's own process reads.
"""
_ITEM_BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}
_PICKLES = {".bin", ".pt", ".pth", ".ckpt", ".pkl"}
_OTHER_WEIGHTS = {".gguf", ".h5", ".msgpack", ".onnx", ".ot", ".tflite"}


@dataclass(frozen=True)
class ModelFacts:
    """Facts of a model in its manifest, besides its files. `parameters` counts weights."""

    architecture: str
    parameters: int
    dtype: str
    vocab_size: int
    max_positions: int
    text: dict[str, Any]  # of text_files

    def as_json(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class TensorHeader:
    """One tensor as the header of its file describes it."""

    dtype: str
    shape: tuple[int, ...]
    start: int = field(default=0, compare=False)  # byte of the file at which its numbers begin


@dataclass(frozen=True)
class ModelFiles:
    """A usable model: its facts, the names of its files, and the names of other files, which are not stored."""

    facts: ModelFacts
    names: list[str]
    ignored: list[str]


def inspect(directory: Folder) -> ModelFiles:
    """Return the model that a directory holds. Reads each file with open("rb") or read_bytes, never by its path.

    Raises Invalid with the file or field when something is missing, is not supported, or contradicts another file.
    """
    try:
        present = {path.name for path in directory.iterdir() if path.is_file()}
        _check_sizes(directory, present)
        config = _json_file(directory, "config.json")
        parsed = _architecture(config)
        weights = _weight_files(directory, present)
        tensors = checkpoint_header.named(parsed, _tensors(directory, weights))
        checkpoint_header.check(parsed, {name: tensor.shape for name, tensor in tensors.items()})
        text = _text(directory, present, parsed)
        names = sorted(present & ({"config.json", "tokenizer.json", *_OTHERS} | set(weights)))
        for name in names:
            (directory / name).open("rb").close()
        weight_values.check(tensors, parsed)
    except Unsupported as error:
        raise Invalid([Problem(f"config.json: {error.field}", found(error.found), error.expected)]) from None
    except BadCheckpoint as error:
        raise Invalid([Problem(error.subject, str(error.found), error.expected)]) from None
    except StoreAway:
        raise
    except OSError as error:
        raise Invalid([Problem(str(error.filename), str(error.strerror), "a file that the gateway may read")]) from None
    return ModelFiles(_facts(parsed, tensors, text), names, sorted(present - set(names)))


def is_read(name: str) -> bool:
    """Return whether a file of this name could belong to a model. Other files need not be sent: nothing reads them."""
    return Path(name).suffix not in _PICKLES | _OTHER_WEIGHTS


def _check_sizes(directory: Folder, present: set[str]) -> None:
    """Raise BadCheckpoint for a file that is read whole and would take too much memory."""
    for name in sorted(present & {"config.json", "tokenizer.json", INDEX, *_OTHERS}):
        size, most = (directory / name).stat().st_size, _LARGEST.get(name, _LARGEST_TEXT)
        if size > most:
            raise BadCheckpoint(name, f"{size} bytes", f"at most {most}")


def _json_file(directory: Folder, name: str) -> dict[str, Any]:
    try:
        value = json.loads((directory / name).read_bytes(), object_pairs_hook=strict_json.distinct)
    except FileNotFoundError:
        raise BadCheckpoint(name, "no such file", f"a {name} as transformers writes it") from None
    except strict_json.RepeatedKey as error:
        raise BadCheckpoint(name, error.found, error.expected) from None
    except (ValueError, RecursionError):
        raise BadCheckpoint(name, "text that is not JSON", "a JSON object") from None
    if not isinstance(value, dict):
        raise BadCheckpoint(name, f"a JSON {type(value).__name__}", "a JSON object")
    return value


def _architecture(config: dict[str, Any]) -> Architecture:
    try:
        return architecture.parse(config)
    except Unsupported:
        raise
    except (TypeError, ValueError, AttributeError) as error:
        raise BadCheckpoint("config.json", f"a value of another type ({error})",
                            "a config.json as transformers writes it") from None


def _weight_files(directory: Folder, present: set[str]) -> list[str]:
    if WEIGHTS in present:
        return [WEIGHTS]
    if INDEX in present:
        return [INDEX, *_shards(_json_file(directory, INDEX), present)]
    pickles = sorted(name for name in present if Path(name).suffix in _PICKLES)
    if pickles:
        raise BadCheckpoint(WEIGHTS, f"{', '.join(pickles)}", "safetensors weights; pickles are never read")
    raise BadCheckpoint(WEIGHTS, f"no such file among {', '.join(sorted(present)) or 'none'}", "safetensors weights")


def _shards(index: dict[str, Any], present: set[str]) -> list[str]:
    files = index.get("weight_map")
    if not isinstance(files, dict) or not all(isinstance(file, str) for file in files.values()):
        raise BadCheckpoint(f"{INDEX}: weight_map", found(files), "an object of file names by tensor")
    shards = sorted(set(files.values()))
    for shard in shards:
        if shard not in present:
            raise BadCheckpoint(shard, "no such file", f"every shard that {INDEX} names")
    return shards


def _tensors(directory: Folder, weights: list[str]) -> dict[str, StoredTensor]:
    tensors = dict[str, StoredTensor]()
    for path in (directory / file for file in weights if file != INDEX):
        for name, header in read_header(path).items():
            if header.dtype not in DTYPES:
                raise BadCheckpoint(name, f"dtype {header.dtype}", f"one of {', '.join(DTYPES)}")
            tensors[name] = StoredTensor(path, header.dtype, header.shape, header.start)
    return tensors


def read_header(path: Path | StoredFile) -> dict[str, TensorHeader]:
    """Return the header of a safetensors file: every tensor by name, each claim checked against the file's length.

    Raises BadCheckpoint when the file is cut short, is not a safetensors file, or its header contradicts itself.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > min(size - 8, _LONGEST_HEADER):
            raise BadCheckpoint(path.name, f"{size} bytes that do not begin with a header", "a whole safetensors file")
        header = _object(file.read(length), path.name)
    header.pop("__metadata__", None)
    tensors = {name: _tensor_header(name, entry, path.name, 8 + length) for name, entry in header.items()}
    _check_extent([entry["data_offsets"] for entry in header.values()], size - 8 - length, path.name)
    return tensors


def _object(text: bytes, file: str) -> dict[str, Any]:
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        raise BadCheckpoint(file, "a header that is not JSON", "a safetensors file") from None
    if not isinstance(header, dict):
        raise BadCheckpoint(file, "a header that is not an object", "a safetensors file")
    return header


def _tensor_header(name: str, entry: Any, file: str, first: int) -> TensorHeader:
    subject = f"{file}: {name}"
    if not isinstance(entry, dict) or not {"dtype", "shape", "data_offsets"} <= entry.keys():
        raise BadCheckpoint(subject, "an incomplete entry", "dtype, shape and data_offsets")
    if not isinstance(entry["dtype"], str) or entry["dtype"] not in _ITEM_BYTES:
        raise BadCheckpoint(subject, f"dtype {entry['dtype']}", f"one of {', '.join(_ITEM_BYTES)}")
    if not (_natural(entry["shape"]) and _natural(entry["data_offsets"]) and len(entry["data_offsets"]) == 2):
        raise BadCheckpoint(subject, "a malformed shape or offset", "lists of whole numbers")
    begin, end = entry["data_offsets"]
    needed = math.prod(entry["shape"]) * _ITEM_BYTES[entry["dtype"]]
    if end - begin != needed:
        raise BadCheckpoint(subject, f"{end - begin} bytes", f"{needed} bytes for its shape")
    return TensorHeader(entry["dtype"], tuple(entry["shape"]), first + begin)


def _natural(value: Any) -> bool:
    return isinstance(value, list) and all(type(item) is int and item >= 0 for item in value)


def _check_extent(extents: list[list[int]], available: int, file: str) -> None:
    position = 0
    for begin, end in sorted(extents):
        if begin != position:
            raise BadCheckpoint(file, f"a gap or overlap at byte {position} of its data", "tensors one after another")
        position = end
    if position != available:
        raise BadCheckpoint(file, f"{available} bytes of data", f"{position}, as its header claims")


def _text(directory: Folder, present: set[str], parsed: Architecture) -> dict[str, Any]:
    """Return the facts of the model's text rules. Raises BadCheckpoint."""
    if "tokenizer.json" not in present:
        raise BadCheckpoint("tokenizer.json", "no such file", "a tokenizer as the tokenizers library writes it")
    files = {name: (directory / name).read_bytes() for name in FILES if name in present}
    return text_files.inspect(files, parsed.vocab_size)


def _facts(parsed: Architecture, tensors: dict[str, StoredTensor], text: dict[str, Any]) -> ModelFacts:
    dtypes = Counter(DTYPES[tensor.dtype] for tensor in tensors.values())
    return ModelFacts(
        architecture=parsed.name, parameters=sum(math.prod(shape) for shape in parsed.shapes().values()),
        dtype=dtypes.most_common(1)[0][0], vocab_size=parsed.vocab_size, max_positions=parsed.max_positions, text=text)
