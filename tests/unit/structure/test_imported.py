"""Imports that load too many modules are refused."""

from checks.imported import count, main


def test_the_modules_of_an_import_are_counted() -> None:
    assert count("import hone.ids") == 2
    assert count("import hone.catalogue.entries; print('noise')") == 3


def test_a_bound_is_reached_by_its_own_count() -> None:
    assert main({"import hone.ids": 3}) == 0
    assert main({"import hone.ids": 2}) == 1
