"""The OpenAPI document: it is valid and complete, and there is a page to browse it."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from importlib.resources import files
from typing import Any
from urllib.parse import urljoin, urlsplit
from urllib.request import urlopen

import jsonschema_rs
import pytest
from django.core.exceptions import ImproperlyConfigured
from drf_spectacular import validation
from drf_spectacular.plumbing import ComponentRegistry, ResolvedComponent
from editor_client.shared import ids
from pydantic import create_model

from tests.support.api import Api
from tests.support.api_reference import PAGE, reference
from tests.support.openapi import (
    ALSO_MAKING_NOTHING,
    BEGINNING,
    CREATING,
    NOT_IMPLEMENTED,
    ROUTES,
    RUNS,
    of_each_kind,
    operations,
)
from tests.support.service import Service
from versioning.api import errors
from versioning.api.openapi import EditorSchema, ShapeExtension
from versioning.domain import run_options
from versioning.domain.selectors import VersionsMap
from versioning.runtime import calls

# Statuses that any request may be answered with.
FOR_ALL = {"400", "401", "403", "405", "406", "413", "415", "429"}
HEEDING_IF_MATCH = [
    *of_each_kind(
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
    ),
    "PATCH /releases/{}",
    "DELETE /releases/{}",
    "POST /releases/{}/publish",
]
CONFLICTING = [
    *(route for route in ROUTES if route.startswith("POST ")),  # at least over their `Idempotency-Key`
    *of_each_kind(["PATCH /stored/{kind}/{}", "DELETE /stored/{kind}/{}"]),
    "PATCH /schedules/{}",
    "DELETE /schedules/{}",
    "PATCH /releases/{}",
    "DELETE /releases/{}",
    "PATCH /reviews/{}",
    "PATCH /rollouts/{}",
    *["PATCH /datasets/{}", "DELETE /datasets/{}"],
    "PATCH /datasets/{}/items/{}",
    *["GET /experiments/{}", "DELETE /experiments/{}"],  # several datasets may have the id
    "DELETE /service-accounts/{}",
    "DELETE /workspaces/{}",
    "PUT /workspaces/{}/members/{}",
    "DELETE /workspaces/{}/members/{}",
]
TAKING_A_BODY = [
    *(route for route in CREATING if not route.endswith("/revert")),
    "PATCH /schedules/{}",
    "PATCH /releases/{}",
    "POST /releases/{}/publish",
    *of_each_kind(["PATCH /stored/{kind}/{}", "PUT /stored/{kind}/{}/labels/{}"]),
    *of_each_kind(["POST /stored/{kind}/{}/versions/{}/activate"]),
    "PATCH /webhooks/{}",
    "PATCH /comments/{}",
    "POST /webhooks/{}/rotate",
    "PUT /workspaces/{}/review-policy",
    "PATCH /reviews/{}",
    "POST /reviews/{}/verdicts",
    "POST /stored/agents/{}/change-request",
    "POST /stored/scorers/{}/try",
    *["PATCH /datasets/{}", "PATCH /datasets/{}/items/{}"],
    *["POST /datasets/{}/experiments/{}/attempts", "POST /datasets/{}/experiments/{}/score"],
    *["POST /datasets/{}/experiments/{}/resume", "POST /datasets/{}/experiments/{}/items/{}/run"],
    "POST /datasets/{}/compare",
    *["PATCH /datasets/{}/experiments/{}", "PATCH /datasets/{}/experiments/{}/results/{}"],
    *["PATCH /gates/{}", "POST /gates/run"],
    "POST /stored/agents/preview-instructions",
    "POST /locks",
    *RUNS,
]
WITH_A_SELECTOR = [
    *of_each_kind(["GET /stored/{kind}/{}", "POST /stored/{kind}/{}/export", "POST /stored/{kind}/{}/clone"]),
    "GET /agents/{}",
    "GET /agents/{}/parts",
]

Document = dict[str, Any]


@pytest.fixture(scope="module")
def document() -> Document:
    """The document, which can be fetched without a key and without the database."""
    answer = Api("").request("GET", "/schema", accept="application/json")
    assert answer.status == 200
    return dict(answer.body)


def resolved(document: Document, schema: Document) -> Document:
    """Return the component that a schema refers to, or the schema itself."""
    name = schema.get("$ref", "").removeprefix("#/components/schemas/")
    return dict(document["components"]["schemas"][name]) if name else schema


def takes_null(schema: Document) -> bool:
    return "null" in schema.get("type", "") or {"type": "null"} in schema.get("anyOf", [])


def parameters(operation: Document, where: str) -> set[str]:
    return {each["name"] for each in operation.get("parameters", []) if each["in"] == where}


def test_the_document_is_valid_openapi_3_1(document: Document) -> None:
    assert re.fullmatch(r"3\.1\.\d+", document["openapi"])
    specified = json.loads(files(validation).joinpath("openapi_3_1_schema.json").read_text())
    jsonschema_rs.validator_for(specified).validate(document)


def test_the_document_lists_the_routes_and_nothing_else(document: Document) -> None:
    assert sorted(operations(document)) == sorted(ROUTES)


def test_the_api_reference_is_generated_from_the_document(document: Document) -> None:
    assert PAGE.read_text() == reference(document), "run `make api-reference`"


def test_every_operation_has_a_unique_id_and_a_description(document: Document) -> None:
    found = operations(document).values()
    assert len({operation["operationId"] for operation in found}) == len(ROUTES)
    assert all(operation["description"].strip() for operation in found)


def test_names_are_words_that_generators_can_use(document: Document) -> None:
    assert all(re.fullmatch("[A-Z][A-Za-z0-9]*", name) for name in document["components"]["schemas"])
    for operation in operations(document).values():
        assert re.fullmatch("[a-z]+(_[a-z]+)+", operation["operationId"])
        assert len(operation["tags"]) == 1


def test_an_absent_member_is_not_required_and_has_no_default(document: Document) -> None:
    shapes = document["components"]["schemas"]
    for name, shape in shapes.items():
        for schema in shape.get("properties", {}).values():
            assert "default" not in schema, name
    assert {"description", "tools", "changeMessage"} & set(shapes["AgentCreate"]["required"]) == set()


def test_null_is_documented_where_it_clears_a_field_and_not_where_a_field_is_absent(
    document: Document,
) -> None:
    shapes = document["components"]["schemas"]
    for field in ("description", "tools", "memory", "requestContextSchema"):
        assert takes_null(shapes["AgentUpdate"]["properties"][field]), field
        assert not takes_null(shapes["AgentRecord"]["properties"][field]), field
    assert not takes_null(shapes["AgentUpdate"]["properties"]["name"])
    assert takes_null(shapes["AgentRecord"]["properties"]["activeVersionId"])


def test_enforced_limits_are_documented(document: Document) -> None:
    shapes, found = document["components"]["schemas"], operations(document)
    create = shapes["AgentCreate"]["properties"]
    assert [create[name].get("minLength") for name in ("id", "name", "workspaceId")] == [1, 1, 1]
    assert create["id"]["maxLength"] == 200 and create["changeMessage"]["maxLength"] == 500
    [size] = [each for each in found["GET /stored/agents"]["parameters"] if each["name"] == "perPage"]
    assert (size["schema"]["minimum"], size["schema"]["maximum"]) == (0, 1000)
    [label] = [
        each for each in found["PUT /stored/agents/{}/labels/{}"]["parameters"] if each["name"] == "name"
    ]
    names = ["stable", "v1.2_3-x", "latest", "production", "42", "-a", "a-", "A", "x" * 65, ""]
    assert [name for name in names if re.search(label["schema"]["pattern"], name)] == ["stable", "v1.2_3-x"]


def test_the_pattern_of_ids_matches_exactly_the_valid_ids() -> None:
    for name in ("a", "team/support", "a b", "ü", "versionsx", "x.y", "a/..b"):
        assert ids.problem(name) is None and re.search(ids.PATTERN, name), name
    for name in (
        "",
        " a",
        "a ",
        "a//b",
        "/a",
        "a/",
        ".",
        "a/..",
        "versions",
        "a/labels/b",
        "a\nb",
        "a\u200bb",
    ):
        assert ids.problem(name) is not None and not re.search(ids.PATTERN, name), name


def test_the_shapes_that_the_runtime_parses_are_documented_as_it_parses_them(document: Document) -> None:
    shapes = document["components"]["schemas"]
    assert shapes["RunSettings"]["properties"].keys() == run_options.SETTINGS.keys()
    assert shapes["Versions"]["properties"].keys() == set(VersionsMap.MEMBERS)
    assert set(shapes["ChatMessage"]["properties"]["role"]["enum"]) == set(calls.ROLES)


def test_every_status_of_an_error_is_described_somewhere(document: Document) -> None:
    described = {
        int(status) for operation in operations(document).values() for status in operation["responses"]
    }
    assert set(errors.STATUS.values()) <= described


def test_two_shapes_cannot_share_a_name() -> None:
    one, other = create_model("Twin", a=(int, ...)), create_model("Twin", a=(str, ...))
    schema = EditorSchema()  # type: ignore[no-untyped-call]
    schema.registry = ComponentRegistry()
    schema.registry.register_on_missing(
        ResolvedComponent(
            name="Twin", type="schemas", object="Twin", schema=ShapeExtension(one).map_serializer(schema, "")
        )
    )
    with pytest.raises(ImproperlyConfigured, match="Twin"):
        ShapeExtension(other).get_name(schema, "")


def test_every_operation_needs_an_api_key_or_a_session(document: Document) -> None:
    schemes = document["components"]["securitySchemes"]
    for operation in operations(document).values():
        kinds = [schemes[name] for choice in operation["security"] for name in choice]
        assert [(kind["type"], kind.get("scheme", kind.get("in"))) for kind in kinds] == [
            ("http", "bearer"),
            ("apiKey", "cookie"),
        ]


def test_every_operation_describes_its_success_and_its_errors(document: Document) -> None:
    for route, operation in operations(document).items():
        answers = operation["responses"]
        successes = {status for status in answers if status.startswith("2")}
        success = "201" if route in CREATING else "202" if route in BEGINNING else "200"
        described = {success, "200"} if route in ALSO_MAKING_NOTHING else {success}
        assert successes == (set() if route in NOT_IMPLEMENTED else described), route
        assert FOR_ALL | ({"404"} if "{}" in route else set()) <= answers.keys(), route
        described = ("409" in answers, "412" in answers)
        assert described == (route in CONFLICTING, route in HEEDING_IF_MATCH), route
        for status in filter(lambda status: status >= "400", answers):
            error = resolved(document, answers[status]["content"]["application/json"]["schema"])
            assert {"error", "code"} <= set(error["required"]), (route, status)
            assert error["properties"]["error"]["type"] == error["properties"]["code"]["type"] == "string"
            assert answers[status]["description"], (route, status)
        invalid = resolved(document, answers["400"]["content"]["application/json"]["schema"])
        issue = resolved(document, invalid["properties"]["issues"]["items"])
        assert set(issue["required"]) == {"field", "message"}, route


def test_every_operation_describes_its_parameters_and_its_body(document: Document) -> None:
    for route, operation in operations(document).items():
        assert len(parameters(operation, "path")) == route.count("{}"), route
        assert "requestContext" in parameters(operation, "query"), route
        assert ("If-Match" in parameters(operation, "header")) == (route in HEEDING_IF_MATCH), route
        if route in WITH_A_SELECTOR:
            assert {"status", "versionId", "label"} <= parameters(operation, "query"), route
        if route in TAKING_A_BODY:
            content = operation["requestBody"]["content"]
            assert list(content) == ["application/json"], route
            body = resolved(document, content["application/json"]["schema"])
            assert body["additionalProperties"] is False, route


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
        """Collect the URL of a script, a style, an icon or a picture."""
        addresses = {"script": "src", "link": "href", "img": "src", "iframe": "src"}
        self.found += [value for name, value in attrs if name == addresses.get(tag) and value]


@pytest.mark.processes
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


@pytest.mark.processes
def test_the_docs_show_the_document_of_the_service(live_service: Service) -> None:
    with urlopen(f"{live_service.url}/api/docs") as page:
        html = page.read().decode()
    hosts = {urlsplit(address).netloc for address in re.findall(r"https?://[^\s\"'<>]+", html)}
    assert hosts <= {urlsplit(live_service.url).netloc}
    [address] = set(re.findall(r"[\"'](/api/schema[^\"']*)[\"']", html))
    with urlopen(f"{live_service.url}{address}") as document:
        assert document.status == 200
        assert b'"3.1' in document.read()
