"""From a hint to a theme: a domain that is known, or one that is derived from the hint's words and text alone."""

import keyword
import random
import re
import unicodedata
from collections.abc import Sequence

from hone.environments.synthesis.theme import Theme, plural
from hone.environments.synthesis.themes import BASE, THEMES

_STOP = frozenset((
    "a", "an", "and", "are", "at", "by", "for", "from", "in", "into", "is", "it", "its", "of", "on", "or",
    "our", "some", "that", "the", "their", "there", "this", "to", "we", "where", "which", "who", "with",
    "world", "domain", "environment", "about", "package", "make", "please", "tools", "small", "large", "big",
    "new", "out", "off", "over", "under", "through", "between", "without", "all", "any", "each", "every", "many",
    "other", "very", "also", "but", "not", "can", "has", "have", "will", "was", "were", "you", "your", "they", "them",
    "these", "those", "whose", "what", "when", "how", "people", "someone", "something", "things", "rent", "rents",
    "renting", "sell", "sells", "selling", "buy", "buys", "buying", "lend", "lends", "lending", "give", "gives",
    "giving", "offer", "offers", "offering", "keep", "keeps", "run", "runs", "running", "makes", "making", "help",
    "helps", "want", "wants", "need", "needs", "use", "uses", "using"))
"""Words that are no subject: a domain is called by the others, and its things by the last of them."""
_VAGUE = frozenset((
    "model", "service", "product", "article", "session", "client", "customer", "owner", "driver", "visitor"))
"""Nouns of known domains that many others have too: they name none."""
_GROUPS = (("get_person", "change_phone"), ("list_category", "get_record"), ("complete",), ("move",), ("resize",),
           ("pay", "top_up", "list_payments"), ("top_up", "send_money"), ("note",), ("suspend", "reinstate"),
           ("find_places", "list_place_items"), ("find_places", "list_stock", "transfer", "receive"),
           ("file_report", "list_reports", "close_report"), ("close_item", "open_item"), ("set_price",),
           ("change_level",))
"""Tools that make sense together."""
_RULES = ("limit", "restricted", "suspended", "one_each", "dated", "pay_first")
_FEWEST_GROUPS = 7


class NoWorld(Exception):
    """A hint leads to no package. Holds the reason and what was tried, in words."""

    def __init__(self, reason: str, tried: Sequence[str] = ()) -> None:
        super().__init__(f"{reason} (tried: {'; '.join(tried)})" if tried else reason)
        self.reason, self.tried = reason, list(tried)


def theme_of(hint: str) -> Theme:
    """Return the theme that a hint names, or one derived from its words, the same each time. Raises NoWorld."""
    words = _words(hint)
    known = _known(words)
    if known is not None:
        return known
    telling = [word for word in words if len(word) >= 3 and word not in _STOP]
    if not telling:
        raise NoWorld("the hint names nothing", [
            f"a known domain: {', '.join(THEMES)}", f"words of three or more Latin letters: {words or 'none'}"])
    return _derived(telling[:3], random.Random(" ".join(words)))


def _words(hint: str) -> list[str]:
    plain = unicodedata.normalize("NFKD", hint).encode("ascii", "ignore").decode().casefold()
    return re.findall(r"[a-z]+", plain)


def _known(words: list[str]) -> Theme | None:
    """Return the first domain that the words name: by its name, or by a noun that it has alone."""
    text = f" {' '.join(words)} "
    named = {theme: {theme.domain, plural(theme.domain)} for theme in THEMES.values()}
    nouns = {theme: {form for noun in (theme.person, theme.item)
                     if noun not in _VAGUE for form in (noun, plural(noun))}
             for theme in THEMES.values()}
    for terms in (named, nouns):
        found = [(text.index(f" {term.replace('_', ' ')} "), theme) for theme, forms in terms.items()
                 for term in forms if f" {term.replace('_', ' ')} " in text]
        if found:
            return min(found, key=lambda one: (one[0], one[1].domain))[1]
    return None


def _derived(words: list[str], source: random.Random) -> Theme:
    """Return a theme with generic nouns and the hint's words. What it has and which rules it follows are drawn."""
    words = [one[:20] for one in words]
    word = words[-1]
    names = [one.capitalize() for one in words]
    groups = source.sample(_GROUPS, source.randint(_FEWEST_GROUPS, len(_GROUPS)))
    return Theme(
        "_".join(words) if not keyword.iskeyword("_".join(words)) else f"{word}_world",
        f"A service for {' '.join(words)}: clients make requests for offers.", "client", f"{word}_offer", "request",
        "site", "remark",
        ((*names, "Plain", "Blue", "Grand", "Early"), ("Basic", "Plus", "Complete", "Special")),
        source.choice((("small", "medium", "large"), ("regular", "seasonal", "rare"), ("indoor", "outdoor", "remote"))),
        source.choice((("basic", "trusted"), ("new", "partner"))), source.choice(("desk", "contact_code", "cabinet")),
        "units_free", source.choice(("start_day", "delivery_day")),
        source.choice((("open", "done", "dropped"), ("active", "finished", "cancelled"))),
        ("request", "finish", "drop", "postpone"), BASE.union(*groups),
        frozenset(source.sample(_RULES, source.randint(2, 4))), source.randint(2, 4), source.random() < 0.5)
