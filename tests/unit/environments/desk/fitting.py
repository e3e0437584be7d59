"""A task that an author writes, and what else such a one may say."""

import copy
from typing import Any

HINT = "a violin maker, whose customers move their fittings"
GUEST, OTHER = "ingrid@holm.example", "ingmar@holm.example"
MOVED = {"tool": "update_event", "arguments": {"event": "E1", "start": "2026-01-15T14:00", "end": "2026-01-15T15:00"}}
CONFIRMED = {"tool": "send_mail", "arguments": {
    "to": [GUEST], "subject": "Fitting moved", "body": "It is at 14:00 on Thursday."}}
TASK: dict[str, Any] = {
    "instruction": "Ingrid Holm asked by mail to move her 'Cello fitting'. Move the event to the time of her latest "
                   "request and keep its length. Then confirm it to her in a mail with the subject 'Fitting moved'.",
    "difficulties": ["cross-source conflict", "entity alignment"],
    "owner": "maker@strings.example", "now": "2026-01-13T08:00:00Z", "zone": "UTC",
    "desk": {
        "files": {"/prices.txt": {"text": "A fitting is free."}},
        "mail": {
            "M1": {"sender": GUEST, "to": ["maker@strings.example"], "subject": "Fitting", "sent": "2026-01-11T12:00Z",
                   "body": "Could we meet on 2026-01-16 at 10:00?"},
            "M2": {"sender": GUEST, "to": ["maker@strings.example"], "subject": "Fitting again",
                   "sent": "2026-01-12T12:00Z", "body": "Forget the 16th: 2026-01-15 at 14:00, please."}},
        "calendar": {
            "E1": {"title": "Cello fitting", "start": "2026-01-14T10:00Z", "end": "2026-01-14T11:00Z",
                   "attendees": [GUEST]},
            "E2": {"title": "Cello fitting", "start": "2026-01-14T12:00Z", "end": "2026-01-14T13:00Z",
                   "attendees": [OTHER]}},
        "contacts": {"C1": {"name": "Ingrid Holm", "email": GUEST}, "C2": {"name": "Ingmar Holm", "email": OTHER}},
        "notes": {"N1": {"title": "Strings", "text": "Order a set of gut strings."}}},
    "checks": [
        {"id": "time", "description": "It is when she asked, and as long as before.", "kind": "core", "conditions": [
            {"kind": "every", "of": [
                {"kind": "value", "tool": "calendar", "object": "E1", "field": "start",
                 "equals": "2026-01-15T14:00:00Z"},
                {"kind": "value", "tool": "calendar", "object": "E1", "field": "end",
                 "equals": "2026-01-15T15:00:00Z"}]}]},
        {"id": "confirmation", "description": "She has a confirmation.", "kind": "core", "conditions": [
            {"kind": "count", "tool": "mail", "where": {
                "folder": "sent", "to": [GUEST], "subject": "Fitting moved"}}]},
        {"id": "one_mail", "description": "Exactly one mail was written.", "kind": "consistency", "conditions": [
            {"kind": "added", "tool": "mail", "count": 1}]}],
    "allowed": [{"tool": "calendar", "object": "E1", "fields": ["start", "end"]},
                {"tool": "mail", "object": f"{GUEST} | Fitting moved*"}],
    "solution": [MOVED, CONFIRMED],
    "wrong_object": [{"tool": "update_event", "arguments": {**MOVED["arguments"], "event": "E2"}},  # type: ignore[dict-item]
                     {"tool": "send_mail", "arguments": {**CONFIRMED["arguments"], "to": [OTHER]}}],  # type: ignore[dict-item]
    "near_misses": [{"calls": [MOVED], "check": "confirmation"}, {"calls": [CONFIRMED], "check": "time"},
                    {"calls": [MOVED, CONFIRMED, CONFIRMED], "check": "one_mail"}]}
OPINION = {"scores": {"structure": 90, "reproducibility": 90, "verifiability": 90, "difficulty": 70}, "missing": [],
           "repair": []}
OBJECTION = {**OPINION, "missing": [{"check": "time", "why": "the length is not said"}]}
OVERRULED = {"upheld": False, "evidence": "latest request and keep its length"}


def task(**otherwise: Any) -> dict[str, Any]:
    """Return the task with other fields."""
    return {**copy.deepcopy(TASK), **otherwise}


def answer(question: str) -> dict[str, Any]:
    """Return what a good author and validator says to a question. A second task asks the same in other words."""
    if "Write task" in question:
        said = str(TASK["instruction"])
        return task(instruction=f"{said} Thank you." if "Other tasks ask for these" in question else said)
    return OVERRULED if "A validator refused it" in question else OPINION


def trivial() -> dict[str, Any]:
    """Return the task of a cheat: its program holds whatever was done."""
    return task(checks=[
        {"id": "desk", "description": "The note is there.", "kind": "core", "conditions": [
            {"kind": "count", "tool": "notes"}]},
        {"id": "kept", "description": "So is the file.", "kind": "consistency", "conditions": [
            {"kind": "unchanged", "tool": "files", "object": "/prices.txt"}]}],
        near_misses=[{"calls": [MOVED], "check": "desk"}] * 3)


def blind() -> dict[str, Any]:
    """Return the task of a cheat whose program asks for some mail and some new time, and misses that fit that."""
    return task(checks=[
        {"id": "mail", "description": "A mail was written.", "kind": "core", "conditions": [
            {"kind": "added", "tool": "mail", "count": 1}]},
        {"id": "moved", "description": "The old time is free.", "kind": "consistency", "conditions": [
            {"kind": "count", "tool": "calendar", "where": {"start": "2026-01-14T10:00Z"}, "least": 0, "most": 0}]}],
        allowed=[{"tool": "calendar", "object": "*"}, {"tool": "mail", "object": "*"}],
        wrong_object=[{"tool": "delete_event", "arguments": {"event": "E2"}}],
        near_misses=[{"calls": [MOVED], "check": "mail"}] * 3)
