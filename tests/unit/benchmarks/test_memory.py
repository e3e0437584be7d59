"""Experiments about memory: what is paid reaches the bandit, and a talk of another assistant is heard as it was."""

import random

import pytest

from benchmarks.methods import memory_rules, memory_talks, memory_writes
from benchmarks.methods.memory_writes import START, Writer, sample


def test_a_step_on_paid_writes_raises_both_chances(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_writes, "LIFE", {**memory_writes.LIFE, "periods": 2})
    writers = [Writer([*START], random.Random(f"{place}")) for place in range(8)]
    played = [sample(writer, 1) for writer in writers]
    rewards = [memory_writes._rewards(one, "writes") for one in played]
    assert {len(given) for given in rewards} == {len(writers[0].taken)}
    new = memory_writes._ascended(START, writers, rewards)
    assert new[0] > START[0]
    assert new[1] > START[1]
    whole = [memory_writes._rewards(one, "outcome") for one in played]
    assert all(len({*given}) == 1 for given in whole)


def test_rules_are_examined_on_other_users_with_another_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_rules, "USERS", 2)
    first, second = (memory_rules.run.__wrapped__("dictionary", seed) for seed in (0, 1))
    assert first.figures != second.figures
    assert len(first.curve) == 11


def test_restating_keeps_what_a_short_window_loses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_talks, "USERS", 1)
    found = memory_talks.run.__wrapped__("restating", 0).figures
    assert found["on-policy"] == found["off-policy, restating talk"] == 1.0
    assert found["off-policy, terse talk"] < 0.5
