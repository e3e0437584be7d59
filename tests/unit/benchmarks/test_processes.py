"""Measured on real processes; which numbers come out is the machine's affair, how they add up is ours."""

import os
import subprocess
import sys

import psutil
import pytest

from benchmarks import processes
from benchmarks.memory import Peaks

HOLD = "import sys; block = bytearray({mib} * 2**20); block[::4096] = b'x' * len(block[::4096]); print(); input()"


def holding(mib: int) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", HOLD.format(mib=mib)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def test_a_peak_holds_what_a_process_filled() -> None:
    with holding(64) as process:
        assert processes.peak_mib(process.pid) > 64
        assert processes.shared_out_mib(process.pid) > 64
        process.communicate("\n")
    with pytest.raises(psutil.NoSuchProcess):
        processes.peak_mib(process.pid)


def test_peaks_are_kept_and_processes_that_ended_are_passed_over() -> None:
    peaks = Peaks()
    with holding(64) as process:
        peaks.look({"first": process.pid})
        process.communicate("\n")
    peaks.look({"first": process.pid})
    found = peaks.as_json()
    assert (found["processes"]["first"]["helpers"], found["looks"]) == (0, 2)
    assert found["processes"]["first"]["peak_mib"] > 64
    assert found["together_mib"] > 64


def test_a_child_with_a_name_of_its_own_counts_only_there() -> None:
    with holding(64) as child:
        pids = {"parent": os.getpid(), "child": child.pid}
        apart, alone = processes.cpu_seconds(pids), processes.cpu_seconds({"parent": os.getpid()})
        assert apart["child"] > 0
        assert alone["parent"] - apart["parent"] > apart["child"] - 1e-6  # sums of floats differ by their order
        child.communicate("\n")
