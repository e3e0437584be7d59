"""Theme of a domain: its words, its rules, and its tools. Tables and code follow from it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Theme:
    """A domain: persons make records of items, such as members loans of books; perhaps at places, perhaps for money."""

    domain: str
    summary: str
    person: str
    item: str
    record: str
    place: str  # where items are
    report: str  # what is written about an item
    titles: tuple[tuple[str, ...], tuple[str, ...]]  # first and second half of an item's title
    categories: tuple[str, ...]
    levels: tuple[str, ...]  # of persons, from the lowest
    code: str  # column of items that only a look-up tells
    unit: str  # column with how many of an item are free
    due: str  # column of records with a day
    statuses: tuple[str, str, str]  # of records: open, completed, cancelled
    verbs: tuple[str, str, str, str]  # create, complete, cancel, move to another day
    tools: frozenset[str]  # names of archetypes
    rules: frozenset[str] = frozenset()
    most_open: int = 3  # records that a person may have open, under the rule `limit`
    by_name: bool = False  # whether persons are found by name instead of e-mail

    @property
    def persons(self) -> str:
        return plural(self.person)

    @property
    def items(self) -> str:
        return plural(self.item)

    @property
    def records(self) -> str:
        return plural(self.record)

    @property
    def places(self) -> str:
        return plural(self.place)

    @property
    def reports(self) -> str:
        return plural(self.report)

    @property
    def paid(self) -> bool:
        return "pay" in self.tools

    @property
    def located(self) -> bool:
        return "find_places" in self.tools

    @property
    def stocked(self) -> bool:
        return "transfer" in self.tools

    @property
    def restricted(self) -> tuple[str, str] | None:
        """The category that only persons of the highest level may have, with that level."""
        return (self.categories[-1], self.levels[-1]) if "restricted" in self.rules else None


def plural(noun: str) -> str:
    """Return the plural of an English noun that is regular, or ends in `person`."""
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"
