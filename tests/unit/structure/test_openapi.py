"""The REST surface of the last release stays: additions are allowed, and breaks are named."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from checks.openapi import KEPT, breaches, document, text

THING: dict[str, Any] = {"type": "object", "additionalProperties": False, "required": ["id"], "properties": {
    "id": {"type": "string"}, "size": {"anyOf": [{"type": "integer", "maximum": 9}, {"type": "null"}]},
    "kind": {"type": "string", "enum": ["a", "b"]},
    "parts": {"type": "array", "items": {"$ref": "#/components/schemas/Thing"}}}}
BEFORE: dict[str, Any] = {
    "components": {"schemas": {"Thing": THING}},
    "paths": {"/things": {"post": {
        "parameters": [{"name": "limit", "in": "query", "schema": {"type": "integer", "maximum": 100}}],
        "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}},
        "responses": {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}}}}}}}


def changed(part: str, change: Callable[[Any], object]) -> list[str]:
    """Return the breaches of BEFORE after a change of its operation or its schema."""
    now = copy.deepcopy(BEFORE)
    change(now["paths"]["/things"]["post"] if part == "post" else now["components"]["schemas"]["Thing"])
    return list(dict.fromkeys(breaches(BEFORE, now)))


def test_the_kept_document_is_of_this_form_and_today_s_does_not_break_it() -> None:
    kept = json.loads(KEPT.read_text())
    assert text(kept) == KEPT.read_text()
    assert len(kept["paths"]) > 100
    assert list(breaches(kept, document())) == []


@pytest.mark.parametrize(("part", "change"), [
    ("post", lambda it: it["parameters"].append({"name": "after", "in": "query", "schema": {"type": "string"}})),
    ("thing", lambda it: it["properties"].update(new={"type": "string"})),
    ("thing", lambda it: it["properties"]["kind"]["enum"].append("c")),
    ("thing", lambda it: it["properties"]["size"]["anyOf"][0].update(maximum=10)),
    ("post", lambda it: it["responses"].update({"202": {}})),
    ("thing", lambda it: it.update(title="A thing")),
])
def test_additions_are_allowed(part: str, change: Callable[[Any], object]) -> None:
    assert changed(part, change) == []


@pytest.mark.parametrize(("part", "change", "found"), [
    ("post", lambda it: it["parameters"].clear(), ["POST /things: parameter limit is gone"]),
    ("post", lambda it: it["parameters"][0].update(required=True), ["POST /things: needs parameter limit now"]),
    ("post", lambda it: it["parameters"][0]["schema"].update(maximum=50),
     ["POST /things: parameter limit: maximum is 50 now, expected 100"]),
    ("post", lambda it: it["requestBody"].update(required=True), ["POST /things: needs a body now"]),
    ("post", lambda it: it["responses"].pop("200"),
     ["POST /things: answers 200 no longer", "POST /things 200: application/json is gone"]),
    ("thing", lambda it: it["properties"].pop("kind"),
     ["Thing (request): field kind is gone", "Thing (answer): field kind is gone"]),
    ("thing", lambda it: it["required"].append("kind"), ["Thing (request): needs field kind now"]),
    ("thing", lambda it: it["required"].clear(), ["Thing (answer): field id may be missing now"]),
    ("thing", lambda it: it["properties"]["id"].update(type="integer"),
     ["Thing (request).id: found the type integer, expected string",
      "Thing (answer).id: found the type integer, expected string"]),
    ("thing", lambda it: it["properties"].update(kind={"anyOf": [it["properties"]["kind"], {"type": "null"}]}),
     ["Thing (answer).kind: may be null now"]),
    ("thing", lambda it: it["properties"]["kind"]["enum"].pop(),
     ["Thing (request).kind: found the values ['a'], expected ['a', 'b']"]),
    ("thing", lambda it: it["properties"]["size"]["anyOf"].pop(),
     ["Thing (request).size: found the type integer, expected null"]),
])
def test_breaks_are_named(part: str, change: Callable[[Any], object], found: list[str]) -> None:
    assert changed(part, change) == found


def test_a_path_that_is_gone_is_named() -> None:
    assert list(breaches(BEFORE, {**BEFORE, "paths": {}})) == ["POST /things is gone"]
