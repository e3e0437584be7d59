"""Bodies that are large in some odd way, and models whose text cannot be made: refused at once and in few words."""

import json
import shutil
from pathlib import Path

import pytest

from hone.client import Client
from hone.client import errors as client_errors
from tests.integration.gateway.conftest import Gateway

MANY = {"more keys": json.dumps({f"key{number}": number for number in range(40_000)}),
        "lists": "[" * 10**6, "objects": '{"a":' * 10**5, "digits": '{"steps": ' + "9" * 10**6 + "}",
        "long name": json.dumps({"k" * 10**6: 1}), "braces": json.dumps({"contexts": {"privileged": [{
            "text": "{{" * 500_000}]}})}


@pytest.mark.parametrize("name", MANY)
def test_a_body_of_a_mebibyte_is_refused_in_a_few_words(gateway: Gateway, tenant: str, name: str) -> None:
    with gateway.http(tenant) as http:
        answer = http.post("/v1/runs", content=MANY[name], headers={"content-type": "application/json"})
    assert answer.status_code in (400, 422)
    assert answer.headers["content-type"] == "application/problem+json"
    assert len(answer.content) < 50_000


@pytest.mark.parametrize(("file", "content", "problem"), [
    ("chat_template.jinja", "{% if %}", ("chat_template", "Expected an expression, got 'end of statement block'")),
    ("chat_template.jinja", "{{ raise_exception('no') }}", (
        "chat_template", "question: the model's chat template refuses this: chat_template: no")),
    ("tokenizer.json", "[" * 10**5, (
        "tokenizer.json", "invalid type: sequence, expected struct Tokenizer at line 1 column 1")),
])
def test_a_template_or_a_tokenizer_that_cannot_be_used(
        hone: Client, toy_directory: Path, tmp_path: Path, file: str, content: str,
        problem: tuple[str, str]) -> None:
    shutil.copytree(toy_directory, tmp_path / "model")
    (tmp_path / "model" / file).write_text(content)
    with pytest.raises(client_errors.Refused) as refused:
        hone.register_model("hostile", tmp_path / "model")
    assert [(one.field, one.found) for one in refused.value.problems] == [problem]


@pytest.mark.parametrize(("path", "body", "field"), [
    ("/v1/judges/odd", '{"url": "http://h", "model": "a\\u0000"}', "model"),
    ("/v1/judges/odd", '{"url": "http://h", "model": "m", "terms": {"answers": ["\\u0000"]}}', "terms.answers[0]"),
    ("/v1/secrets/odd", '{"value": "sk-hidden\\u0000"}', "value"),
    ("/v1/secrets/odd", '{"value": "sk-hidden\\n"}', "value"),
    ("/v1/secrets/odd", '{"value": ["sk-hidden"]}', "value")])
def test_a_text_that_cannot_be_stored_or_sent_is_refused_and_no_secret_is_repeated(
    gateway: Gateway, tenant: str, path: str, body: str, field: str) -> None:
    with gateway.http(tenant) as http:
        answer = http.put(path, content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, [one["field"] for one in answer.json()["errors"]]) == (422, [field])
    assert "sk-hidden" not in answer.text
