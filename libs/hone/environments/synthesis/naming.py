"""How a task speaks of rows: by what a person would say, never by an id, and only where no other row is called so."""

from typing import Any

from hone.environments.packages.package import Tables
from hone.environments.synthesis.draft import filled
from hone.environments.synthesis.theme import Theme


def said(theme: Theme, tables: Tables, fact: str, key: str) -> str:
    """Return the name of a row, by its fact (such as `member_id`) and its key."""
    noun = fact.removesuffix("_id")
    if noun == theme.person:
        return person(tables[theme.persons][key])
    if noun == theme.item:
        return item(theme, tables[theme.items][key])
    if noun == theme.place:
        return place(theme, tables[theme.places][key])
    if noun == theme.record:
        return record(theme, tables, tables[theme.records][key])
    return report(theme, tables, tables[theme.reports][key])


def unique(theme: Theme, tables: Tables, fact: str, key: str) -> bool:
    """Return whether no other row of its table is called the same."""
    wanted, table = said(theme, tables, fact, key), tables[table_of(theme, fact)]
    return sum(said(theme, tables, fact, other) == wanted for other in table) == 1


def table_of(theme: Theme, fact: str) -> str:
    """Return the table whose keys a fact names."""
    tables: dict[str, str] = {f"{getattr(theme, noun)}_id": getattr(theme, f"{noun}s")
                              for noun in ("report", "place", "record", "item", "person")}
    return tables[fact]


def person(row: dict[str, Any]) -> str:
    return f"{row['name']} ({row['email']})"


def item(theme: Theme, row: dict[str, Any]) -> str:
    category = row["category"].replace("_", " ")
    return f'the {category} {theme.item.replace("_", " ")} "{row["title"]}"'


def place(theme: Theme, row: dict[str, Any]) -> str:
    return f"the {theme.place.replace('_', ' ')} {row['name']} in {row['city']}"


def record(theme: Theme, tables: Tables, row: dict[str, Any]) -> str:
    which, who = tables[theme.items][row[f"{theme.item}_id"]], tables[theme.persons][row[f"{theme.person}_id"]]
    status = row["status"].replace("_", " ")
    return filled(theme, f"the {status} $record_said of {person(who)} for {item(theme, which)} with the $due_said "
                         f"{row[theme.due]}")


def report(theme: Theme, tables: Tables, row: dict[str, Any]) -> str:
    which = tables[theme.items][row[f"{theme.item}_id"]]
    return filled(theme, f"the {row['status']} {row['kind']} $report_said about {item(theme, which)}")
