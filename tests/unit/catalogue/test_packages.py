"""Sentences about packages that a run needs."""

from hone.catalogue.packages import beside, lacking


def test_a_process_names_each_package_that_it_lacks() -> None:
    assert lacking({"pytest": "1.0"}, "driver") == ""
    assert lacking({"no-such-a": "1.0", "pytest": "8", "no-such-b": "2"}, "driver") == (
        "the driver lacks the package no-such-a 1.0 and no-such-b 2: install it where this process runs")


def test_a_failure_names_the_packages_that_each_process_needs() -> None:
    assert beside({}) == ""
    assert beside({"acme": "1"}) == " (each process of this run needs the package acme 1)"
