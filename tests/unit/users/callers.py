"""A user for tests: somebody who wants an order cancelled."""

from typing import Any

from hone.users.profile import Profile, profile

CALLER: dict[str, Any] = {
    "id": "caller", "persona": "You are in a hurry.",
    "goal": {"text": "I want to cancel my order.", "hears": ["cancelled | canceled", "refund*"]},
    "knowledge": [
        {"name": "order", "value": "W1234", "form": "W9999", "asked": ["order number|which order"]},
        {"name": "name", "value": "Ada Berg", "reveal": "opening", "says": "I am {value}."},
        {"name": "email", "value": "ada@mail.org", "reveal": "after", "after": ["order"]},
        {"name": "reason", "value": "too late", "others": ["too dear"]},
        {"name": "card_number", "value": "4417", "reveal": "never", "form": "9999"}],
    "mood": {"least": -2, "again": -0.5, "repeats": -1, "nothing": -0.25,
             "rules": [{"hears": "sorry", "mood": 1, "once": True}, {"hears": "no", "mood": -1}]},
    "turns": 6,
}


def caller(**changes: Any) -> Profile:
    """Return the profile with other fields."""
    return profile({**CALLER, **changes})
