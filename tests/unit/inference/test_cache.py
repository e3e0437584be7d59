"""Blocks of keys and values: which slots hold them, and that no slot writes a block that another one reads."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from hone.models.architecture import Architecture
from services.inference.native.attention import BLOCK
from services.inference.native.cache import CHUNK, Cache
from services.inference.native.kernels import Places
from tests.unit.inference.engines import checkpoint, stock

SLOTS = 5


@pytest.fixture(scope="module")
def shape() -> Architecture:
    return checkpoint(stock("qwen2")).architecture


def places(*numbers: int) -> Places:
    return np.array(numbers)


def held(cache: Cache, slot: int, positions: int) -> list[int]:
    """Return the slot's blocks for this many positions."""
    return cache.table[slot, :-(-positions // BLOCK)].tolist()


def write(cache: Cache, slot: int, position: int, value: float) -> None:
    block = cache.table[slot, position // BLOCK]
    for keys, values in zip(cache.keys, cache.values, strict=True):
        keys[block, :, :, position % BLOCK] = value
        values[block, :, position % BLOCK] = value


def read(cache: Cache, slot: int, positions: int) -> list[float]:
    """Return the contents of a slot's first positions; all numbers of a position are equal."""
    keys, values = cache.keys_and_values(0, places(slot), positions)
    assert torch.equal(keys.transpose(1, 2), values)
    first: Tensor = values[0, :, 0]
    assert (values == first[None, :, None]).all()
    return first.tolist()


def fill(cache: Cache, slot: int, numbers: list[float]) -> None:
    cache.begin(places(slot), places(len(numbers)))
    for position, number in enumerate(numbers):
        write(cache, slot, position, number)


def test_a_slot_reads_what_was_written_to_it(shape: Architecture) -> None:
    cache = Cache(shape, SLOTS, CHUNK)
    fill(cache, 2, [float(number) for number in range(40)])
    assert read(cache, 2, 40) == list(range(40))


def test_slots_that_begin_alike_hold_the_same_whole_blocks(shape: Architecture) -> None:
    cache = Cache(shape, SLOTS, CHUNK)
    fill(cache, 0, [1.0] * 40)
    cache.share(places(0, 0), places(3, 4), places(40, 32))
    assert held(cache, 3, 32) == held(cache, 4, 32) == held(cache, 0, 32)
    assert len({held(cache, 3, 40)[2], held(cache, 0, 40)[2]}) == 2
    assert cache.table[4, 2] == 0
    assert read(cache, 3, 40) == [1.0] * 40


def test_slots_do_not_see_each_others_later_positions(shape: Architecture) -> None:
    cache = Cache(shape, SLOTS, CHUNK)
    fill(cache, 0, [1.0] * 20)
    cache.share(places(0), places(1), places(20))
    for slot in (0, 1):
        cache.extend(places(slot), places(20))
        write(cache, slot, 20, 2.0 + slot)
    assert read(cache, 0, 21) == [*[1.0] * 20, 2.0]
    assert read(cache, 1, 21) == [*[1.0] * 20, 3.0]


def test_blocks_stay_while_a_slot_holds_them(shape: Architecture) -> None:
    cache = Cache(shape, SLOTS, CHUNK)
    fill(cache, 0, [1.0] * 32)
    cache.share(places(0), places(1), places(32))
    fill(cache, 0, [2.0] * 32)
    assert read(cache, 1, 32) == [1.0] * 32
    fill(cache, 1, [3.0] * 32)
    assert read(cache, 0, 32) == [2.0] * 32


def test_the_cache_grows_and_keeps_its_contents(shape: Architecture) -> None:
    cache = Cache(shape, SLOTS, CHUNK)
    fill(cache, 0, [1.0] * 60)
    cache.share(places(0), places(1), places(60))
    cache.reserve(CHUNK + 1)
    assert cache.positions == 2 * CHUNK
    assert read(cache, 0, 60) == read(cache, 1, 60) == [1.0] * 60
    for slot in range(SLOTS):
        fill(cache, slot, [float(slot)] * 2 * CHUNK)
    assert [read(cache, slot, 2 * CHUNK) for slot in range(SLOTS)] == [[float(slot)] * 2 * CHUNK
                                                                     for slot in range(SLOTS)]


def test_padding_rows_take_no_block(shape: Architecture) -> None:
    cache = Cache(shape, SLOTS, CHUNK)
    cache.extend(places(cache.scratch, 0, cache.scratch), places(0, 0, 17))
    assert cache.table[cache.scratch].tolist() == [0] * (CHUNK // BLOCK)
    assert cache.table[0, 0] != 0


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["begin", "share", "extend"]), st.integers(0, SLOTS - 1),
                          st.integers(0, SLOTS - 1), st.integers(1, 2 * CHUNK)), max_size=40))
def test_every_slot_reads_its_own_contents_after_any_operations(
    shape: Architecture, events: list[tuple[str, int, int, int]]
) -> None:
    cache = Cache(shape, SLOTS, 2 * CHUNK)
    texts: list[list[float]] = [[] for _ in range(SLOTS)]
    for number, (kind, slot, other, length) in enumerate(events, 1):
        if kind == "begin":
            texts[slot] = [float(number)] * length
            fill(cache, slot, texts[slot])
        elif kind == "share" and slot != other and texts[other]:
            texts[slot] = texts[other][:length]
            cache.share(places(other), places(slot), places(len(texts[slot])))
        elif kind == "extend" and len(texts[slot]) < 2 * CHUNK:
            cache.extend(places(slot), places(len(texts[slot])))
            write(cache, slot, len(texts[slot]), float(number))
            texts[slot] = [*texts[slot], float(number)]
        assert [read(cache, one, len(text)) for one, text in enumerate(texts) if text] == [one for one in texts if one]
