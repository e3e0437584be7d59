"""A domain that no generator knows, as a model would write it: an apiary. Answers by what a question asks for."""

import re
from typing import Any

TEXT, NUMBER = {"type": "string"}, {"type": "integer", "minimum": 0}
HINT = "a small apiary, whose hives are inspected"


def _column(name: str, kind: str = "hard", **more: Any) -> dict[str, Any]:
    return {"name": name, "kind": kind, **more}


MANIFEST: dict[str, Any] = {
    "domain": "apiary", "summary": "An apiary.", "policy": "Find a hive before you change anything.",
    "tables": [
        {"name": "hives", "key": "hive_id", "columns": [
            _column("hive_id"), _column("name"), _column("place"), _column("status", values=["open", "closed"])]},
        {"name": "inspections", "key": "inspection_id", "columns": [
            _column("inspection_id", "exempt"), _column("hive_id", references="hives"),
            _column("mites", type="integer"), _column("seen_at", "exempt", type="time")]},
        {"name": "treatments", "key": "treatment_id", "columns": [
            _column("treatment_id", "exempt"), _column("inspection_id", references="inspections"),
            _column("agent", values=["oxalic", "thymol"])]}],
    "tools": [
        {"name": "find_hive", "description": "Find hives by their place.", "parameters": {"place": TEXT},
         "required": ["place"], "needs": ["place"], "gives": ["hive_id"], "reads": ["hives"],
         "rejects": ["a place without hives"]},
        {"name": "record_inspection", "description": "Record how many mites were counted.",
         "parameters": {"hive_id": TEXT, "mites": NUMBER}, "required": ["hive_id", "mites"], "needs": ["hive_id"],
         "gives": ["inspection_id"], "reads": ["hives"], "writes": ["inspections"],
         "rejects": ["an unknown hive", "a closed hive"]},
        {"name": "start_treatment", "description": "Treat a hive after an inspection.",
         "parameters": {"inspection_id": TEXT, "agent": {"type": "string", "enum": ["oxalic", "thymol"]}},
         "required": ["inspection_id", "agent"], "needs": ["inspection_id"], "reads": ["inspections"],
         "writes": ["treatments"], "rejects": ["an unknown inspection"]},
        {"name": "close_hive", "description": "Close a hive for the winter.", "parameters": {"hive_id": TEXT},
         "required": ["hive_id"], "needs": ["hive_id"], "reads": ["hives"], "writes": ["hives"],
         "rejects": ["an unknown hive"]}]}
EXAMPLE: dict[str, Any] = {
    "hives": {key: {"hive_id": key, "name": name, "place": place, "status": status} for key, name, place, status in (
        ("h1", "Blue", "orchard", "open"), ("h2", "Blue II", "meadow", "open"), ("h3", "Old", "wood", "closed"))},
    "inspections": {"i1": {"inspection_id": "i1", "hive_id": "h1", "mites": 2, "seen_at": "2025-09-01T08:00:00Z"}},
    "treatments": {}}
SOURCES = {
    "find_hive": '''def find_hive(db, place):
    found = [dict(hive) for hive in db["hives"].values() if hive["place"] == place]
    if not found:
        raise Rejected("no hive stands there")
    return {"hives": found}
''',
    "record_inspection": '''def record_inspection(db, hive_id, mites):
    hive = db["hives"].get(hive_id)
    if hive is None:
        raise Rejected("there is no such hive")
    if hive["status"] == "closed":
        raise Rejected("the hive is closed")
    made = db.new_id("ins")
    db["inspections"][made] = {"inspection_id": made, "hive_id": hive_id, "mites": mites, "seen_at": db.now}
    return {"inspection_id": made}
''',
    "start_treatment": '''def start_treatment(db, inspection_id, agent):
    if inspection_id not in db["inspections"]:
        raise Rejected("there is no such inspection")
    made = db.new_id("tre")
    db["treatments"][made] = {"treatment_id": made, "inspection_id": inspection_id, "agent": agent}
    return {"treatment_id": made}
''',
    "close_hive": '''def close_hive(db, hive_id):
    if hive_id not in db["hives"]:
        raise Rejected("there is no such hive")
    db["hives"][hive_id]["status"] = "closed"
    return {"hive_id": hive_id, "status": "closed"}
'''}
BUG = SOURCES["record_inspection"].replace('"mites": mites', '"mites": 0')
_SEEN = {"inspection_id": "x", "hive_id": "h1", "mites": 7, "seen_at": "2026-01-01T08:00:00Z"}
CASES: dict[str, list[dict[str, Any]]] = {
    "find_hive": [{"arguments": {"place": "orchard"}, "after": {}}, {"arguments": {"place": "moon"}, "after": None}],
    "record_inspection": [
        {"arguments": {"hive_id": "h1", "mites": 7}, "after": {"inspections": {"x": _SEEN}}},
        {"arguments": {"hive_id": "h9", "mites": 7}, "after": None},
        {"arguments": {"hive_id": "h1", "mites": 7}, "before": {"hives": {"h1": {"status": "closed"}}}, "after": None}],
    "start_treatment": [
        {"arguments": {"inspection_id": "i1", "agent": "thymol"},
         "after": {"treatments": {"t": {"treatment_id": "t", "inspection_id": "i1", "agent": "thymol"}}}},
        {"arguments": {"inspection_id": "i9", "agent": "thymol"}, "after": None}],
    "close_hive": [{"arguments": {"hive_id": "h2"}, "after": {"hives": {"h2": {"status": "closed"}}}},
                   {"arguments": {"hive_id": "h9"}, "after": None}]}


def chain(number: int) -> dict[str, Any]:
    """Return a chain of three calls or four; each number counts other mites."""
    made = {"$step": 1, "$field": "inspection_id"}
    closing = [{"tool": "close_hive", "arguments": {"hive_id": "h1"}}] if number % 2 else []
    return {"before": {}, "chain": [
        {"tool": "find_hive", "arguments": {"place": "orchard"}},
        {"tool": "record_inspection", "arguments": {"hive_id": "h1", "mites": 3 + number}},
        {"tool": "start_treatment", "arguments": {"inspection_id": made, "agent": "oxalic"}}, *closing]}


def answer(question: str) -> dict[str, Any]:
    """Return what a good author says to a question."""
    tool = re.search(r"[Tt]he tool (\w+):", question)
    name = tool[1] if tool else ""
    number = re.search(r"Plan task (\d+):", question)
    mites = re.search(r'"mites":(\d+)\} gave', question)
    if "Design a service" in question:
        return MANIFEST
    if "Write a small state" in question:
        return {"tables": EXAMPLE}
    if number:
        return chain(int(number[1]))
    if mites:
        return {"instruction": f"I counted {mites[1]} mites in the hive in the orchard. Note that, and treat it after "
                f"this inspection with oxalic acid{', then close it' if 'close_hive {' in question else ''}.",
                "communicate": []}
    if "Write cases" in question:
        return {"cases": CASES[name]}
    return {"source": SOURCES[name]}
