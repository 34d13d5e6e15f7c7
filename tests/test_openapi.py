"""The OpenAPI document: it is valid and complete, and there is a page to browse it."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin, urlsplit
from urllib.request import urlopen

import pytest
from drf_spectacular.validation import validate_schema

from tests.support.api import Api
from tests.support.api_reference import PAGE, reference
from tests.support.openapi import CREATING, ROUTES, RUNS, of_both_kinds, operations
from tests.support.service import Service

# What any request may be answered with, whatever it asks for.
FOR_ALL = {"400", "401", "403", "405", "406", "413", "415", "429"}
HEEDING_IF_MATCH = of_both_kinds(
    [
        "PATCH /stored/{kind}/{}",
        "DELETE /stored/{kind}/{}",
        "POST /stored/{kind}/{}/unpublish",
        "POST /stored/{kind}/{}/versions",
        "POST /stored/{kind}/{}/versions/{}/activate",
        "POST /stored/{kind}/{}/versions/{}/restore",
        "PUT /stored/{kind}/{}/labels/{}",
        "DELETE /stored/{kind}/{}/labels/{}",
        "DELETE /stored/{kind}/{}/versions/{}",
    ]
)
CONFLICTING = of_both_kinds(
    ["POST /stored/{kind}", "POST /stored/{kind}/{}/clone", "DELETE /stored/{kind}/{}"]
)
TAKING_A_BODY = [
    *CREATING,
    *of_both_kinds(["PATCH /stored/{kind}/{}", "PUT /stored/{kind}/{}/labels/{}"]),
    "POST /stored/agents/{}/change-request",
    "POST /stored/agents/preview-instructions",
    *RUNS,
]
WITH_A_SELECTOR = [
    *of_both_kinds(
        ["GET /stored/{kind}/{}", "POST /stored/{kind}/{}/export", "POST /stored/{kind}/{}/clone"]
    ),
    "GET /agents/{}",
]

Document = dict[str, Any]


@pytest.fixture(scope="module")
def document() -> Document:
    """The document as anybody can fetch it; it takes neither a key nor the database."""
    answer = Api("").request("GET", "/schema", accept="application/json")
    assert answer.status == 200
    return dict(answer.body)


def resolved(document: Document, schema: Document) -> Document:
    """Return the component that a schema refers to, or the schema itself."""
    name = schema.get("$ref", "").removeprefix("#/components/schemas/")
    return dict(document["components"]["schemas"][name]) if name else schema


def parameters(operation: Document, where: str) -> set[str]:
    return {each["name"] for each in operation.get("parameters", []) if each["in"] == where}


def test_the_document_is_valid_openapi_3_1(document: Document) -> None:
    assert re.fullmatch(r"3\.1\.\d+", document["openapi"])
    validate_schema(document)


def test_the_document_lists_the_routes_and_nothing_else(document: Document) -> None:
    assert sorted(operations(document)) == sorted(ROUTES)


def test_the_reference_is_made_of_the_document(document: Document) -> None:
    assert PAGE.read_text() == reference(document), "run `make api-reference`"


def test_every_operation_has_a_name_of_its_own_and_says_what_it_does(document: Document) -> None:
    found = operations(document).values()
    assert len({operation["operationId"] for operation in found}) == len(ROUTES)
    assert all(operation["description"].strip() for operation in found)


def test_every_operation_needs_an_api_key_or_a_session(document: Document) -> None:
    schemes = document["components"]["securitySchemes"]
    for operation in operations(document).values():
        kinds = [schemes[name] for choice in operation["security"] for name in choice]
        assert [(kind["type"], kind.get("scheme", kind.get("in"))) for kind in kinds] == [
            ("http", "bearer"),
            ("apiKey", "cookie"),
        ]


@pytest.mark.parametrize("route", ROUTES)
def test_an_operation_describes_its_success_and_its_errors(document: Document, route: str) -> None:
    answers = operations(document)[route]["responses"]
    successes = {status for status in answers if status.startswith("2")}
    assert successes == {"201" if route in CREATING else "200"}
    expected = FOR_ALL | ({"404"} if "{}" in route else set())
    expected |= {"409"} if route in CONFLICTING else set()
    expected |= {"412"} if route in HEEDING_IF_MATCH else set()
    assert expected <= answers.keys()
    assert ("409" in answers, "412" in answers) == (route in CONFLICTING, route in HEEDING_IF_MATCH)


@pytest.mark.parametrize("route", ROUTES)
def test_every_error_has_a_sentence_and_a_code(document: Document, route: str) -> None:
    answers = operations(document)[route]["responses"]
    for status in filter(lambda status: status >= "400", answers):
        error = resolved(document, answers[status]["content"]["application/json"]["schema"])
        assert {"error", "code"} <= set(error["required"]), status
        assert error["properties"]["error"]["type"] == error["properties"]["code"]["type"] == "string"
        assert answers[status]["description"], status
    issue = resolved(
        document,
        resolved(document, answers["400"]["content"]["application/json"]["schema"])["properties"]["issues"][
            "items"
        ],
    )
    assert set(issue["required"]) == {"field", "message"}


@pytest.mark.parametrize("route", ROUTES)
def test_an_operation_describes_its_parameters(document: Document, route: str) -> None:
    operation = operations(document)[route]
    assert len(parameters(operation, "path")) == route.count("{}")
    assert "requestContext" in parameters(operation, "query")
    assert ("If-Match" in parameters(operation, "header")) == (route in HEEDING_IF_MATCH)
    if route in WITH_A_SELECTOR:
        assert {"status", "versionId", "label"} <= parameters(operation, "query")


@pytest.mark.parametrize("route", TAKING_A_BODY)
def test_an_operation_that_takes_a_body_describes_it(document: Document, route: str) -> None:
    content = operations(document)[route]["requestBody"]["content"]
    assert list(content) == ["application/json"]
    assert resolved(document, content["application/json"]["schema"])["additionalProperties"] is False


def test_the_fields_of_a_snapshot_are_described(document: Document) -> None:
    schemas = document["components"]["schemas"]
    assert schemas["AgentCreate"]["required"] == ["name", "instructions"]
    assert schemas["PromptBlockCreate"]["required"] == ["name", "content"]
    assert {"model", "tools", "agents", "mcpClients", "requestContextSchema", "browser"} <= schemas[
        "AgentUpdate"
    ]["properties"].keys()
    assert "required" not in schemas["AgentUpdate"]


class Links(HTMLParser):
    """Everything that a page loads by itself."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the address of a script, a style, an icon or a picture."""
        addresses = {"script": "src", "link": "href", "img": "src", "iframe": "src"}
        self.found += [value for name, value in attrs if name == addresses.get(tag) and value]


def test_the_docs_are_a_page_that_loads_everything_from_the_service_itself(live_service: Service) -> None:
    address = f"{live_service.url}/api/docs"
    with urlopen(address) as page:
        assert page.headers.get_content_type() == "text/html"
        html = page.read().decode()
    links = [urljoin(address, link) for link in Links(html).found]
    kinds = set()
    for link in links:
        assert link.startswith(f"{live_service.url}/"), link
        with urlopen(link) as loaded:
            assert loaded.status == 200
            kinds.add(loaded.headers.get_content_type())
            assert loaded.read()
    assert {"text/javascript", "text/css"} <= kinds


def test_the_docs_show_the_document_of_the_service(live_service: Service) -> None:
    with urlopen(f"{live_service.url}/api/docs") as page:
        html = page.read().decode()
    hosts = {urlsplit(address).netloc for address in re.findall(r"https?://[^\s\"'<>]+", html)}
    assert hosts <= {urlsplit(live_service.url).netloc}
    [address] = set(re.findall(r"[\"'](/api/schema[^\"']*)[\"']", html))
    with urlopen(f"{live_service.url}{address}") as document:
        assert document.status == 200
        assert b'"3.1' in document.read()
