"""The OpenAPI document is valid, its references lead somewhere, and each operation tells its refusals."""

from collections.abc import Iterator
from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from hone.spec.settings import Settings
from services.gateway.app import create
from services.gateway.contract import METHODS
from services.gateway.declarations import OPEN_PATHS
from services.gateway.middleware.errors import ProblemDocument, refusal

NOTHING: Any = None


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return create(Settings(), NOTHING, NOTHING).openapi()


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from references(inner)


def test_it_is_valid_and_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1.")
    assert not list(OpenAPIV31SpecValidator(document).iter_errors())
    found = set(references(document))
    assert "#/components/schemas/BatchSpec" in found  # of a run's spec
    for reference in found:
        at: Any = document
        for part in reference.removeprefix("#/").split("/"):
            at = at[part]
    assert "$defs" not in str(document)


def test_every_operation_tells_its_refusals(document: dict[str, Any]) -> None:
    operations = {(method, path): operation for path, methods in document["paths"].items()
                  for method, operation in methods.items() if method in METHODS}
    for (method, path), operation in operations.items():
        reported = {status for status in operation["responses"] if status[0] in "45"}
        expected = {"405", "503"} | (set() if path in OPEN_PATHS else {"401", "403"})
        expected |= {"404"} if "{" in path else set()
        expected |= {"409", "413"} if method != "get" else set()
        expected |= {"413", "422"} if "requestBody" in operation else set()
        assert expected <= reported, (method, path)
        assert any(status[0] == "2" for status in operation["responses"])
    assert operations["get", "/healthz"]["security"] == []


def test_generated_clients_find_names_files_and_required_fields(document: dict[str, Any]) -> None:
    operations = [operation for methods in document["paths"].values() for operation in methods.values()]
    names = [operation["operationId"] for operation in operations]
    assert len(set(names)) == len(names)
    assert {"runs_create", "keys_revoke", "deletions_run"} <= set(names)
    schemas = document["components"]["schemas"]
    assert schemas["Body_datasets_upload"]["properties"]["file"]["format"] == "binary"
    assert {"NewRun", "NewModel"} <= schemas.keys()
    for name in ("Run", "Page_RunSummary_", "Key", "Export"):
        assert set(schemas[name]["required"]) == schemas[name]["properties"].keys()


def test_refusals_are_problem_documents(document: dict[str, Any]) -> None:
    for answer in document["components"]["responses"].values():
        assert answer["content"]["application/problem+json"]["schema"]["$ref"].endswith("/ProblemDocument")
    assert refusal(ValueError("no secret")).status_code == 500
    assert {"type", "title", "status", "detail", "errors"} <= ProblemDocument.model_fields.keys()


def test_the_document_is_made_once(document: dict[str, Any]) -> None:
    app = create(Settings(), NOTHING, NOTHING)
    assert app.openapi() is app.openapi()
    assert app.openapi() == document
