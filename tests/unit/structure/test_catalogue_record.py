"""The record of Hone's own catalogue members agrees with pyproject.toml and with the members."""

import json

import pytest

from checks.catalogue_record import CATALOGUES, RECORDS, tables, text
from hone.catalogue.catalogue import NoMember


@pytest.mark.parametrize("group", CATALOGUES)
def test_each_group_of_the_table_is_recorded_in_its_order(group: str) -> None:
    recorded = json.loads((RECORDS / f"{group}.json").read_text())
    assert list(tables()[group].items()) == [(name, one["target"]) for name, one in recorded.items()]
    assert list(CATALOGUES[group]) == list(recorded)


def test_a_member_that_the_table_names_wrongly_is_refused() -> None:
    with pytest.raises(NoMember, match="the grader 'lost' of hone-rl cannot be loaded"):
        text("hone.graders", {"lost": "hone.graders.lost:GRADER"})
